"""What can't be done now rests, longer each time, and is tried again after that; all else goes on. The Spark pipeline
keeps one for each place that rows go to.
"""

import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final

SHORTEST_S: Final = 0.5
LONGEST_S: Final = 30.0


@dataclass
class Rest:
    length_s: float
    until_s: float


class Rests:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._resting: dict[Hashable, Rest] = {}

    def is_resting(self, what: Hashable) -> bool:
        return what in self._resting and time.monotonic() < self._resting[what].until_s

    def failed(self, what: Hashable, line: str) -> None:
        """Said the first time."""
        if what not in self._resting:
            self._say(f"{line}; it is tried again after a while, others go on")
        before = self._resting.get(what)
        length_s = min(2 * before.length_s, LONGEST_S) if before else SHORTEST_S
        self._resting[what] = Rest(length_s, time.monotonic() + length_s)

    def succeeded(self, what: Hashable, line: str) -> None:
        """Said if it had failed before."""
        if self._resting.pop(what, None):
            self._say(line)

    def keep(self, those: Iterable[Hashable]) -> None:
        kept = set(those)
        self._resting = {what: rest for what, rest in self._resting.items() if what in kept}


class Once:
    """Says a line about something, and not again until there is another line to say about it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: dict[Hashable, str] = {}

    def say(self, about: Hashable, line: str) -> None:
        if self._said.get(about) != line:
            self._said[about] = line
            self._say(line)
