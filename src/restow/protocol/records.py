"""Encodes messages as Kafka records and decodes them: headers, key and value.

    headers  type, version, sender: a reader can skip a record without decoding it
             group: the consumer group whose message it is; without it, the reader's own
    key      on the service topic, which is compacted: the name of the topic that an update is about, or :pause and such
    value    {"type": "StopConsumingCommand", "version": 1, "epoch": 8, …}

Headers may be missing, as in records written by hand, but must not contradict the value. `decode` never raises: it
returns an `Undecodable` for an invalid record, and a `Foreign` for one of another group, which `SkippedRecords` counts
and reports once.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from restow.errors import InvalidInput
from restow.model import SortedMapping
from restow.protocol.codec import TAG
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.forms import shown
from restow.protocol.json_text import as_json, parse_json
from restow.protocol.messages.desired import DesiredState, default_of
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message, OnService
from restow.protocol.versions import CURRENT, Versions

VERSION: Final = "version"
SENDER: Final = "sender"
GROUP: Final = "group"
CONSUMERS_KEY: Final = ":consumers"
"""The key of an update of the consumers' settings; no topic can have this name."""
LONGEST_REASON: Final = 300

Headers = Iterable[tuple[str, Any]] | None
"""As Kafka clients return them: values may be None or text, and there may be no headers at all."""

VERSIONS: Final[Mapping[type[Message], int]] = CURRENT.highest
"""The highest version of each message that this program knows."""


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A record that was skipped, and the reason, in one line."""

    topic: str
    partition: int
    offset: int
    reason: str

    @classmethod
    def because(cls, topic: str, partition: int, offset: int, reason: object) -> "Undecodable":
        words = "".join(letter if letter.isprintable() else " " for letter in str(reason)[:LONGEST_REASON])
        return cls(topic, partition, offset, words)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} at offset {self.offset} was skipped: {self.reason}"


@dataclass(frozen=True, slots=True)
class Foreign(Undecodable):
    """A record of another group: its processes use this group's topics."""

    group: str

    @classmethod
    def found(cls, topic: str, partition: int, offset: int, headers: Mapping[str, str], ours: str) -> "Foreign":
        theirs = headers[GROUP]
        sender = f", sent by {shown(headers[SENDER])}," if SENDER in headers else ""
        reason = f"it is of the group {shown(theirs)}{sender} and not of {ours}; give each group topics of its own"
        return cls(topic, partition, offset, Undecodable.because(topic, partition, offset, reason).reason, theirs)


def known_versions() -> SortedMapping[str, int]:
    return CURRENT.known()


def common_version(message: Message, theirs: Mapping[str, int]) -> int | None:
    """The highest version that both sides know. Returns None if there is none: the other side can't read it."""
    return CURRENT.common(message, theirs)


def encode(
    message: Message, sender: str, group: str, version: int | None = None, *, versions: Versions = CURRENT
) -> tuple[tuple[tuple[str, bytes], ...], bytes]:
    """Returns headers and value. `version` is by default the highest suitable one; `common_version` returns others."""
    kind = type(message)
    number = versions.suiting(message) if version is None else version
    form = versions.get(kind, number)
    if form is None:
        raise InvalidInput(f"there is no version {number} of {kind.__name__}; known: {_known(kind, versions)}")
    headers = ((TAG, kind.__name__), (VERSION, str(number)), (SENDER, sender), (GROUP, group))
    value = {TAG: kind.__name__, VERSION: number, **form.write(message)}
    return tuple((name, text.encode(errors="replace")) for name, text in headers), as_json(value)


def header_in(headers: Headers, wanted: str) -> str | None:
    """The value of one header; None if it is missing, as in records written by hand. It decodes nothing else."""
    value = next((value for name, value in headers or () if name == wanted), None)
    return value.decode(errors="replace") if isinstance(value, bytes) else None


def key_of(message: Message) -> bytes | None:
    if isinstance(message, DesiredState):
        return message.key.encode()
    if not isinstance(message, ServiceUpdate):
        return None
    return (CONSUMERS_KEY if message.topic is None else message.topic).encode()


