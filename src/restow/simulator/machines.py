"""The machines that consumers run on, where capacities are learned: they differ, drift, share cores, and some lie.

A run with a given capacity has none of this: there every consumer is a little faster than its capacity.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from restow.consumer.events import CycleEnded
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.simulator.data import RECORD_BYTES

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess
    from restow.simulator.ranges import PendingRange
    from restow.simulator.world import World

COLD_S: Final = 20.0
"""Seconds of work in which a new process is slow."""
COLD_TIMES: Final = 5.0
"""How many times slower it is then: Spark stored 5 MB/s in its first batch and 38 MB/s in its sixth."""
LONGEST_S: Final = 10.0
"""The longest cycle, without its fixed time."""
DIFFERENCE: Final = (0.7, 1.4)
"""The fastest machine is twice as fast as the slowest."""
DRIFT: Final = (0.75, 1.25)
"""From time to time a machine gets this many times as fast as it was made."""
DRIFT_EVERY_S: Final = 600.0
LIES: Final = (0.05, 20.0)
"""A lying consumer reports this many times its seconds of work."""
HEAVY: Final = 2.5
"""What a byte of the first topic costs, if topics differ, relative to one of the others."""


@dataclass(frozen=True, slots=True)
class MachineTraits:
    """Which difficulties a run has."""

    base: float
    """The speed of the mean machine, in bytes/s."""
    drift: bool = True
    heavy: bool = True
    """Whether the first topic has a heavy transform."""
    shared_cores: float | None = None
    """All consumers together are no faster than this many mean machines; None: each has cores of its own."""
    lies: bool = False

    @property
    def slowest(self) -> float:
        """What the slowest machine carries of the topic with the highest cost, relative to the mean machine."""
        return DIFFERENCE[0] * (DRIFT[0] if self.drift else 1.0) / (HEAVY if self.heavy else 1.0)


class Machines:
    def __init__(self, world: "World", traits: MachineTraits, rng: random.Random) -> None:
        self._world, self.traits, self._rng = world, traits, rng
        self._speeds: dict[ConsumerId, float] = {}
        self._drifted: dict[ConsumerId, float] = {}
        self._lying: dict[ConsumerId, float] = {}
        self.misjudged: set[ConsumerId] = set()
        """Consumers that have lied at some time, or hung in a cycle, which looks like a long one."""
        topics = sorted(world.services)
        self.costs = {topic: HEAVY if traits.heavy and topic == topics[0] else 1.0 for topic in topics}

    def plan(self) -> None:
        """Schedules drifts and lies; they end before the quiet period begins."""
        agenda, end_s = self._world.agenda, self._world.scenario.duration_s - self._world.scenario.quiet_s
        at_s = self._rng.uniform(0.2, 0.6) * DRIFT_EVERY_S
        while at_s < end_s:
            if self.traits.drift:
                agenda.at(at_s, self._drift)
            if self.traits.lies:
                agenda.at(at_s + 60.0, self._lie)
                agenda.at(min(at_s + 150.0, end_s), self._lying.clear)
            at_s += self._rng.uniform(0.6, 1.4) * DRIFT_EVERY_S

    def speed_of(self, number: ConsumerId) -> float:
        """What its machine does alone, when it is warm, in bytes/s of cost 1."""
        if number not in self._speeds:
            self._speeds[number] = self.traits.base * self._rng.uniform(*DIFFERENCE)
        return self._speeds[number] * self._drifted.get(number, 1.0)

    def seconds(self, process: "ConsumerProcess", ranges: Iterable["PendingRange"]) -> float:
        """How long a cycle over these ranges takes, without its fixed time."""
        work = sum(self.costs[each.partition.topic] * (each.following - each.first) for each in ranges) * RECORD_BYTES
        times = COLD_TIMES if process.cycles.busy_s < COLD_S else 1.0
        return times * work * self._crowding() / self.speed_of(process.number)

    def most_bytes(self, process: "ConsumerProcess", held: Iterable[TopicPartition]) -> int:
        """How much a cycle stores in `LONGEST_S`. A real consumer learns its pace too."""
        cost = max((self.costs[partition.topic] for partition in held), default=1.0)
        times = COLD_TIMES if process.cycles.busy_s < COLD_S else 1.0
        return int(LONGEST_S * self.speed_of(process.number) / self._crowding() / times / cost)

    def truth(self, number: ConsumerId, shares: SortedMapping[str, float]) -> float:
        """What the consumer carries in bytes/s with this mix of topics."""
        cost = sum(self.costs[topic] * share for topic, share in shares.items()) or 1.0
        return self.speed_of(number) / cost / self._crowding()

    def reported(self, process: "ConsumerProcess", ended: CycleEnded) -> float:
        """The seconds of work that it reports."""
        return ended.busy_s * self._lying.get(process.number, 1.0)

    def _crowding(self) -> float:
        cores = self.traits.shared_cores
        if cores is None:
            return 1.0
        running = sum(process.is_alive and bool(process.positions) for process in self._world.processes)
        return max(1.0, running / cores)

    def _drift(self) -> None:
        numbers = sorted(self._speeds)
        if numbers:
            self._drifted[self._rng.choice(numbers)] = self._rng.uniform(*DRIFT)
            self._world.coverage.fault("MACHINE_DRIFTS")

    def _lie(self) -> None:
        numbers = sorted(self._speeds)
        if numbers:
            liar = self._rng.choice(numbers)
            self._lying[liar] = self._rng.choice(LIES)
            self.misjudged.add(liar)
            self._world.coverage.fault("CONSUMER_LIES")
