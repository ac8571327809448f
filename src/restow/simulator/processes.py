"""The base of the simulated processes: each can crash or hang after any step, and come back late."""

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from restow.simulator.world import World


class SimulatedProcess:
    """A subclass calls `passes` after each step that is visible outside, and goes on only if it returns True."""

    def __init__(self, world: "World", rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self.is_alive = True
        self.frozen_until_s = 0.0
        self._fuse: tuple[int, Callable[[], None]] | None = None

    @property
    def now_s(self) -> float:
        return self.world.agenda.now_s

    @property
    def is_frozen(self) -> bool:
        return self.world.agenda.now_s < self.frozen_until_s

    def inject(self, what: Callable[[], None], after_steps: int) -> None:
        """Schedules a fault between two of its next steps."""
        self._fuse = (after_steps, what)

    @property
    def is_about_to_fail(self) -> bool:
        """Whether the next `passes` injects a fault."""
        return self._fuse is not None and self._fuse[0] <= 0

    def freeze(self, until_s: float) -> None:
        """Hangs as after SIGSTOP: it neither reads nor writes nor notices."""
        self.frozen_until_s = max(self.frozen_until_s, until_s)

    def passes(self) -> bool:
        """Injects a fault that is due. Returns whether the process still runs."""
        if self._fuse is not None:
            steps, what = self._fuse
            self._fuse = (steps - 1, what)
            if steps <= 0:
                self._fuse = None
                what()
        return self.is_alive and self.world.agenda.now_s >= self.frozen_until_s

    def at(self, time_s: float, action: Callable[[], None]) -> None:
        """Acts at this time, or when the process no longer hangs; never after it has died."""
        self.world.agenda.at(time_s, partial(self._act, action))

    def _act(self, action: Callable[[], None]) -> None:
        # A closure that names itself would be a cycle, and keep all that it refers to until the collector runs.
        if not self.is_alive:
            return
        if self.is_frozen:
            self.at(self.frozen_until_s, action)
        else:
            action()
