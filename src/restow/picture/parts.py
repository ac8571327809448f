"""The picture as records of <prefix>-status: JSON, readable with any Kafka tool.

A whole picture is published every ten seconds, in parts that any broker takes; changes in between are one small record:

    key whole-0  {"version": 1, "epoch": 8, "picture": 41, "part": 0, "parts": 2,
                  "overview": {…}, "consumers": {"1": {…}}, "topics": {"orders": {"0": {"consumer": 1, …}}}}
    key whole-1  {"version": 1, "epoch": 8, "picture": 41, "part": 1, "parts": 2, "topics": {…}}
    key change   {"version": 1, "epoch": 8, "picture": 41, "change": 3,
                  "overview": {…}, "consumers": {"2": {…}, "3": null}, "topics": {"orders": {"0": {…}}}}

A change has everything that differs from its picture's whole, so that a reader needs the newest whole and the newest
change of it, and nothing else; null is what is gone. Every record names its epoch: a new controller begins anew, and a
record of an older epoch changes nothing. Readers ignore unknown keys.

The topic is compacted, with a day of lag: the newest picture is always there, and the pictures of a day.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, Final, NamedTuple

from restow.errors import InvalidInput
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.picture.picture import ConsumerStatus, Overview, PartitionStatus, Picture
from restow.protocol.codec import from_plain, to_plain
from restow.protocol.json_text import as_json, parse_json

VERSION: Final = 1
LARGEST_PART_BYTES: Final = 500_000
CHANGE_KEY: Final = b"change"

CONSUMER_NEWS: Final = attrgetter("phase", "incarnation", "restarts", "outdated", "spare")
PARTITION_NEWS: Final = attrgetter("consumer", "moving_to")

Rows = dict[str, Any]


class PictureRecord(NamedTuple):
    key: bytes
    value: bytes


def headers_of(sender: str, group: str) -> dict[str, str]:
    return {"type": Picture.__name__, "version": str(VERSION), "sender": sender, "group": group}


def whole(picture: Picture, number: int, largest_bytes: int = LARGEST_PART_BYTES) -> tuple[PictureRecord, ...]:
    """The records of a whole picture. `number` counts the pictures of an epoch."""
    contents = list(_split(picture, largest_bytes))
    head = {"version": VERSION, "epoch": picture.overview.epoch, "picture": number}
    return tuple(
        PictureRecord(b"whole-%d" % part, as_json({**head, "part": part, "parts": len(contents), **content}))
        for part, content in enumerate(contents)
    )


def change(base: Picture, now: Picture, number: int, change: int) -> PictureRecord:
    """What differs between the whole picture with this number and now. Speeds, lags and ages change all the time and
    wait for the next whole picture."""
    consumers = _differing(base.consumers, now.consumers, CONSUMER_NEWS)
    partitions = _differing(base.partitions, now.partitions, PARTITION_NEWS)
    value = {
        "version": VERSION,
        "epoch": now.overview.epoch,
        "picture": number,
        "change": change,
        "overview": to_plain(now.overview),
        "consumers": {str(consumer): _or_null(now.consumers.get(consumer)) for consumer in consumers},
        "topics": by_topic((partition, _or_null(now.partitions.get(partition))) for partition in partitions),
    }
    return PictureRecord(CHANGE_KEY, as_json(value))


def plain_picture(picture: Picture) -> dict[str, Any]:
    """The whole picture as one JSON object, as `restow status --json` prints it."""
    return {
        "overview": to_plain(picture.overview),
        "consumers": {str(consumer): to_plain(status) for consumer, status in picture.consumers.items()},
        "topics": by_topic((partition, to_plain(status)) for partition, status in picture.partitions.items()),
    }


def picture_of(plain: Any) -> Picture:
    """The picture that `plain_picture` made the object from. Raises InvalidInput."""
    if not isinstance(plain, dict):
        raise InvalidInput(f"a picture is a JSON object with overview, consumers and topics, not {plain!r:.40}")
    return _picture([plain])


class Assembler:
    """Puts records together to the newest picture, in the order in which they are read."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[str, Any]] = {}
        self._begun: tuple[int, int] | None = None
        """Epoch and number of the picture whose parts are being collected."""
        self._base: Picture | None = None
        self._base_number: tuple[int, int] | None = None
        self.picture: Picture | None = None
        """The newest picture; None before the first is whole."""

    def take(self, value: bytes) -> bool:
        """Returns whether the picture changed. Raises InvalidInput if this is no record of a picture."""
        plain = parse_json(value)
        if not isinstance(plain, dict) or plain.get("version") != VERSION:
            version = plain.get("version") if isinstance(plain, dict) else None
            raise InvalidInput(f"a picture of version {version!r:.20} can't be read; known is {VERSION}")
        number = (_whole_number(plain, "epoch"), _whole_number(plain, "picture"))
        if "change" in plain:
            return self._changed(number, plain)
        return self._collected(number, plain)

    def _collected(self, number: tuple[int, int], plain: dict[str, Any]) -> bool:
        if self._base_number is not None and number <= self._base_number:
            return False
        if self._begun is None or number > self._begun:
            self._begun, self._parts = number, {}
        elif number < self._begun:
            return False
        self._parts[_whole_number(plain, "part")] = plain
        parts = _whole_number(plain, "parts")
        if len(self._parts) != parts or max(self._parts) >= parts:  # a record may claim a billion parts
            return False
        self._base = _picture([self._parts[part] for part in range(parts)])
        self._base_number, self.picture, self._parts = number, self._base, {}
        return True

    def _changed(self, number: tuple[int, int], plain: dict[str, Any]) -> bool:
        if number != self._base_number or self._base is None:
            return False
        consumers = {**self._base.consumers, **_statuses(plain)}
        partitions = {**self._base.partitions, **_rows(plain)}
        self.picture = Picture(
            from_plain(Overview, plain.get("overview"), "overview"),
            SortedMapping({name: status for name, status in consumers.items() if status is not None}),
            SortedMapping({name: status for name, status in partitions.items() if status is not None}),
        )
        return True


