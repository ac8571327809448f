"""What can happen to the controller. Its process makes events from Kafka, the platform and the clock; the simulator
makes them from its seed; `restow replay` reads them from a file.
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

from restow.controller.learned import LearnedCapacity, TopicCost
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.platform.interface import ConsumerCrashed, ConsumerFailing, ConsumerGone, ConsumerUp, Listed, PlatformAction
from restow.protocol.field_types import ADDED
from restow.protocol.measurement import Measurement
from restow.protocol.messages.unions import FromConsumer, OnService
from restow.protocol.platform_identity import PlatformIdentity


@dataclass(frozen=True, slots=True)
class ConsumerElsewhere:
    """A consumer of this group that has reported from another platform."""

    consumer: ConsumerId
    platform: PlatformIdentity


@dataclass(frozen=True, slots=True)
class TookOver:
    """This controller's ControllerStarted is on partition 0; everything it reads there from now on comes after it."""

    epoch: int
    platform: PlatformIdentity | None = field(default=None, metadata=ADDED)
    """Where this controller's consumers run; None if unknown."""
    elsewhere: tuple[ConsumerElsewhere, ...] = field(default=(), metadata=ADDED)
    """Consumers on other platforms that have reported shortly before."""
    is_forced: bool = field(default=False, metadata=ADDED)
    """Whether a person said `--take-over`: consumers on other platforms hold nothing up."""


@dataclass(frozen=True, slots=True)
class ClockTicked:
    """The time. Comes before any other event of the same moment."""

    now_s: float
    """A monotonic clock's."""
    listening: bool = True
    """Whether partition 0 has been read to its end. Timeouts do not run while it has not."""
    utc_s: float | None = field(default=None, metadata=ADDED)
    """The wall clock, in seconds since 1970: pauses and pins end by it. It may jump; no timeout counts by it. None in
    event logs before version 5."""


@dataclass(frozen=True, slots=True)
class SpeedsMeasured:
    """The monitor's newest record."""

    time: str
    """The monitor's clock, UTC, ISO 8601. A record older than the last one is ignored."""
    speeds: Speeds
    records_per_s: SortedMapping[TopicPartition, float] = field(default_factory=SortedMapping)
    ends: SortedMapping[str, int] = field(default_factory=SortedMapping, metadata=ADDED)
    """The sum of the end offsets of each topic: it changes with every record. Not in event logs before version 6."""

    @classmethod
    def from_measurement(cls, measurement: Measurement) -> "SpeedsMeasured":
        partitions = measurement.partitions
        records = partitions.with_values([each.records_per_s for each in partitions.values()])
        offsets = iter([each.end_offset for each in partitions.values()])
        counts = Counter(topic for topic, _ in partitions)  # a topic's partitions follow each other
        ends = {topic: sum(islice(offsets, count)) for topic, count in counts.items()}
        return cls(measurement.time, measurement.speeds, records, SortedMapping(ends))


@dataclass(frozen=True, slots=True)
class Heard:
    """A consumer's record on partition 0."""

    offset: int
    message: FromConsumer


@dataclass(frozen=True, slots=True)
class Received:
    """All records that one poll of partition 0 returned, in order. The controller reacts once to all of them: in a
    large group hundreds of consumers answer at the same moment."""

    heard: tuple[Heard, ...]


@dataclass(frozen=True, slots=True)
class ServiceChanged:
    """A record of the service topic."""

    update: OnService
    env_digest: str | None = None
    """The digest of the consumers' environment variables, in an event log, which leaves out their values."""
    offset: int | None = field(default=None, metadata=ADDED)
    """The record's; None in event logs before version 5."""


@dataclass(frozen=True, slots=True)
class CodeChanged:
    """The transforms' modules were read, at the start or because of `restow reload`."""

    code: str | None
    """Their digest; None if consumers load no module that can change beside them."""


@dataclass(frozen=True, slots=True)
class LearningRecalled:
    """What an earlier controller had learned, from its newest picture. Comes once, at the start."""

    capacities: SortedMapping[ConsumerId, LearnedCapacity] = field(default_factory=SortedMapping)
    costs: SortedMapping[str, TopicCost] = field(default_factory=SortedMapping)


@dataclass(frozen=True, slots=True)
class Window:
    """A time in which a schedule limits or holds the group. Times are seconds since 1970."""

    cron: str
    """The schedule that it is of."""
    begin_s: float
    end_s: float
    least: int | None = None
    most: int | None = None
    hold: bool = False

    def is_open(self, utc_s: float) -> bool:
        return self.begin_s <= utc_s < self.end_s


@dataclass(frozen=True, slots=True)
class SchedulePlanned:
    """The windows of the next hours, resolved from `[[schedule]]` and its time zones."""

    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class RetentionSeen:
    """How long Kafka still keeps the oldest unread record of partitions, where that is less than the catch-up time."""

    left_s: SortedMapping[TopicPartition, float]
    """At least. Partitions that are left out have longer, or nothing unread."""


@dataclass(frozen=True, slots=True)
class ConsumersListed:
    """The platform's answer to ListConsumers."""

    consumers: tuple[Listed, ...]


@dataclass(frozen=True, slots=True)
class PlatformRefused:
    """The platform did not accept a request."""

    consumer: ConsumerId
    action: PlatformAction
    reason: str


Event = (
    TookOver
    | ClockTicked
    | SpeedsMeasured
    | Received
    | ServiceChanged
    | CodeChanged
    | LearningRecalled
    | SchedulePlanned
    | RetentionSeen
    | ConsumersListed
    | ConsumerUp
    | ConsumerCrashed
    | ConsumerFailing
    | ConsumerGone
    | PlatformRefused
)
