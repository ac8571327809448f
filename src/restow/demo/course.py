"""The demonstration's phases: quiet, busy, accident, quiet again.

An act lasts for its share of the requested time and then until the group has reacted to it, and has a spare again where
the next act needs one. So the course follows the group's decisions, not the machine's speed: a busy machine takes
longer, up to a limit. `run.py` asks every second whether the next act begins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

QUIET, BUSY = 0.5, 1.5
"""Loads, in capacities of a consumer. BUSY is too much for one consumer, which is relieved above 0.95, and leaves two
of them room for a measurement that is a fifth too high."""
MOST_AT_WORK: Final = 2
SPARES: Final = 1
"""Consumers that are warm and read nothing. One lets the group grow at once, and takes over after the accident."""
LONGER_S: Final = 120.0
"""A course may take twice its time, or this much longer, whichever is more."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The group as the course sees it."""

    consumers: int
    """Consumers that exist and aren't being deleted, ready or not: each of them costs."""
    at_work: int
    """Consumers that read at least one partition."""
    spare: int
    """Consumers that are ready and read nothing."""
    unread: int
    """Partitions without a reader."""


class Act(Enum):
    QUIET = "quiet"
    BUSY = "busy"
    ACCIDENT = "accident"
    QUIET_AGAIN = "quiet again"
    OVER = "over"


def has_spare(scene: Scene) -> bool:
    return scene.spare >= SPARES


def is_grown(scene: Scene) -> bool:
    return scene.at_work >= MOST_AT_WORK


def is_read(scene: Scene) -> bool:
    return scene.unread == 0


def is_small(scene: Scene) -> bool:
    return scene.consumers == 1 + SPARES and scene.at_work == 1 and is_read(scene)


@dataclass(frozen=True, slots=True)
class Directions:
    capacities: float
    """The load."""
    lasts: float
    """Least duration, as a share of the requested time."""
    ends_by: float
    """Latest end, as a share of the longest time, whatever the scene."""
    is_shown: Callable[[Scene], bool]
    """Whether the group has reacted."""
    may_end: Callable[[Scene], bool]
    """Whether the group can show the next act."""


DIRECTIONS: Final = {
    Act.QUIET: Directions(QUIET, 0.15, 0.25, has_spare, has_spare),
    Act.BUSY: Directions(BUSY, 0.3, 0.6, is_grown, lambda scene: is_grown(scene) and has_spare(scene)),
    Act.ACCIDENT: Directions(BUSY, 0.15, 0.8, is_read, is_read),
    Act.QUIET_AGAIN: Directions(QUIET, 0.3, 1.0, is_small, is_small),
    Act.OVER: Directions(0.0, 0.0, 0.0, is_read, is_read),
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
        if self._act is Act.OVER or not (is_too_late or (has_lasted and act.may_end(scene))):
            return False
        self._act, self._begun_s = NEXT[self._act], at_s
        return True
