"""Records on the simulated topics: the message itself, or the bytes that the real processes send.

Encoding would take most of a simulated process's time, so only some seeds do it. Both have undecodable records and
records of another group.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from restow.controller.events import SpeedsMeasured
from restow.protocol import measurement
from restow.protocol.channels import CONTROLLER, MONITOR, QUERY, SERVICE, Channel, decode_measurement, decode_on
from restow.protocol.measurement import Measurement
from restow.protocol.messages import Message
from restow.protocol.records import Undecodable, encode, key_of
from restow.simulator.topics import Topic

GROUP = "simulated"
OTHER_GROUP = "another"
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
        headers = measurement.headers_of("intruder", OTHER_GROUP).items()
        named = tuple((name, text.encode()) for name, text in headers)
        return cls(Sealed(named, measurement.encode(message), None))


class Wire(Protocol):
    def seal(self, message: Message) -> object: ...

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        """Returns None if the record can't be decoded, or is of another group."""


class AsValues:
    def seal(self, message: Message) -> object:
        return message

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        if isinstance(record, Garbage | Intruder):
            return AsBytes().open(topic, partition, offset, record)
        return record  # type: ignore[return-value]  # what was sealed


class AsBytes:
    def seal(self, message: Message) -> object:
        return Sealed(*encode(message, "simulator", GROUP), key_of(message))

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
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
    """A record of the monitor topic, and whether it is nonsense, which only the simulator knows."""

    event: SpeedsMeasured
    is_nonsense: bool = False


def open_measured(offset: int, record: object) -> Measured | None:
    """A record of the monitor topic. Returns None if it can't be decoded, or is of another group."""
    if not isinstance(record, Intruder):
        return record if isinstance(record, Measured) else None
    headers, value, _ = record.sealed
    read = decode_measurement(MONITOR.topic(GROUP), 0, offset, headers, value, group=GROUP)
    return Measured(SpeedsMeasured.from_measurement(read), is_nonsense=True) if isinstance(read, Measurement) else None
