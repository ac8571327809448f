"""Turns pictures into what browsers get: the whole as JSON, and where it is large only what changed.

The text is made once for each picture, in the thread that reads Kafka, and shared by all browsers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from restow.model import ConsumerId, TopicPartition
from restow.page.times import utc_s
from restow.picture.parts import by_topic, plain_picture
from restow.picture.picture import Picture
from restow.protocol.codec import to_plain
from restow.protocol.json_text import as_json

LARGE_BYTES: Final = 32_000
"""A smaller picture is sent whole each time."""
WHOLE_EVERY_S: Final = 10.0
MOST_CHANGED: Final = 0.25
"""A change of more rows than this part of all is sent as a whole picture."""


@dataclass(frozen=True, slots=True)
class Update:
    """A picture, and its text for browsers."""

    number: int
    """Counts up."""
    picture: Picture
    drawn_s: float
    """When it was drawn, in seconds since 1970."""
    text: bytes
    """The whole picture, as JSON."""
    base: int
    """The number of the whole picture that `change` starts from. It may also be laid over any later one."""
    change: bytes | None
    """The rows that changed since, as the members of a JSON object; None if the whole is sent instead."""


class Updates:
    """Compares each picture with the one before."""

    def __init__(self, large_bytes: int = LARGE_BYTES) -> None:
        self._large_bytes = large_bytes
        self.last: Update | None = None
        self._base_s = 0.0
        self._consumers: set[ConsumerId] = set()
        self._partitions: set[TopicPartition] = set()

    def made(self, picture: Picture, now_s: float) -> Update:
        """`now_s` is of any clock that only grows."""
        number = 0 if self.last is None else self.last.number + 1
        text = as_json(plain_picture(picture))
        change = self._change(picture, now_s, len(text))
        if change is None:
            self._base_s, self._consumers, self._partitions = now_s, set(), set()
        base = number if change is None or self.last is None else self.last.base
        self.last = Update(number, picture, utc_s(picture.overview.time), text, base, change)
        return self.last

    def _change(self, picture: Picture, now_s: float, size: int) -> bytes | None:
        if self.last is None or size < self._large_bytes or now_s - self._base_s >= WHOLE_EVERY_S:
            return None
        before = self.last.picture
        self._consumers |= _touched(before.consumers, picture.consumers)
        self._partitions |= _touched(before.partitions, picture.partitions)
        if len(self._consumers) + len(self._partitions) > MOST_CHANGED * (
            len(picture.consumers) + len(picture.partitions)
        ):
            return None
        return as_json(
            {
                "overview": to_plain(picture.overview),
                "consumers": {str(n): _plain(picture.consumers.get(n)) for n in sorted(self._consumers)},
                "topics": by_topic((p, _plain(picture.partitions.get(p))) for p in sorted(self._partitions)),
            }
        )


def _touched(before: Mapping[Any, object], now: Mapping[Any, object]) -> set[Any]:
    gone = before.keys() - now.keys()
    return {*gone, *(key for key, row in now.items() if (old := before.get(key)) is not row and old != row)}


def _plain(row: object) -> Any:
    return None if row is None else to_plain(row)
