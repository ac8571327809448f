"""All moves of partitions and their pauses in the controller's event log."""

from collections.abc import Iterable

from restow.controller.events import Event
from restow.controller.log_reader import entries
from restow.controller.moves import Moves, MoveTracker


def moves_in(lines: Iterable[str]) -> Moves:
    counter = MoveCounter()
    for entry in entries(lines):
        counter.apply(entry.event)
    return counter.moves


class MoveCounter:
    def __init__(self) -> None:
        self._tracker = MoveTracker()
        self._count = 0
        self._pauses_s: list[float] = []

    @property
    def moves(self) -> Moves:
        """With the pauses in ascending order."""
        return Moves(self._count, tuple(sorted(self._pauses_s)))

    def apply(self, event: Event) -> None:
        ended = self._tracker.apply(event)
        self._count += ended.count
        self._pauses_s += ended.pauses_s
