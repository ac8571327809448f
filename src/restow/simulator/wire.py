"""Records on the simulated topics: the message itself, or the bytes that the real processes send.

Encoding would take most of a simulated process's time, so only some seeds do it. Both have undecodable records.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from restow.controller.events import SpeedsMeasured
from restow.protocol.channels import CONTROLLER, QUERY, SERVICE, Channel, decode_on
from restow.protocol.messages import Message
from restow.protocol.records import Undecodable, encode, key_of
from restow.simulator.topics import Topic

GROUP = "simulated"
CHANNELS: dict[Topic, Channel] = {Topic.CONTROLLER: CONTROLLER, Topic.QUERY: QUERY, Topic.SERVICE: SERVICE}


@dataclass(frozen=True, slots=True)
class Garbage:
    """Bytes that can't be decoded."""

    value: bytes


class Sealed(NamedTuple):
    headers: tuple[tuple[str, bytes], ...]
    value: bytes
    key: bytes | None


class Wire(Protocol):
    def seal(self, message: Message) -> object: ...

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        """Returns None if the record can't be decoded."""


class AsValues:
    def seal(self, message: Message) -> object:
        return message

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        if isinstance(record, Garbage):
            return AsBytes().open(topic, partition, offset, record)
        return record  # type: ignore[return-value]  # what was sealed


class AsBytes:
    def seal(self, message: Message) -> object:
        return Sealed(*encode(message, "simulator", GROUP), key_of(message))

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        sealed = Sealed((), record.value, None) if isinstance(record, Garbage) else record
        assert isinstance(sealed, Sealed)
        channel = CHANNELS[topic]
        message = decode_on(channel, channel.topic(GROUP), partition, offset, *sealed, group=GROUP)
        return None if isinstance(message, Undecodable) else message


@dataclass(frozen=True, slots=True)
class Measured:
    """A record of the monitor topic, and whether it is nonsense, which only the simulator knows."""

    event: SpeedsMeasured
    is_nonsense: bool = False
