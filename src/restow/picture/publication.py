"""When to publish what: the whole picture every ten seconds, a change at once but at most one record a second.

A whole picture of a large group costs hundreds of milliseconds (bench/picture.py), so that none is drawn unless it is
published, and a change is drawn from the whole before it.
"""

from collections.abc import Callable
from typing import Final

from restow.controller.state import State
from restow.picture.chronicle import Chronicle
from restow.picture.parts import LARGEST_PART_BYTES, PictureRecord, change, whole
from restow.picture.picture import Picture

WHOLE_EVERY_S: Final = 10.0
CHANGE_EVERY_S: Final = 1.0
OUTAGE_AFTER_S: Final = 30.0
"""An older picture is of the past."""


class Publication:
    def __init__(self, largest_bytes: int = LARGEST_PART_BYTES) -> None:
        self._largest_bytes = largest_bytes
        self._number, self._changes = 0, 0
        self._base: Picture | None = None
        self._whole_s, self._published_s = 0.0, 0.0
        self._seen: tuple[object, ...] = ()
        """What the last record was drawn from, compared by identity."""

    def due(
        self, state: State, chronicle: Chronicle, now_s: float, draw: Callable[[], Picture]
    ) -> tuple[PictureRecord, ...]:
        """The records to publish now."""
        seen = (chronicle, state.target, state.desired)
        if self._base is None or self.is_whole_due(now_s):
            return self._whole(draw(), now_s, seen)
        is_same = all(old is new for old, new in zip(self._seen, seen, strict=True))
        if is_same or now_s - self._published_s < CHANGE_EVERY_S:
            return ()
        picture = draw()
        record = change(self._base, picture, self._number, self._changes + 1)
        if len(record.value) > self._largest_bytes:
            return self._whole(picture, now_s, seen)
        self._changes += 1
        self._published_s, self._seen = now_s, seen
        return (record,)

    def is_whole_due(self, now_s: float) -> bool:
        """Whether a picture that is drawn now is published whole, unless its change is too large for one record."""
        return self._base is None or now_s - self._whole_s >= WHOLE_EVERY_S

    def _whole(self, picture: Picture, now_s: float, seen: tuple[object, ...]) -> tuple[PictureRecord, ...]:
        self._number += 1
        self._base, self._changes = picture, 0
        self._whole_s, self._published_s, self._seen = now_s, now_s, seen
        return whole(picture, self._number, self._largest_bytes)
