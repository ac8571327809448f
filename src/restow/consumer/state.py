"""The state of the consumer's machine: one frozen value, replaced by each step."""

from dataclasses import dataclass, field
from enum import Enum
from math import inf

from restow.consumer.answers import Answer
from restow.consumer.checkpoint import Checkpoint
from restow.consumer.claims import NO_CLAIMS, Claims
from restow.consumer.commands import CommandBatch
from restow.consumer.events import QueryRead
from restow.consumer.report_window import ReportWindow
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.digests import Digests
from restow.protocol.field_types import Offsets
from restow.protocol.messages.reports import Failure
from restow.protocol.messages.unions import Command
from restow.protocol.platform_identity import PlatformIdentity
from restow.protocol.topic_service import TopicService


class Activity(Enum):
    """The request that the machine waits for: one at a time."""

    ANNOUNCING = "announcing that it is ready"
    CHANGING = "changing the assignment"
    READING = "running a cycle"
    ENDED = "ended"


@dataclass(frozen=True)
class State:
    consumer: ConsumerId
    report_every_s: float
    checkpoint: Checkpoint
    """As it is on the volume."""
    platform: PlatformIdentity | None = None
    """Where it runs, for the controller; None if unknown."""
    activity: Activity = Activity.ANNOUNCING
    incarnation: int | None = None
    """None until our ConsumerReady has its offset."""
    epoch: int = 0
    """The greatest epoch seen. Commands and queries of a smaller one are ignored."""
    positions: Offsets = field(default_factory=SortedMapping)
    """The partitions it holds, and the next offset of each."""
    topics: SortedMapping[str, TopicService] = field(default_factory=SortedMapping)
    """The definitions of the topics that it holds partitions of."""
    claims: Claims = NO_CLAIMS
    """What the process before held when it crashed, as far as no controller has answered."""
    will_claim: bool = False
    """Whether the controller answers claims: a process that starts after a crash then resumes nothing at once."""
    suspects: SortedMapping[TopicPartition, int | None] = field(default_factory=SortedMapping)
    """Partitions that consumers crashed on, each with the offset up to which it is suspected: the end of its log when
    its first cycle ended, or as far from there as one cycle reads; None before."""
    cycle_bytes: float = inf
    """The most that a cycle reads."""
    lag_records: Offsets = field(default_factory=SortedMapping)
    """From the last cycle."""
    failures: tuple[Failure, ...] = ()
    """From the last cycle."""
    is_stalled: bool = False
    """The running cycle makes no progress."""
    waiting: tuple[Command, ...] = ()
    """Commands read during a cycle or a change, to be applied after it."""
    batch: CommandBatch | None = None
    """The batch that is being applied while CHANGING."""
    last_sequence: int = 0
    """The greatest sequence applied in this epoch."""
    answers: SortedMapping[int, tuple[Answer, ...]] = field(default_factory=SortedMapping)
    """Answers to the last commands of this epoch, by sequence, for repeats."""
    commands_read_to: int = 0
    query: QueryRead | None = None
    """The newest unanswered query."""
    ending: bool = False
    report_window: ReportWindow = field(default_factory=ReportWindow)
    ignored: int = 0
    """How many commands and queries were ignored: stale, for another incarnation, or after the request to end."""

    @property
    def definitions(self) -> Digests:
        return SortedMapping({topic: service.digest for topic, service in self.topics.items()})

    @property
    def query_is_due(self) -> bool:
        """Whether all commands sent before the query have been applied."""
        return self.query is not None and not self.waiting and self.commands_read_to >= self.query.commands_end

    @property
    def should_end_cycle(self) -> bool:
        """Whether commands, a query, claims or the end wait for the end of the cycle."""
        return bool(self.waiting) or self.query_is_due or self.ending or self.claims.is_due
