"""What can happen to a controller. The process around the machine makes them from Kafka, the platform and the clock;
the simulator makes them from its seed; `restow replay` reads them from a file.
"""

from dataclasses import dataclass, field

from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.platform.interface import ConsumerFailing, ConsumerGone, ConsumerUp, Listed, PlatformAction
from restow.protocol.measurement import Measurement
from restow.protocol.messages import FromConsumer, ServiceUpdate


@dataclass(frozen=True, slots=True)
class TookOver:
    """Our ControllerStarted is on partition 0. All that is read from there from now on comes after it."""

    epoch: int


@dataclass(frozen=True, slots=True)
class ClockTicked:
    """Comes before anything else that happened at this time."""

    now_s: float
    """Of a clock that only goes forward."""
    listening: bool = True
    """Whether all that was written to partition 0 so far has been read. Time in which nobody could reach us counts
    against nobody."""


@dataclass(frozen=True, slots=True)
class SpeedsMeasured:
    """The monitor's newest record."""

    time: str
    """The monitor's own, UTC, ISO 8601; an older one than the last is no news."""
    speeds: Speeds
    records_per_s: SortedMapping[TopicPartition, float] = field(default_factory=SortedMapping)

    @classmethod
    def from_measurement(cls, measurement: Measurement) -> "SpeedsMeasured":
        records = {partition: speed.records_per_s for partition, speed in measurement.partitions.items()}
        return cls(measurement.time, measurement.speeds, SortedMapping(records))


@dataclass(frozen=True, slots=True)
class Heard:
    """A record of partition 0."""

    offset: int
    message: FromConsumer


@dataclass(frozen=True, slots=True)
class Received:
    """All that was read from partition 0 at once, in its order. What follows from it is done once, when all of it is
    known: in a large group hundreds of consumers answer in a moment."""

    heard: tuple[Heard, ...]


@dataclass(frozen=True, slots=True)
class ServiceChanged:
    """A record of the service topic."""

    update: ServiceUpdate
    env_digest: str | None = None
    """In an event log, where the values of consumers' variables are left out: what their digest was."""


@dataclass(frozen=True, slots=True)
class ConsumersListed:
    """The answer to ListConsumers, of the moment."""

    consumers: tuple[Listed, ...]


@dataclass(frozen=True, slots=True)
class PlatformRefused:
    """A wish that the platform didn't take."""

    consumer: ConsumerId
    action: PlatformAction
    reason: str


Event = (
    TookOver
    | ClockTicked
    | SpeedsMeasured
    | Received
    | ServiceChanged
    | ConsumersListed
    | ConsumerUp
    | ConsumerFailing
    | ConsumerGone
    | PlatformRefused
)
