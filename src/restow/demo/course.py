"""The demonstration's phases: quiet, busy, accident, quiet again.

An act lasts for its share of the requested time and then until the group has reacted to it. So the course follows the
group's decisions, not the machine's speed: a busy machine takes longer, up to a limit. `run.py` asks every second
whether the next act begins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

QUIET, BUSY = 0.5, 2.1
"""Loads, in capacities of a consumer. BUSY is too much for two consumers, which are filled up to 1.7 together and
relieved above 1.9, and leaves three of them room for a measurement that is a fifth too high."""
MOST_AT_WORK: Final = 3
LONGER_S: Final = 120.0
"""A course may take twice its time, or this much longer, whichever is more."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The group as the course sees it."""

    consumers: int
    """Consumers that exist and aren't being deleted, ready or not: each of them costs."""
    at_work: int
    """Consumers that read at least one partition."""
    unread: int
    """Partitions without a reader."""


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
    """Least duration, as a share of the requested time."""
    ends_by: float
    """Latest end, as a share of the longest time, shown or not."""
    is_shown: Callable[[Scene], bool]


DIRECTIONS: Final = {
    Act.QUIET: Directions(QUIET, 0.15, 0.15, lambda _: True),
    Act.BUSY: Directions(BUSY, 0.3, 0.6, lambda scene: scene.at_work >= MOST_AT_WORK),
    Act.ACCIDENT: Directions(BUSY, 0.15, 0.8, lambda scene: scene.unread == 0),
    Act.QUIET_AGAIN: Directions(QUIET, 0.3, 1.0, lambda scene: scene.consumers == 1 and scene.unread == 0),
    Act.OVER: Directions(0.0, 0.0, 0.0, lambda _: True),
}
NEXT: Final = dict(zip(tuple(Act)[:-1], tuple(Act)[1:], strict=True))


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
        """Whether the group has reacted to this act."""
        return DIRECTIONS[self._act].is_shown(scene)

    def lasted_s(self, at_s: float) -> float:
        return at_s - self._begun_s

    def goes_on(self, at_s: float, scene: Scene) -> bool:
        """Begins the next act if it is time, `at_s` seconds after the first began. Returns whether it did."""
        act = DIRECTIONS[self._act]
        has_lasted = self.lasted_s(at_s) >= act.lasts * self._seconds
        is_too_late = at_s >= act.ends_by * self._longest_s
        if self._act is Act.OVER or not (is_too_late or (has_lasted and act.is_shown(scene))):
            return False
        self._act, self._begun_s = NEXT[self._act], at_s
        return True
