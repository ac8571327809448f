"""What a record is made of: the message itself, or the very bytes that the real processes send and read.

Encoding takes most of a simulated process's time, so only some seeds do it; what can't be decoded is on the topics in
both.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from restow.controller.events import SpeedsMeasured
from restow.protocol.channels import CONTROLLER, QUERY, SERVICE, Channel, decode_on
from restow.protocol.messages import Message
from restow.protocol.records import Undecodable, encode, key_of
from restow.simulator.topics import Topic

PREFIX = "simulated"
CHANNELS: dict[Topic, Channel] = {Topic.CONTROLLER: CONTROLLER, Topic.QUERY: QUERY, Topic.SERVICE: SERVICE}


@dataclass(frozen=True, slots=True)
class Garbage:
    """Bytes that nobody can read."""

    value: bytes


class Sealed(NamedTuple):
    headers: tuple[tuple[str, bytes], ...]
    value: bytes
    key: bytes | None


class Wire(Protocol):
    def seal(self, message: Message) -> object: ...

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        """None: it can't be read, and is passed over."""


class AsValues:
    def seal(self, message: Message) -> object:
        return message

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        if isinstance(record, Garbage):
            return AsBytes().open(topic, partition, offset, record)
        return record  # type: ignore[return-value]  # what was sealed


class AsBytes:
    def seal(self, message: Message) -> object:
        return Sealed(*encode(message, "simulator"), key_of(message))

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        sealed = Sealed((), record.value, None) if isinstance(record, Garbage) else record
        assert isinstance(sealed, Sealed)
        message = decode_on(CHANNELS[topic], PREFIX, partition, offset, *sealed)
        return None if isinstance(message, Undecodable) else message


@dataclass(frozen=True, slots=True)
class Measured:
    """A record of the monitor topic, and what only the world knows of it."""

    event: SpeedsMeasured
    is_nonsense: bool = False
