"""What can happen to a consumer. The process makes them from Kafka, its volume, its sink and signals; the simulator
from its seed.
"""

from dataclasses import dataclass

from restow.model import TopicPartition
from restow.protocol.messages import Command, Gap, Offsets, Refusal, StateQuery


@dataclass(frozen=True, slots=True)
class ReadySent:
    """Our ConsumerReady is on partition 0: its offset is our number among the incarnations."""

    incarnation: int


@dataclass(frozen=True, slots=True)
class ClockTicked:
    now_s: float


@dataclass(frozen=True, slots=True)
class CommandRead:
    """A record of our partition of the controller topic."""

    offset: int
    command: Command


@dataclass(frozen=True, slots=True)
class CommandsReadTo:
    """Everything on our partition of the controller topic before this offset has been read."""

    offset: int


@dataclass(frozen=True, slots=True)
class QueryRead:
    """A record of our partition of the query topic, with the end offset of our command partition at this moment."""

    query: StateQuery
    commands_end: int


@dataclass(frozen=True, slots=True)
class Refused:
    partitions: tuple[TopicPartition, ...]
    kind: Refusal
    reason: str


@dataclass(frozen=True, slots=True)
class AssignmentChanged:
    """The answer to ChangeAssignment: all that it named is in one of these."""

    started: Offsets
    """The offset that each is read from."""
    stopped: Offsets
    """The next offset of each."""
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True)
class CycleEnded:
    """The answer to RunCycle: read, stored and committed, as far as it went."""

    positions: Offsets
    """The next offset of each partition that is still held."""
    lag_records: Offsets
    """Of the same partitions: records that are there and not yet stored."""
    records: int = 0
    bytes: int = 0
    took_s: float = 0.0
    saturated: bool = False
    """There was more than the cycle could take."""
    dropped: tuple[Refused, ...] = ()
    """Partitions that others have taken over meanwhile, as the table said."""
    gaps: tuple[Gap, ...] = ()
    """What was passed over, since it was deleted before it was read."""


@dataclass(frozen=True, slots=True)
class EndRequested:
    """SIGTERM."""


Event = (
    ReadySent | ClockTicked | CommandRead | CommandsReadTo | QueryRead | AssignmentChanged | CycleEnded | EndRequested
)
