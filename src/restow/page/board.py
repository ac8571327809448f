"""What the page's server knows. The event loop owns it: the thread that reads Kafka hands values to `take`."""

import asyncio
import logging
import time
from contextlib import suppress
from typing import Final, assert_never

from restow.page.following import Answered, DayRead, Empty, Heard, Remembered, Seen, Unreachable
from restow.page.history import History
from restow.page.updates import Update
from restow.picture.publication import OUTAGE_AFTER_S
from restow.protocol.json_text import as_json

log = logging.getLogger(__name__)

FUTURE_S: Final = 300.0
"""A picture that is drawn later than this has a wrong clock, and would push the day out of the history."""


class Board:
    def __init__(self, group: str, topic: str) -> None:
        self._group, self._topic = group, topic
        self.newest: Update | None = None
        self.history = History()
        self.is_reached = False
        """Whether Kafka has answered since the start."""
        self._unreachable: str | None = None
        self._news = asyncio.Event()

    def take(self, heard: Heard) -> None:
        match heard:
            case Seen(update, sample):
                self.newest, self._unreachable, self.is_reached = update, None, True
                if sample.time_s < time.time() + FUTURE_S:
                    self.history.add(sample)
            case Remembered(sample):
                if sample.time_s < time.time() + FUTURE_S:
                    self.history.add(sample)
                return
            case DayRead():
                self.history.is_complete = True
            case Answered() | Empty():
                self._unreachable, self.is_reached = None, True
            case Unreachable(words):
                self._unreachable = words
            case _:
                assert_never(heard)
        self._news.set()
        self._news = asyncio.Event()

    async def news(self, within_s: float) -> None:
        """Returns when something was taken, at the latest after `within_s`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), within_s)

    def wake(self) -> None:
        """Ends all waits, when the server ends."""
        self._news.set()

    @property
    def age_s(self) -> float:
        """The age of the newest picture, which must exist."""
        assert self.newest is not None
        return round(max(0.0, time.time() - self.newest.drawn_s), 3)

    @property
    def outage(self) -> str | None:
        """Why the newest picture is out of date, in words; None if it is current, or if there is none."""
        if self.newest is None:
            return None
        if self._unreachable is not None:
            return self._unreachable
        if self.age_s <= OUTAGE_AFTER_S:
            return None
        return (
            f"no controller of group {self._group} has published a picture for {self.age_s:.0f} s; "
            "does `restow controller` run? Consumers go on without it"
        )

    @property
    def why_none(self) -> str:
        if self._unreachable is not None:
            return self._unreachable
        if not self.is_reached:
            return "waiting for Kafka's answer"
        return f"{self._topic} has no picture yet; does `restow controller` of group {self._group} run?"

    def picture_text(self) -> bytes:
        """What /api/picture answers."""
        if self.newest is None:
            return as_json({"picture": None, "why": self.why_none})
        return b'{"picture":%s,%s}' % (self.newest.text, self._ages())

    def change_text(self) -> bytes | None:
        """The data of a `change` event; None if a whole picture is due."""
        if self.newest is None or self.newest.change is None:
            return None
        return b"%s,%s}" % (self.newest.change[:-1], self._ages())

    def outage_text(self, words: str) -> bytes:
        return as_json({"words": words, "age_s": self.age_s})

    def _ages(self) -> bytes:
        return as_json({"age_s": self.age_s, "outage": self.outage is not None})[1:-1]
