"""Where a process's loop puts its frozen values and the HTTP thread finds them.

The loop replaces the values as a whole, at most once a second; a reader has the old ones or the new ones. Nothing else
is shared between the two threads.
"""

import time
from collections.abc import Iterable
from typing import Final

from restow.metrics.families import Role
from restow.metrics.values import Derive, Sample, Tallies

PUBLISH_EVERY_S: Final = 1.0


def _nothing() -> tuple[Sample, ...]:
    return ()


class Board:
    def __init__(self, role: Role, group: str, consumer: int | None = None) -> None:
        self.role, self.group, self.consumer = role, group, consumer
        self.tallies = Tallies()
        """Of the loop's thread alone."""
        self._published: tuple[tuple[Sample, ...], Derive] = ((), _nothing)
        self._due_s = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._due_s

    def publish(self, derive: Derive = _nothing) -> None:
        """Called by the loop. `derive` has frozen values only; it is called in another thread, at each scrape."""
        self._published = (self.tallies.samples(), derive)
        self._due_s = time.monotonic() + PUBLISH_EVERY_S

    def read(self) -> Iterable[Sample]:
        """Called by any thread."""
        tallied, derive = self._published
        return (*tallied, *derive())
