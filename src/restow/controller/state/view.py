"""What is known of one consumer."""

from dataclasses import dataclass, field
from typing import Final

from restow.controller.state.sent import Sent
from restow.controller.transitions import Phase
from restow.model import SortedMapping, TopicPartition
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.protocol.messages.reports import ConsumerReport

CLAIMS_VERSION: Final = 2
"""The version of ConsumerReady that has claims."""
AWAY: Final = (Phase.LEAVING, Phase.LOST, Phase.ROLLING, Phase.CRASHED)
"""The phases of a consumer that no plan has: whatever it may hold is not for it to keep, or waits for it."""


@dataclass(frozen=True, slots=True)
class Lagging:
    """A partition's backlog when it last made progress."""

    lag_records: int
    offset: int
    """The next offset that was to be stored."""
    since_s: float
    """In listened seconds."""

    def made_progress(self, lag_records: int, offset: int) -> bool:
        """Whether the backlog is smaller by now, or all of it was stored since."""
        return lag_records < self.lag_records or offset - self.offset >= self.lag_records


@dataclass(frozen=True)
class View:
    """What the controller knows of one consumer. Times are listened seconds (`State.listened_s`)."""

    phase: Phase
    since_s: float
    """When it entered this phase."""
    heard_s: float
    """When its last message arrived."""
    up_s: float | None = None
    """When the platform reported the first of its processes since its last message."""
    incarnation: int | None = None
    held: frozenset[TopicPartition] = frozenset()
    """The partitions it has reported, changed by its answers since."""
    definitions: SortedMapping[str, str] = field(default_factory=SortedMapping)
    """The digest of the definition by which it reads each topic."""
    sent: tuple[Sent, ...] = ()
    sequence: int = 0
    """The number of the last command sent to it in this epoch."""
    has_reported_holdings: bool = False
    """Whether it has reported to this controller what it holds."""
    queries: int = 0
    """How many StateQueries it was sent."""
    asked_s: float = 0.0
    """When its state was last queried, or its restart or deletion last requested. If it reported in spite of a restart:
    when the controller went on with it."""
    is_ending: bool = False
    """It was restarted in a roll, and the process before has not reported its end: a ConsumerReady may be that
    process's, sent before the restart and read after it."""
    is_asked: bool = False
    """Its last restart was asked for by a person, and not for new settings."""
    retry_platform_at_s: float | None = None
    """When to repeat the request that the platform refused."""
    versions: SortedMapping[str, int] = field(default_factory=SortedMapping)
    report: ConsumerReport | None = None
    lagging: SortedMapping[TopicPartition, Lagging] = field(default_factory=SortedMapping)
    """The partitions with a backlog, as long as the consumer has room (stuck.py)."""
    report_s: float = 0.0
    """When its last report arrived."""
    settings: str | None = None
    """The fingerprint of the settings it was created or last restarted with; None if unknown."""
    broken: frozenset[str] = frozenset()
    """The transforms that its process can't run."""
    held_before_roll: frozenset[TopicPartition] = frozenset()
    """What it held when it was restarted with new settings. These partitions wait for it while it is rolling, and the
    first plan afterwards finds them where they were."""

    will_claim: bool = False
    """Whether its next process, after a crash, claims what it held and resumes nothing at once."""
    claims: frozenset[TopicPartition] = frozenset()
    """What it claims and was not answered yet (claims.py)."""
    ready_s: float | None = None
    """When its last ConsumerReady was read: a crash that is reported in the same moment was the process's before."""
    crashed_s: float | None = None
    """When the crash was reported after which it is restarting."""
    is_late: bool = False
    """It is not ready in time, and stays because the group would have fewer than `least_consumers` without it. No plan
    has it until it is ready."""

    @property
    def may_hold(self) -> frozenset[TopicPartition]:
        started = [partition for sent in self.sent if sent.starts for partition in sent.left]
        return self.held.union(started) if started else self.held

    def is_starting(self, now_s: float, ready_within_s: float) -> bool:
        """Whether the platform has restarted it on its own: it is silent for as long as a start takes."""
        return self.up_s is not None and self.up_s >= self.heard_s and now_s - self.up_s < ready_within_s

    def is_replaced(self, grace_s: float) -> bool:
        """Whether its process before the last roll has certainly ended: it said so, or a message arrived after the
        grace period at whose end it is killed."""
        return not self.is_ending or self.heard_s - self.asked_s >= grace_s

    @property
    def knows_claims(self) -> bool:
        """Whether it can claim what it held, in place of resuming it."""
        return self.will_claim or self.versions.get(ConsumerReady.__name__, 0) >= CLAIMS_VERSION

    @property
    def is_unknown(self) -> bool:
        """Holdings unknown: it predates this controller and has not answered."""
        return not self.has_reported_holdings and self.phase in (Phase.ASKED, Phase.RESTARTED, Phase.LOST)

    def digests_of(self, topic: str) -> frozenset[str]:
        """The definitions by which it reads a topic, or will when it has obeyed its commands."""
        held = {self.definitions[topic]} if topic in self.definitions else set()
        commands = (sent.command for sent in self.sent)
        starts = (command for command in commands if isinstance(command, StartConsumingCommand))
        return frozenset(held.union(start.topics[topic].digest for start in starts if topic in start.topics))

    def is_stopping(self, partition: TopicPartition) -> bool:
        """Whether the last unanswered command for the partition is a Stop."""
        last = next((sent for sent in reversed(self.sent) if partition in sent.left), None)
        return last is not None and not last.starts
