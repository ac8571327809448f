"""What people ask of the group while it runs: pins and restarts, sensible ones and others.

They come beside the faults and from a generator of their own. All pins end before the quiet period begins.
"""

import random
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final

from restow.controller.transitions import Phase
from restow.model import ConsumerId, TopicPartition
from restow.protocol.messages.desired import ConsumerRestart, PartitionPin
from restow.simulator.monitor import time_text
from restow.simulator.scenario import Level

if TYPE_CHECKING:
    from restow.simulator.world import World

FIRST_S: Final = 60.0
EVERY_S: Final = {Level.SOME: 80.0, Level.MANY: 40.0}
BY: Final = "a person"


class Ask(StrEnum):
    PIN = "a partition is pinned to a consumer"
    PIN_ANYWHERE = "a partition is pinned to a number that may be no consumer's"
    PIN_AND_CRASH = "the consumer of a new pin crashes"
    SHORT_PIN = "a pin ends within seconds"
    LATE_PIN = "a pin is over when it is written"
    UNPIN = "a pin is taken back"
    RESTART = "a consumer's restart is asked for"
    RESTART_TWICE = "the same restart is asked for twice"
    RESTART_MISSING = "the restart of a missing consumer, or of an incarnation that never was, is asked for"
    RESTART_AND_CRASH = "a restart is asked for, and the controller crashes"


class People:
    def __init__(self, world: "World", rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self._end_s = world.scenario.duration_s - world.scenario.quiet_s
        self._pinned: set[TopicPartition] = set()

    def plan(self) -> None:
        """Every kind in turn, in a new order each time; and a restart at the end, which no fault does instead."""
        scenario = self.world.scenario
        if scenario.faults is Level.NONE:
            return
        count = int((self._end_s - FIRST_S) / EVERY_S[scenario.faults])
        asks: list[Ask] = []
        for time_s in sorted(self.rng.uniform(FIRST_S, self._end_s - 1) for _ in range(count)):
            if not asks:
                asks = list(Ask)
                self.rng.shuffle(asks)
            self.world.agenda.at(time_s, partial(self._do, asks.pop()))
        self.world.agenda.at(self._end_s - 1.0, partial(self._do, Ask.RESTART))

    def _do(self, ask: Ask) -> None:
        act: Callable[[], bool | None] = getattr(self, f"_{ask.name.lower()}")
        if self.world.kafka.is_up and act() is not False:
            self.world.coverage.ask(ask.name)
            self.world.trace("person", ask.name)

    # Pins.

    def _pin(self) -> bool:
        return self._pin_to(self._ready(), self.rng.uniform(20, 300)) is not None

    def _pin_anywhere(self) -> bool:
        return self._pin_to(ConsumerId(self.rng.randint(1, 9)), self.rng.uniform(20, 300)) is not None

    def _pin_and_crash(self) -> bool:
        consumer = self._pin_to(self._ready(), self.rng.uniform(60, 300))
        processes = [each for each in self.world.processes if each.number == consumer and each.is_alive]
        for process in processes:
            process.inject(process.die, self.rng.randint(0, 6))
        return bool(processes)

    def _short_pin(self) -> bool:
        return self._pin_to(self._ready(), self.rng.uniform(1, 10)) is not None

    def _late_pin(self) -> bool:
        return self._pin_to(self._ready(), -self.rng.uniform(1, 10)) is not None

    def _unpin(self) -> bool:
        if not self._pinned:
            return False
        partition = self.rng.choice(sorted(self._pinned))
        self._pinned.discard(partition)
        self.world.ask(PartitionPin(partition, None, by=BY))
        return True

    def _pin_to(self, consumer: ConsumerId | None, for_s: float) -> ConsumerId | None:
        """Returns the consumer; None if there is none to pin to."""
        partitions = sorted(self.world.consumed())
        if consumer is None or not partitions:
            return None
        partition, until_s = self.rng.choice(partitions), min(self.world.agenda.now_s + for_s, self._end_s)
        self._pinned.add(partition)
        self.world.ask(
            PartitionPin(partition, consumer, time_text(max(0.0, until_s)), BY, reason="to see what happens")
        )
        return consumer

    # Restarts.

    def _restart(self) -> bool:
        return self._restart_one() is not None

    def _restart_twice(self) -> bool:
        record = self._restart_one()
        if record is not None:
            again_s = self.world.agenda.now_s + self.rng.uniform(0, 60)
            self.world.agenda.at(min(again_s, self._end_s), lambda: self._ask_if_up(record))
        return record is not None

    def _restart_missing(self) -> None:
        consumer = self._ready()
        if consumer is None or self.rng.random() < 0.5:
            consumer = ConsumerId(self.rng.randint(20, 30))
        self.world.ask(ConsumerRestart(consumer, 10**9, BY))

    def _restart_and_crash(self) -> bool:
        controller, record = self.world.controller_in_charge(), self._restart_one()
        if controller is None or record is None:
            return False
        controller.inject(controller.die, self.rng.randint(0, 40))
        return True

    def _restart_one(self) -> ConsumerRestart | None:
        """Of a consumer as the picture shows it; None if none is ready."""
        consumer, controller = self._ready(), self.world.controller_in_charge()
        if consumer is None or controller is None:
            return None
        record = ConsumerRestart(consumer, controller.state.consumers[consumer].incarnation, BY)
        self.world.ask(record)
        return record

    def _ask_if_up(self, record: ConsumerRestart) -> None:
        if self.world.kafka.is_up:
            self.world.ask(record)

    def _ready(self) -> ConsumerId | None:
        controller = self.world.controller_in_charge()
        views = {} if controller is None else controller.state.consumers
        ready = [number for number, view in views.items() if view.phase is Phase.READY]
        return self.rng.choice(ready) if ready else None


assert all(hasattr(People, f"_{ask.name.lower()}") for ask in Ask)
