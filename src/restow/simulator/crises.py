"""What goes wrong around a crash: no controller is there, one dies in the middle, a record kills every reader.

It has a random generator of its own, and does nothing in some runs, so that the times of all other faults don't depend
on it.
"""

import random
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from restow.controller.transitions import Phase
from restow.simulator.consumer import ConsumerProcess
from restow.simulator.drawing import schedule_some
from restow.simulator.scenario import Level

if TYPE_CHECKING:
    from restow.simulator.world import World

ACTIVE: Final = 0.6
"""The share of runs in which there are some."""
EVERY_S: Final = {Level.SOME: 220.0, Level.MANY: 150.0}
LOOK_S: Final = 0.2


class Crisis(StrEnum):
    NO_CONTROLLER = "a consumer crashes while there is no controller"
    CONTROLLER_DIES_IN_TAKEOVER = "the controller dies between a Start after a crash and its answer"
    QUICK_RESTART = "a crashed consumer is back at once, and its claim crosses the takeover"
    POISON = "a record kills every process that reads it"


class Crises:
    def __init__(self, world: "World", rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self._end_s = world.scenario.duration_s - world.scenario.quiet_s

    def plan(self) -> None:
        schedule_some(self.world, self.rng, ACTIVE, EVERY_S, list(Crisis), self._strike)

    def _strike(self, crisis: Crisis) -> None:
        act: Callable[[], bool] = getattr(self, f"_{crisis.name.lower()}")
        if act():
            self.world.coverage.fault(crisis.name)
            self.world.trace("crisis", crisis.name)

    def _until(self, least_s: float, most_s: float) -> float:
        return min(self.world.agenda.now_s + self.rng.uniform(least_s, most_s), self._end_s)

    def _reader(self) -> ConsumerProcess | None:
        """A process with partitions."""
        pods = self.world.platform.pods
        running = [
            each
            for each in self.world.processes
            if each.is_alive and not each.is_disowned and not each.is_foreign and each.number in pods and each.positions
        ]
        return self.rng.choice(running) if running else None

    def _no_controller(self) -> bool:
        process = self._reader()
        if process is None:
            return False
        self.world.controllers_away_until_s = self._until(30, 90)
        for controller in tuple(self.world.controllers):
            controller.die()
        self.world.agenda.after(self.rng.uniform(0, 5), process.die)
        return True

    def _controller_dies_in_takeover(self) -> bool:
        process = self._reader()
        if process is None:
            return False
        process.die()
        self._look_for_start(self._until(10, 20))
        return True

    def _look_for_start(self, until_s: float) -> None:
        controller = self.world.controller_in_charge()
        views = () if controller is None else tuple(controller.state.consumers.values())
        has_crashed = any(view.phase is Phase.CRASHED for view in views)
        if controller is not None and has_crashed and any(sent.starts for view in views for sent in view.sent):
            controller.die()
        elif self.world.agenda.now_s < until_s:
            self.world.agenda.after(LOOK_S, lambda: self._look_for_start(until_s))

    def _quick_restart(self) -> bool:
        process = self._reader()
        if process is None:
            return False
        self.world.platform.quick_until_s = self._until(2, 20)
        process.die()
        return True

    def _poison(self) -> bool:
        """The next record of a partition, for a while; afterwards it is harmless, as if its consumer had set it
        aside."""
        wanted = [each for each in self.world.consumed() if each not in self.world.poison]
        if not wanted:
            return False
        partition, data = self.rng.choice(wanted), self.world.data
        offset = data.end_offset(data.index[partition], self.world.agenda.now_s)
        self.world.poison[partition] = (offset, self._until(60, 240))
        return True


assert all(hasattr(Crises, f"_{crisis.name.lower()}") for crisis in Crisis)
