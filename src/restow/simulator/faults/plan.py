"""Draws from the seed what goes wrong and when. All faults end before the quiet period begins."""

import random
from functools import partial
from typing import TYPE_CHECKING, Final

from restow.simulator.faults.consumers import CONSUMERS
from restow.simulator.faults.context import Acts, Context
from restow.simulator.faults.controllers import CONTROLLERS
from restow.simulator.faults.kafka import KAFKA
from restow.simulator.faults.kinds import Fault
from restow.simulator.faults.monitor import MONITOR
from restow.simulator.faults.platform import PLATFORM
from restow.simulator.faults.settings import SETTINGS
from restow.simulator.faults.topics import TOPICS
from restow.simulator.scenario import Level

if TYPE_CHECKING:
    from restow.simulator.world import World

FIRST_S: Final = 45.0
EVERY_S: Final = {Level.SOME: 55.0, Level.MANY: 28.0}
ACTS: Final[Acts] = {**KAFKA, **CONTROLLERS, **MONITOR, **CONSUMERS, **PLATFORM, **TOPICS, **SETTINGS}
assert ACTS.keys() == set(Fault)


class Faults:
    def __init__(self, world: "World", rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self._context = Context(world, rng)

    def plan(self) -> None:
        """Schedules every kind in turn, in a new order each time, so that a run meets most of them."""
        scenario = self.world.scenario
        if scenario.faults is Level.NONE:
            return
        end_s = self._context.end_s
        count = int((end_s - FIRST_S) / EVERY_S[scenario.faults])
        times = sorted(self.rng.uniform(FIRST_S, end_s - 1) for _ in range(count))
        kinds: list[Fault] = []
        for time_s in times:
            if not kinds:
                kinds = list(Fault)
                self.rng.shuffle(kinds)
            self.world.agenda.at(time_s, partial(self._strike, kinds.pop()))

    def _strike(self, kind: Fault) -> None:
        """Injects this fault, or another one if there is no process it could hit."""
        others = list(Fault)
        self.rng.shuffle(others)
        for each in (kind, *others):
            if ACTS[each](self._context) is not False:
                self.world.coverage.fault(each.name)
                self.world.trace("fault", each.name)
                return
