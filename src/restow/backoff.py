"""Exponential backoff: how long to wait after repeated failures, and when a problem is news.

Pure: callers pass the time in and do the waiting and the logging. `Backoff` is the curve; `Retries` applies it to each
target (a table, a broker, a consumer) on its own; `News` keeps a lasting condition from being logged twice.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

MOST_DOUBLINGS: Final = 64
"""Beyond this the pause has long reached its limit, and a float would overflow."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Each pause is `factor` times the one before, up to `longest_s`."""

    first_s: float
    longest_s: float
    factor: float = 2.0

    def pause_s(self, failures: int) -> float:
        """Seconds to wait after this many failures in a row; 0 after none."""
        if failures <= 0:
            return 0.0
        return min(self.first_s * self.factor ** min(failures - 1, MOST_DOUBLINGS), self.longest_s)


@dataclass(slots=True)
class _Failing:
    failures: int
    until_s: float
    reason: str


class Retries:
    """Exponential backoff per target. A failure is news the first time and when its reason changes; so is its end."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._failing: dict[Hashable, _Failing] = {}

    def is_waiting(self, target: Hashable, now_s: float) -> bool:
        return target in self._failing and now_s < self._failing[target].until_s

    def failed(self, target: Hashable, now_s: float, reason: str = "") -> bool:
        """Starts the next, longer pause. Returns whether this is news and should be logged."""
        before = self._failing.get(target)
        failures = before.failures + 1 if before else 1
        self._failing[target] = _Failing(failures, now_s + self._backoff.pause_s(failures), reason)
        return before is None or before.reason != reason

    def pause_s(self, target: Hashable) -> float:
        """The length of the target's present pause; 0 if it has not failed."""
        return self._backoff.pause_s(self._failing[target].failures) if target in self._failing else 0.0

    def succeeded(self, target: Hashable) -> bool:
        """Returns whether the target had failed before: its recovery should be logged."""
        return self._failing.pop(target, None) is not None

    def keep(self, targets: Iterable[Hashable]) -> None:
        """Forgets all other targets."""
        kept = set(targets)
        self._failing = {target: failing for target, failing in self._failing.items() if target in kept}


class News:
    """Tells a new line about a subject from a repeated one, so that a lasting condition is logged once."""

    def __init__(self) -> None:
        self._last: dict[Hashable, str] = {}

    def is_new(self, subject: Hashable, line: str) -> bool:
        """Returns whether the last line about this subject was another one, or there was none; remembers this one."""
        is_new = self._last.get(subject) != line
        self._last[subject] = line
        return is_new

    def is_over(self, subject: Hashable) -> bool:
        """Forgets the subject. Returns whether there was a line about it: its end should be logged."""
        return self._last.pop(subject, None) is not None
