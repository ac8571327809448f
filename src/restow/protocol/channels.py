"""The four topics as data: who writes where, who reads it, and which messages stand there. Processes read with it; the
simulator sends along it; docs/protocol.md tables it.
"""

from dataclasses import dataclass
from typing import Final, Literal

from restow.errors import InvalidInput
from restow.protocol import measurement
from restow.protocol.checks import TOPIC, is_time
from restow.protocol.forms import shown
from restow.protocol.measurement import Measurement
from restow.protocol.messages import (
    ConsumerReady,
    ConsumerReport,
    ConsumingRefused,
    ControllerStarted,
    Message,
    PlatformChangeIntended,
    ServiceUpdate,
    StartConsumingCommand,
    StartConsumingEvent,
    StateQuery,
    StateQueryResponse,
    StopConsumingCommand,
    StopConsumingEvent,
)
from restow.protocol.records import Headers, Undecodable, decode

TopicName = Literal["monitor", "controller", "query", "service"]
"""What the name of the topic ends with, after the prefix."""

PER_CONSUMER: Final = "most consumers + 1, grown when needed"


@dataclass(frozen=True, slots=True)
class Lane:
    """What goes one way on a topic."""

    partition: Literal["0", "i"]
    """`i` stands for consumer i's, from 1 on."""
    writers: str
    readers: str
    messages: tuple[type[Message | Measurement], ...]

    def covers(self, partition: int) -> bool:
        return (partition == 0) == (self.partition == "0")


@dataclass(frozen=True, slots=True)
class Channel:
    name: TopicName
    partitions: str
    content: str
    lanes: tuple[Lane, ...]

    def topic(self, prefix: str) -> str:
        return f"{prefix}-{self.name}"

    def expected(self, partition: int) -> tuple[type, ...]:
        """The messages that may stand on this partition."""
        return tuple(kind for lane in self.lanes if lane.covers(partition) for kind in lane.messages)


MONITOR: Final = Channel(
    "monitor",
    partitions="1",
    content="the speeds of all partitions of interest, one record a measurement; only the newest one matters",
    lanes=(Lane("0", "the monitor", "the controller, the dashboard", (Measurement,)),),
)
CONTROLLER: Final = Channel(
    "controller",
    partitions=PER_CONSUMER,
    content="commands to consumer i on partition i; what consumers tell, and the controller's marks, on partition 0",
    lanes=(
        Lane("0", "the controller", "itself", (ControllerStarted, PlatformChangeIntended)),
        Lane(
            "0",
            "the consumers",
            "the controller",
            (
                ConsumerReady,
                StartConsumingEvent,
                StopConsumingEvent,
                ConsumingRefused,
                StateQueryResponse,
                ConsumerReport,
            ),
        ),
        Lane("i", "the controller", "consumer i", (StartConsumingCommand, StopConsumingCommand)),
    ),
)
QUERY: Final = Channel(
    "query",
    partitions=PER_CONSUMER,
    content="the controller's questions to consumer i on partition i; the answers come on the controller topic",
    lanes=(Lane("i", "the controller", "consumer i", (StateQuery,)),),
)
SERVICE: Final = Channel(
    "service",
    partitions="1, compacted by topic name",
    content="what the group consumes and what its consumers run as; the controller reads it from the beginning when it "
    "starts",
    lanes=(Lane("0", "people, other services", "the controller", (ServiceUpdate,)),),
)
CHANNELS: Final = (MONITOR, CONTROLLER, QUERY, SERVICE)


def decode_on(
    channel: Channel,
    prefix: str,
    partition: int,
    offset: int,
    headers: Headers,
    value: bytes | None,
    key: bytes | None = None,
) -> Message | Undecodable:
    """What `records.decode` gives, and only what belongs on this partition. It never raises."""
    expected = channel.expected(partition)
    return decode(channel.topic(prefix), partition, offset, headers, value, key, expected=expected)


def decode_measurement(topic: str, partition: int, offset: int, value: bytes | None) -> Measurement | Undecodable:
    """A record of the monitor topic. It never raises either."""
    try:
        if value is None:
            raise InvalidInput("there is no value; it must be a measurement")
        measured = measurement.decode(value)
        _check(measured)
    except InvalidInput as error:
        return Undecodable.because(topic, partition, offset, error)
    except (OverflowError, RecursionError):
        return Undecodable.because(topic, partition, offset, "a number is too long, or it is nested too deeply")
    return measured


def _check(measured: Measurement) -> None:
    if not is_time(measured.time):  # measurements are ordered by it: nonsense could be later than all that come
        raise InvalidInput(f"time is {shown(measured.time)}; it must be a time in UTC, like 2026-03-01T12:00:00.250Z")
    for name in sorted({partition.topic for partition in measured.partitions}):
        if not TOPIC.fullmatch(name):
            raise InvalidInput(f"topics has {shown(name)}; it must be a topic's name")
