"""What people do in a run: pauses, recommend only, other limits; and a wall clock that jumps.

It has a random generator of its own, and does nothing in half of the runs, so that the times of all other faults don't
depend on it. In some runs the last pause, or recommend only, lasts to the end: the group must recover all the same.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final

from restow.protocol.messages.desired import GroupPause, RecommendOnly
from restow.protocol.messages.service import ServiceUpdate
from restow.simulator.drawing import schedule_some
from restow.simulator.monitor import time_text
from restow.simulator.scenario import Level

if TYPE_CHECKING:
    from restow.simulator.world import World

ACTIVE: Final = 0.5
"""The share of runs in which people do something."""
EVERY_S: Final = {Level.SOME: 150.0, Level.MANY: 100.0}
TO_THE_END: Final = 0.25
"""How often the last pause, or recommend only, is not ended."""
LONGEST_S: Final = 150.0
HOUR_S: Final = 3600.0


class Order(StrEnum):
    PAUSE_EXPIRES = "the group is paused until a time"
    PAUSE_RESUMED = "the group is paused, and resumed"
    PAUSE_IN_A_MOVE = "the group is paused in the middle of a move"
    RECOMMEND = "decisions are only recommended for a while"
    LIMITS = "the least or most consumers are changed for a while"
    CLOCK_JUMPS = "the controllers' wall clock jumps"
    HELD_TO_THE_END = "the group is paused, or only recommends, to the end of the run"


class Orders:
    def __init__(self, world: "World", rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self._end_s = world.scenario.duration_s - world.scenario.quiet_s
        self._expires_s = 0.0
        """When the last pause until a time ends, by the right clock."""

    def plan(self) -> None:
        often = [order for order in Order if order is not Order.HELD_TO_THE_END]
        is_active = schedule_some(self.world, self.rng, ACTIVE, EVERY_S, often, self._give)
        if is_active and self.rng.random() < TO_THE_END:
            self.world.agenda.at(self._end_s - 0.5, partial(self._give, Order.HELD_TO_THE_END))

    def _give(self, order: Order) -> None:
        act: Callable[[], None] = getattr(self, f"_{order.name.lower()}")
        act()
        self.world.coverage.fault(order.name)
        self.world.trace("order", order.name)

    def _until_s(self) -> float:
        return min(self.world.agenda.now_s + self.rng.uniform(10, LONGEST_S), self._end_s - 1)

    def _pause_expires(self) -> None:
        for_s = self._until_s() - self.world.agenda.now_s
        self._expires_s = self.world.agenda.now_s + self.world.clock_off_s + for_s
        self._write(GroupPause(True, self._moment(for_s)))

    def _moment(self, in_s: float) -> str:
        """The wall clock then, if it does not jump."""
        return time_text(self.world.agenda.now_s + self.world.clock_off_s + in_s)

    def _pause_resumed(self) -> None:
        self._write(GroupPause(True, by="anna@host-a", reason="maintenance"))
        self.world.agenda.at(self._until_s(), lambda: self._write(GroupPause(False)))

    def _pause_in_a_move(self) -> None:
        self._when_managing(self._pause_resumed, self._until_s())

    def _when_managing(self, act: Callable[[], None], until_s: float) -> None:
        controller = self.world.controller_in_charge()
        now_s = self.world.agenda.now_s
        if now_s >= until_s or (controller is not None and controller.state.target is not None):
            act()
        else:
            self.world.agenda.at(min(now_s + 0.5, until_s), lambda: self._when_managing(act, until_s))

    def _recommend(self) -> None:
        self._write(RecommendOnly(True))
        self.world.agenda.at(self._until_s(), lambda: self._write(RecommendOnly(False)))

    def _limits(self) -> None:
        """Changes the limits for a while, and leaves the other settings of consumers alone. No limit stays: too few
        consumers would not catch up."""
        pods = len(self.world.platform.pods)
        if self.rng.random() < 0.5:
            self._limit(least_consumers=pods + 1)
        else:
            self._limit(least_consumers=0, most_consumers=max(1, pods))
        self.world.agenda.at(self._until_s(), self._limit)

    def _limit(self, least_consumers: int | None = None, most_consumers: int | None = None) -> None:
        """Retries until the brokers are up, with the settings of that moment: an image that was mended meanwhile
        stays."""
        if not self.world.kafka.is_up:
            self.world.agenda.at(self.world.kafka.down_until_s, partial(self._limit, least_consumers, most_consumers))
            return
        settings = replace(self.world.said, least_consumers=least_consumers, most_consumers=most_consumers)
        self.world.update(ServiceUpdate("consumers", consumers=settings))

    def _clock_jumps(self) -> None:
        """Back, so that pauses end late, or ahead, so that they end early; and right again before the end."""
        self.world.clock_off_s = self.rng.uniform(-2 * HOUR_S, 2 * HOUR_S)
        self.world.agenda.at(self._until_s(), self._set_clock)

    def _set_clock(self) -> None:
        """A pause that was set by a clock ahead of time lasts longer now. If it would last into the quiet period,
        people end it."""
        self.world.clock_off_s = 0.0
        if self._expires_s > self._end_s:
            self._expires_s = 0.0
            self._write(GroupPause(False))

    def _held_to_the_end(self) -> None:
        self._write(self.rng.choice((GroupPause(True), RecommendOnly(True), GroupPause(True, self._moment(HOUR_S)))))

    def _write(self, record: GroupPause | RecommendOnly) -> None:
        """Retries until the brokers are up."""
        if not self.world.kafka.is_up:
            self.world.agenda.at(self.world.kafka.down_until_s, lambda: self._write(record))
        else:
            self.world.ask(record)


assert all(hasattr(Orders, f"_{order.name.lower()}") for order in Order)