def _split(picture: Picture, largest_bytes: int) -> Iterator[dict[str, Any]]:
    """The content of each part: the overview, then consumers, then partitions, as many as fit."""
    content: dict[str, Any] = {"overview": to_plain(picture.overview)}
    size = len(as_json(content))
    for consumer, status in picture.consumers.items():
        row = to_plain(status)
        row_size = len(as_json(row)) + 16
        if size + row_size > largest_bytes:
            yield content
            content, size = {}, 0
        content.setdefault("consumers", {})[str(consumer)] = row
        size += row_size
    for (topic, partition), place in picture.partitions.items():
        row = to_plain(place)
        row_size = len(as_json(row)) + 16
        if size + row_size + len(topic) > largest_bytes:
            yield content
            content, size = {}, 0
        topics = content.setdefault("topics", {})
        size += row_size if topic in topics else row_size + len(topic)
        topics.setdefault(topic, {})[str(partition)] = row
    yield content


def _picture(parts: list[dict[str, Any]]) -> Picture:
    consumers: dict[ConsumerId, ConsumerStatus | None] = {}
    partitions: dict[TopicPartition, PartitionStatus | None] = {}
    for part in parts:
        consumers |= _statuses(part)
        partitions |= _rows(part)
    return Picture(
        from_plain(Overview, parts[0].get("overview"), "overview"),
        SortedMapping({name: status for name, status in consumers.items() if status is not None}),
        SortedMapping({name: status for name, status in partitions.items() if status is not None}),
    )


def _statuses(plain: dict[str, Any]) -> Mapping[ConsumerId, ConsumerStatus | None]:
    kind = Mapping[ConsumerId, ConsumerStatus | None]
    found: Mapping[ConsumerId, ConsumerStatus | None] = from_plain(kind, plain.get("consumers", {}), "consumers")
    return found


def _rows(plain: dict[str, Any]) -> Mapping[TopicPartition, PartitionStatus | None]:
    kind = Mapping[TopicPartition, PartitionStatus | None]
    found: Mapping[TopicPartition, PartitionStatus | None] = from_plain(kind, plain.get("topics", {}), "topics")
    return found


def _differing(before: Mapping[Any, object], now: Mapping[Any, object], news: Callable[[Any], object]) -> list[Any]:
    gone = before.keys() - now.keys()
    return sorted(
        [*gone, *(key for key, status in now.items() if key not in before or news(before[key]) != news(status))]
    )


def _or_null(status: ConsumerStatus | PartitionStatus | None) -> Any:
    return None if status is None else to_plain(status)


def by_topic(rows: Iterable[tuple[TopicPartition, Any]]) -> Rows:
    """Rows in the form of `topics`: by topic, then by number."""
    found: Rows = {}
    for (topic, number), row in rows:
        found.setdefault(topic, {})[str(number)] = row
    return found


def _whole_number(plain: dict[str, Any], name: str) -> int:
    value = plain.get(name)
    if type(value) is not int or value < 0:
        raise InvalidInput(f"{name} is {value!r:.40}; it must be a whole number, 0 or more")
    return value
