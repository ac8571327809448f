"""What can happen to the controller. Its process makes events from Kafka, the platform and the clock; the simulator
makes them from its seed; `restow replay` reads them from a file.
"""

from dataclasses import dataclass, field

from restow.controller.learned import LearnedCapacity, TopicCost
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.platform.interface import ConsumerFailing, ConsumerGone, ConsumerUp, Listed, PlatformAction
from restow.protocol.measurement import Measurement
from restow.protocol.messages import ADDED, FromConsumer, OnService, PlatformIdentity


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

    @classmethod
    def from_measurement(cls, measurement: Measurement) -> "SpeedsMeasured":
        records = {partition: speed.records_per_s for partition, speed in measurement.partitions.items()}
        return cls(measurement.time, measurement.speeds, SortedMapping(records))


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
    | ConsumersListed
    | ConsumerUp
    | ConsumerFailing
    | ConsumerGone
    | PlatformRefused
)
