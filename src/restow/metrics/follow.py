"""Follows the controller's machine step by step, and counts what a picture lacks: decisions, moves, pauses, rounds."""

from collections.abc import Sequence

from restow.controller.effects import Effect, Moved
from restow.controller.events import Event
from restow.controller.moves import MoveTracker
from restow.controller.transitions import REPLAN_FROM_MANAGE, REPLAN_FROM_SENTINEL, Cause, Stage
from restow.metrics.families import DECISIONS, MOVES, PAUSE, ROUND
from restow.metrics.values import Tallies


class ControllerCounts:
    def __init__(self, tallies: Tallies) -> None:
        self._tallies, self._moves = tallies, MoveTracker()
        for cause in sorted({*REPLAN_FROM_SENTINEL, *REPLAN_FROM_MANAGE}):
            tallies.begin(DECISIONS, cause.value)
        for family in (MOVES, PAUSE, ROUND):
            tallies.begin(family)

    def follow(self, event: Event, effects: Sequence[Effect]) -> None:
        ended = self._moves.apply(event)
        if ended.count:
            self._tallies.count(MOVES, ended.count)
        for pause_s in ended.pauses_s:
            self._tallies.observe(PAUSE, pause_s)
        cause: Cause | None = None
        for effect in effects:
            if isinstance(effect, Moved) and effect.target is Stage.REASSIGN:
                cause = effect.cause
            elif isinstance(effect, Moved) and effect.cause is Cause.CHANGE and cause is not None:
                self._tallies.count(DECISIONS, 1, cause.value)

    def round_took(self, seconds: float) -> None:
        self._tallies.observe(ROUND, seconds)
