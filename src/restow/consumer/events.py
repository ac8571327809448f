"""What can happen to a consumer. The process derives these events from Kafka, its pipeline and signals; the simulator
from its seed.
"""

from dataclasses import dataclass, field

from restow.model import SortedMapping, TopicPartition
from restow.protocol.field_types import Offsets
from restow.protocol.messages.commands import StateQuery
from restow.protocol.messages.consumer_events import Refusal
from restow.protocol.messages.reports import Failure, Gap, Rejected
from restow.protocol.messages.unions import Command


@dataclass(frozen=True, slots=True)
class ReadySent:
    """Our ConsumerReady is on partition 0. Its offset is our incarnation."""

    incarnation: int


@dataclass(frozen=True, slots=True)
class ClockTicked:
    now_s: float
    is_stalled: bool = False
    """The running cycle makes no progress for longer than cycles explain."""


@dataclass(frozen=True, slots=True)
class CommandRead:
    """A command on our partition of the controller topic."""

    offset: int
    command: Command


@dataclass(frozen=True, slots=True)
class CommandsReadTo:
    """All records before this offset of our partition of the controller topic have been read."""

    offset: int


@dataclass(frozen=True, slots=True)
class QueryRead:
    """A query on our partition of the query topic, and the end offset of our command partition when it was read."""

    query: StateQuery
    commands_end: int


@dataclass(frozen=True, slots=True)
class RefusedPartitions:
    """Partitions that the pipeline can't read or gave up."""

    partitions: tuple[TopicPartition, ...]
    kind: Refusal
    reason: str


@dataclass(frozen=True, slots=True)
class AssignmentChanged:
    """The answer to ChangeAssignment. Each partition that it named is in one of these."""

    started: Offsets
    """The offset that each partition is read from."""
    stopped: Offsets
    """The next offset of each stopped partition."""
    refused: tuple[RefusedPartitions, ...] = ()


@dataclass(frozen=True, slots=True)
class CycleEnded:
    """The answer to RunCycle: what was read, stored and committed."""

    positions: Offsets
    """The next offset of each partition still held."""
    lag_records: Offsets
    """The lag of the same partitions: records on the brokers that are not stored yet."""
    records: int = 0
    bytes: int = 0
    took_s: float = 0.0
    saturated: bool = False
    """There were more records than the cycle could take."""
    dropped: tuple[RefusedPartitions, ...] = ()
    """Partitions that were given up: another consumer took them over, or a gap must not be skipped."""
    gaps: tuple[Gap, ...] = ()
    """Records that were deleted before they were read."""
    failures: tuple[Failure, ...] = ()
    """The topics that can't be stored now, whether this cycle tried them or waited for their next retry."""
    rejected: tuple[Rejected, ...] = ()
    """The bad records that were left out of tables."""
    rows: int = 0
    """What the transforms made of the records, in tables."""
    steps_s: SortedMapping[str, float] = field(default_factory=SortedMapping)
    """Seconds of each step of a cycle that stored something."""
    commits_s: tuple[float, ...] = ()
    """Seconds of each commit to a table."""
    busy_s: float = 0.0
    """Seconds of work, without the wait for records: 0 if the cycle found none. `bytes / busy_s` over cycles that are
    neither cold nor disturbed is the consumer's capacity, whether a backlog was there or not, less what short cycles
    lose to fixed costs."""
    bytes_by_topic: SortedMapping[str, int] = field(default_factory=SortedMapping)
    """`bytes`, by topic."""
    is_cold: bool = False
    """It took longer than later cycles will: the JVM had not compiled its code yet, or a partition was read for the
    first time by this process."""
    is_disturbed: bool = False
    """A table in it failed, was cancelled or refused, or was settled from an earlier cycle: time was spent on records
    that `bytes` does not count, or the other way round."""


@dataclass(frozen=True, slots=True)
class EndRequested:
    """SIGTERM."""


Event = (
    ReadySent | ClockTicked | CommandRead | CommandsReadTo | QueryRead | AssignmentChanged | CycleEnded | EndRequested
)
