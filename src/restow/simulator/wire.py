"""Records on the simulated topics: the message itself, or the bytes that the real processes send.

Encoding would take most of a simulated process's time, so only some seeds do it. Both have undecodable records and
records of another group.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from restow.controller.events import SpeedsMeasured
from restow.model import SortedMapping
from restow.protocol import measurement
from restow.protocol.channels import CONTROLLER, MONITOR, QUERY, SERVICE, Channel, MeasurementReader, decode_on
from restow.protocol.measurement import Measurement, PartitionSpeed
from restow.protocol.measurement_parts import records_of
from restow.protocol.messages.unions import Message
from restow.protocol.records import Undecodable, encode, key_of
from restow.simulator.topics import Topic

GROUP = "simulated"
OTHER_GROUP = "another"
LARGEST_PART_BYTES: Final = 1500
CHANNELS: dict[Topic, Channel] = {Topic.CONTROLLER: CONTROLLER, Topic.QUERY: QUERY, Topic.SERVICE: SERVICE}


@dataclass(frozen=True, slots=True)
class Garbage:
    """Bytes that can't be decoded."""

    value: bytes


class Sealed(NamedTuple):
    headers: tuple[tuple[str, bytes], ...]
    value: bytes
    key: bytes | None


@dataclass(frozen=True, slots=True)
class Intruder:
    """A record of another group that uses the same topics, as its processes would send it."""

    sealed: Sealed

    @classmethod
    def saying(cls, message: Message | Measurement) -> "Intruder":
        if not isinstance(message, Measurement):
            return cls(Sealed(*encode(message, "intruder", OTHER_GROUP), key_of(message)))
        headers = _as_bytes(measurement.headers_of("intruder", OTHER_GROUP))
        return cls(Sealed(headers, measurement.encode(message), None))


class Wire(Protocol):
    def seal(self, message: Message) -> object: ...

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        """Returns None if the record can't be decoded, or is of another group."""


class AsValues:
    def __init__(self) -> None:
        self._as_bytes = AsBytes()

    def seal(self, message: Message) -> object:
        return message

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        if isinstance(record, (Garbage, Intruder)):
            return self._as_bytes.open(topic, partition, offset, record)
        return record  # type: ignore[return-value]  # what was sealed


class AsBytes:
    def __init__(self) -> None:
        self._opened: dict[tuple[Topic, int, int], Message | None] = {}
        """What each record is. Controllers and standbys read the same ones again and again, and messages are frozen."""

    def seal(self, message: Message) -> object:
        return Sealed(*encode(message, "simulator", GROUP), key_of(message))

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        place = (topic, partition, offset)
        if place not in self._opened:
            self._opened[place] = self._decoded(topic, partition, offset, record)
        return self._opened[place]

    def _decoded(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        match record:
            case Garbage(value):
                sealed = Sealed((), value, None)
            case Intruder(sealed):
                pass
            case _:
                assert isinstance(record, Sealed)
                sealed = record
        channel = CHANNELS[topic]
        message = decode_on(channel, channel.topic(GROUP), partition, offset, *sealed, group=GROUP)
        return None if isinstance(message, Undecodable) else message


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement as a controller reads it, and what only the simulator knows of it."""

    event: SpeedsMeasured
    is_nonsense: bool = False
    sent: SpeedsMeasured | None = None
    """What the monitor measured, if it was sent in parts."""


@dataclass(frozen=True, slots=True)
class MeasuredPart:
    """A record of the monitor topic as the monitor sends it: one of the parts of a measurement."""

    sealed: Sealed
    of: Measured


def parts_of(measured: Measured, name: str) -> list[MeasuredPart]:
    """Parts that are far smaller than real ones, so that a small group's measurement has several."""
    event = measured.event
    ends = dict(event.ends)  # a topic's first partition has the end offsets of all
    rows = {
        partition: PartitionSpeed(
            speed, speed, event.records_per_s.get(partition, 0.0), ends.pop(partition.topic, 0), None, False
        )
        for partition, speed in event.speeds.items()
    }
    whole = Measurement(event.time, 30.0, SortedMapping(rows))
    records = records_of(whole, name, measurement.headers_of(name, GROUP), LARGEST_PART_BYTES)
    return [MeasuredPart(Sealed(_as_bytes(headers), value, None), measured) for headers, value in records]


def open_measured(offset: int, record: object, reader: MeasurementReader) -> Measured | None:
    """A record of the monitor topic. Returns None if it can't be decoded, is of another group, or is a part that does
    not complete a measurement."""
    match record:
        case Measured():
            return record
        case Intruder(sealed) | MeasuredPart(sealed):
            headers, value, _ = sealed
            read = reader.read(MONITOR.topic(GROUP), 0, offset, headers, value)
            if not isinstance(read, Measurement):
                return None
            event = SpeedsMeasured.from_measurement(read)
            if isinstance(record, Intruder):
                return Measured(event, is_nonsense=True)
            return Measured(event, record.of.is_nonsense, record.of.event)
        case _:
            return None


def _as_bytes(headers: Mapping[str, str]) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, text.encode()) for name, text in headers.items())