def decode(
    topic: str,
    partition: int,
    offset: int,
    headers: Headers,
    value: bytes | None,
    key: bytes | None = None,
    *,
    group: str | None = None,
    expected: Collection[type] | None = None,
    versions: Versions = CURRENT,
) -> Message | Undecodable:
    """`group` is the reader's own, and `expected` are the messages allowed here (see channels.py); by default any."""
    try:
        given = texts_of(headers)
        if group is not None and is_foreign(given, group):
            return Foreign.found(topic, partition, offset, given, group)
        message = _tombstone(key) if value is None else _message(given, value, versions)
        if expected is not None and type(message) not in expected:
            raise InvalidInput(f"a {type(message).__name__} does not belong here")
        if key is not None and isinstance(message, OnService) and key != key_of(message):
            raise InvalidInput(f"the key is {shown(_text(key))}; it must be {_text(key_of(message) or b'')}")
    except InvalidInput as error:
        return Undecodable.because(topic, partition, offset, error)
    return message


def is_foreign(headers: Mapping[str, str], group: str) -> bool:
    """Whether the headers name another group. Older senders and people name none: their records are the reader's own
    group's."""
    return headers.get(GROUP, group) != group


def _message(given: Mapping[str, str], value: bytes, versions: Versions) -> Message:
    plain = parse_json(value)
    if type(plain) is not dict:
        raise InvalidInput(f"the value is {shown(plain)}; it must be an object, a message")
    name, number = plain.get(TAG), plain.get(VERSION)
    kind = versions.kind(name) if type(name) is str else None
    if kind is None:
        raise InvalidInput(f"{TAG} is {shown(name)}; it must be the name of a message")
    form = versions.get(kind, number) if type(number) is int else None
    if form is None:
        raise InvalidInput(f"{VERSION} of {kind.__name__} is {shown(number)}; it must be {_known(kind, versions)}")
    for header, wanted in ((TAG, kind.__name__), (VERSION, str(number))):
        if given.get(header, wanted) != wanted:
            raise InvalidInput(f"the header {header} is {shown(given[header])}; it must be {wanted}, as in the value")
    message: Message = form.read(plain)
    return message


def _known(kind: type[Message], versions: Versions) -> str:
    return " or ".join(map(str, versions.numbers(kind)))


def _tombstone(key: bytes | None) -> OnService:
    """A record without a value deletes its key: the topic, or the consumers, are as in restow.toml, and what people
    asked for has its default."""
    if not key:
        raise InvalidInput("there is no value; it must be a message")
    if key == CONSUMERS_KEY.encode():
        return ServiceUpdate("consumers", consumers=ConsumerSettings())
    name = _text(key)
    return default_of(name) if name.startswith(":") else ServiceUpdate("reset", name)


def texts_of(headers: Headers) -> dict[str, str]:
    """restow's own headers. Headers that a tracing library or a proxy added are ignored. Raises InvalidInput."""
    texts: dict[str, str] = {}
    for name, value in headers or ():
        if name not in (TAG, VERSION, SENDER, GROUP):
            continue
        if name in texts:
            raise InvalidInput(f"the header {name} is given twice; it must be given once")
        if not isinstance(value, bytes):
            raise InvalidInput(f"the header {name} has no bytes; it must be text in UTF-8")
        texts[name] = _text(value)
    return texts


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{content[:40]!r} is not UTF-8; it must be text in UTF-8") from None


class SkippedRecords:
    """Counts undecodable records by topic, each once, however often it is read.

    It remembers one offset per partition: records are read in order, so that all below it were counted. Of the records
    of another group only the first on a topic is new, because its processes go on sending them.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._last: dict[tuple[str, int], int] = {}
        self._foreign: set[tuple[str, str]] = set()

    def is_new(self, record: Undecodable) -> bool:
        """Returns whether the record should be logged."""
        place = (record.topic, record.partition)
        if record.offset <= self._last.get(place, -1):
            return False
        self._last[place] = record.offset
        self._counts[record.topic] = self._counts.get(record.topic, 0) + 1
        if not isinstance(record, Foreign):
            return True
        source = (record.topic, record.group)
        is_first = source not in self._foreign
        self._foreign.add(source)
        return is_first

    @property
    def counts(self) -> SortedMapping[str, int]:
        return SortedMapping(self._counts)
