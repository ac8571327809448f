"""The demonstration's course: quiet, busy, an accident, quiet again.

An act lasts for its share of the time that was asked for, and then until it has shown what it is there for. What counts
are the group's decisions and not the speed of the machine: one that is busy with other work takes longer, up to a
bound. `run.py` asks each second whether it goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

QUIET, BUSY = 0.5, 2.1
"""Loads, in capacities of a consumer. The second is too much for two consumers, which together are filled up to 1.7 and
relieved above 1.9, and leaves three of them room for what is measured a fifth too high."""
MOST_AT_WORK: Final = 3
LONGER_S: Final = 120.0
"""A course may take twice its time, or so much longer, if that is more."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What there is to see of the group."""

    consumers: int
    """That are there and not told to go, whether they are ready or not: each of them costs."""
    at_work: int
    """Of them: those that read something."""
    unread: int
    """Partitions that nobody reads."""


class Act(Enum):
    QUIET = "quiet"
    BUSY = "busy"
    ACCIDENT = "accident"
    QUIET_AGAIN = "quiet again"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Directions:
    capacities: float
    """The load."""
    lasts: float
    """Of the time that was asked for: at least."""
    ends_by: float
    """Of the longest time: whatever was shown."""
    is_shown: Callable[[Scene], bool]


DIRECTIONS: Final = {
    Act.QUIET: Directions(QUIET, 0.15, 0.15, lambda _: True),
    Act.BUSY: Directions(BUSY, 0.3, 0.6, lambda scene: scene.at_work >= MOST_AT_WORK),
    Act.ACCIDENT: Directions(BUSY, 0.15, 0.8, lambda scene: scene.unread == 0),
    Act.QUIET_AGAIN: Directions(QUIET, 0.3, 1.0, lambda scene: scene.consumers == 1 and scene.unread == 0),
    Act.OVER: Directions(0.0, 0.0, 0.0, lambda _: True),
}
FOLLOWING: Final = dict(zip(tuple(Act)[:-1], tuple(Act)[1:], strict=True))


class Course:
    def __init__(self, seconds: float) -> None:
        self._seconds, self._longest_s = seconds, seconds + max(seconds, LONGER_S)
        self._act, self._begun_s = Act.QUIET, 0.0

    @property
    def act(self) -> Act:
        return self._act

    @property
    def capacities(self) -> float:
        return DIRECTIONS[self._act].capacities

    def is_shown(self, scene: Scene) -> bool:
        """Whether this is what the act is there to show."""
        return DIRECTIONS[self._act].is_shown(scene)

    def lasted_s(self, at_s: float) -> float:
        return at_s - self._begun_s

    def goes_on(self, at_s: float, scene: Scene) -> bool:
        """Whether the next act begins, so many seconds after the first began."""
        act = DIRECTIONS[self._act]
        has_lasted = self.lasted_s(at_s) >= act.lasts * self._seconds
        is_too_late = at_s >= act.ends_by * self._longest_s
        if self._act is Act.OVER or not (is_too_late or (has_lasted and act.is_shown(scene))):
            return False
        self._act, self._begun_s = FOLLOWING[self._act], at_s
        return True
