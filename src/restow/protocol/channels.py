"""The five topics as data: which role writes and reads which messages on which partition.

Processes and the simulator decode with it, settings name the topics by it, and docs/protocol.md shows it as a table.
"""

from dataclasses import dataclass
from typing import Final, Literal

from restow.errors import InvalidInput
from restow.protocol import measurement_parts
from restow.protocol.checks import TOPIC, is_time
from restow.protocol.forms import shown
from restow.protocol.measurement import Measurement
from restow.protocol.measurement_parts import Assembly, MeasurementPart
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.controller_events import (
    ControllerAlive,
    ControllerStarted,
    ControllerStopped,
    PlatformChangeIntended,
)
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message
from restow.protocol.records import Foreign, Headers, Undecodable, decode, is_foreign, texts_of

TopicName = Literal["monitor", "controller", "query", "service", "status"]
"""The end of a topic's name, after the prefix."""

PER_CONSUMER: Final = "`most_consumers` + 1; grows with the group"


@dataclass(frozen=True, slots=True)
class Lane:
    """One direction on a topic: writers, readers and their messages."""

    partition: Literal["0", "i"]
    """`i` is the partition of consumer i, from 1 on."""
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
        """The messages that are allowed on this partition."""
        return tuple(kind for lane in self.lanes if lane.covers(partition) for kind in lane.messages)


MONITOR: Final = Channel(
    "monitor",
    partitions="1",
    content="the write speed of every partition of interest; only the newest measurement matters",
    lanes=(Lane("0", "the monitor", "the controller", (Measurement,)),),
)
CONTROLLER: Final = Channel(
    "controller",
    partitions=PER_CONSUMER,
    content="commands to consumer i on partition i; events of consumers and the controller's own records on 0",
    lanes=(
        Lane(
            "0",
            "the controller",
            "the controller and its standbys",
            (ControllerStarted, ControllerAlive, PlatformChangeIntended, ControllerStopped),
        ),
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
    content="the controller's queries to consumer i on partition i; answers are on the controller topic",
    lanes=(Lane("i", "the controller", "consumer i", (StateQuery,)),),
)
SERVICE: Final = Channel(
    "service",
    partitions="1, compacted",
    content="the desired state: the topics that the group consumes, what its consumers run as, a pause, pins; read "
    "from the beginning at each start",
    lanes=(
        Lane("0", "operators and services", "the controller and the monitor", (ServiceUpdate,)),
        Lane("0", "operators", "the controller", (GroupPause, RecommendOnly, ConsumerRestart, PartitionPin)),
    ),
)
STATUS: Final = Channel(
    "status",
    partitions="1, compacted after a day",
    content="the group's picture, from the controller to every display: picture.md has its records",
    lanes=(),
)
CHANNELS: Final = (MONITOR, CONTROLLER, QUERY, SERVICE, STATUS)


def decode_on(
    channel: Channel,
    topic: str,
    partition: int,
    offset: int,
    headers: Headers,
    value: bytes | None,
    key: bytes | None = None,
    *,
    group: str,
) -> Message | Undecodable:
    """As `records.decode` for a reader of this group, and Undecodable for a message that is not allowed on this
    partition. Never raises."""
    return decode(topic, partition, offset, headers, value, key, group=group, expected=channel.expected(partition))


def decode_measurement(
    topic: str, partition: int, offset: int, headers: Headers, value: bytes | None, *, group: str
) -> Measurement | MeasurementPart | Undecodable:
    """Decodes a record of the monitor topic. Never raises."""
    try:
        given = texts_of(headers)
        if is_foreign(given, group):
            return Foreign.found(topic, partition, offset, given, group)
        if value is None:
            raise InvalidInput("there is no value; it must be a measurement")
        measured = measurement_parts.decode(value)
        _check(measured.content if isinstance(measured, MeasurementPart) else measured)
    except InvalidInput as error:
        return Undecodable.because(topic, partition, offset, error)
    except (OverflowError, RecursionError):
        return Undecodable.because(topic, partition, offset, "a number is too long, or it is nested too deeply")
    return measured


class MeasurementReader:
    """Decodes the records of the monitor topic in their order, and puts parts together."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._assembly = Assembly()

    def read(
        self, topic: str, partition: int, offset: int, headers: Headers, value: bytes | None
    ) -> Measurement | Undecodable | None:
        """Returns None for a part that does not complete a measurement. Never raises."""
        found = decode_measurement(topic, partition, offset, headers, value, group=self._group)
        return self._assembly.take(found) if isinstance(found, MeasurementPart) else found


def _check(measured: Measurement) -> None:
    if not is_time(measured.time):  # measurements are ordered by time: an invalid one could outlast all others
        raise InvalidInput(f"time is {shown(measured.time)}; it must be a time in UTC, like 2026-03-01T12:00:00.250Z")
    for name in sorted({partition.topic for partition in measured.partitions}):
        if not TOPIC.fullmatch(name):
            raise InvalidInput(f"topics has {shown(name)}; it must be a topic's name")
