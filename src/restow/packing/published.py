"""The twelve published packers, in one table: the baseline of the studies and of the benchmark.

    nf ff wf bf           next, first, worst and best fit, in the order of the partitions
    nfd ffd wfd bfd       the same, fastest partition first
    mwf mbf               modified worst and best fit: consumer after consumer, highest total speed first
    mwfp mbfp             the same, the consumer with the fastest partition first

All fill a consumer up to `fill_to` of its own capacity; a faster partition gets a consumer for itself. They ignore the
worth of a consumer, the other margins, the least and most consumers, and earlier speeds. Ties go to the lower partition
and the lower consumer.
"""

from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter

from restow.model import FIRST_CONSUMER, Assignment, ConsumerId, TopicPartition
from restow.packing.open_consumers import BestFit, FirstFit, NextFit, OpenConsumers, WorstFit
from restow.packing.plan import Packer, PackingPlan
from restow.packing.problem import Problem

ROUNDING = 1e-9
"""How far a load may exceed its limit, in default limits, so that 0.1 + 0.2 fits into 0.3."""

Load = tuple[TopicPartition, float]
"""A partition and its speed."""

speed_of: Callable[[Load], float] = itemgetter(1)


class Packing:
    """An assignment under construction: open consumers, and the owner of each partition so far."""

    def __init__(self, problem: Problem, consumers: OpenConsumers) -> None:
        self.problem = problem
        self.consumers = consumers
        fill_to = problem.margins.fill_to
        self.default_limit = problem.capacities.default * fill_to
        self.own_limits = {
            consumer: capacity * fill_to for consumer, capacity in problem.capacities.of_consumer.items()
        }
        self.forgiven = self.default_limit * ROUNDING
        self.opened: set[ConsumerId] = set()
        self.lowest_free = FIRST_CONSUMER
        self.owners: dict[TopicPartition, ConsumerId] = {}

    def limit(self, consumer: ConsumerId) -> float:
        return self.own_limits.get(consumer, self.default_limit)

    def fits(self, speed: float, room: float) -> bool:
        return speed - self.forgiven <= room

    def place(self, load: Load) -> bool:
        """Places the partition on an open consumer. Returns False if none has room."""
        partition, speed = load
        consumer = self.consumers.place(speed, speed - self.forgiven)
        if consumer is None:
            return False
        self.owners[partition] = consumer
        return True

    def place_or_open(self, load: Load) -> None:
        if not self.place(load):
            self.open(self.consumer_to_open(load), [load])

    def open(self, consumer: ConsumerId, loads: list[Load]) -> list[Load]:
        """Opens a consumer with the first load, whatever its speed, and the next ones up to the first that doesn't fit.

        Returns the loads that are left.
        """
        taken, room = 0, self.limit(consumer)
        for partition, speed in loads:
            if taken and not self.fits(speed, room):
                break
            self.owners[partition] = consumer
            room -= speed
            taken += 1
        self.opened.add(consumer)
        self.consumers.open(consumer, room)
        return loads[taken:]

    def consumer_to_open(self, load: Load) -> ConsumerId:
        """The partition's current consumer, if it isn't open yet; otherwise the lowest free number.

        If capacities differ, a consumer too small for the partition is skipped in favour of a larger one.
        """
        partition, speed = load
        candidates = self._free_consumers(self.problem.current.get(partition))
        first = next(candidates)
        if self.fits(speed, self.limit(first)):
            return first
        return next((other for other in candidates if self.fits(speed, self.limit(other))), first)

    def _free_consumers(self, home: ConsumerId | None) -> Iterator[ConsumerId]:
        """Ends with the first consumer of default capacity: the following ones differ only in their number."""
        if home is not None and home not in self.opened:
            yield home
        while self.lowest_free in self.opened:
            self.lowest_free = ConsumerId(self.lowest_free + 1)
        consumer = self.lowest_free
        while consumer in self.own_limits or consumer in self.opened:
            if consumer not in self.opened:
                yield consumer
            consumer = ConsumerId(consumer + 1)
        yield consumer

    def plan(self) -> PackingPlan:
        return PackingPlan(self.problem, Assignment(self.owners))


def in_order(loads: Iterable[Load]) -> list[Load]:
    return sorted(loads)


def fastest_first(loads: Iterable[Load]) -> list[Load]:
    return sorted(sorted(loads), key=speed_of, reverse=True)  # stable: ties keep their order


def total_speed(loads: list[Load]) -> float:
    return sum(speed for _, speed in loads)


def fastest_speed(loads: list[Load]) -> float:
    return max(speed for _, speed in loads)


def any_fit(rule: Callable[[], OpenConsumers], arranged: Callable[[Iterable[Load]], list[Load]]) -> Packer:
    """The classic packers: each partition in turn goes to an open consumer with room, or opens one."""

    def pack(problem: Problem) -> PackingPlan:
        packing = Packing(problem, rule())
        for load in arranged(problem.speeds.items()):
            packing.place_or_open(load)
        return packing.plan()

    return pack


def modified_any_fit(rule: Callable[[], OpenConsumers], rank: Callable[[list[Load]], float]) -> Packer:
    """Each consumer in turn, highest rank first, is emptied into open ones or opened; leftovers are placed last."""

    def pack(problem: Problem) -> PackingPlan:
        packing = Packing(problem, rule())
        held, waiting = _held_and_unassigned(problem)
        for consumer in sorted(held, key=lambda consumer: (-rank(held[consumer]), consumer)):
            waiting += _empty_or_open(packing, consumer, held[consumer])
        for load in fastest_first(waiting):
            packing.place_or_open(load)
        return packing.plan()

    return pack


def _held_and_unassigned(problem: Problem) -> tuple[dict[ConsumerId, list[Load]], list[Load]]:
    held: dict[ConsumerId, list[Load]] = {}
    unassigned: list[Load] = []
    for load in problem.speeds.items():
        consumer = problem.current.get(load[0])
        if consumer is None:
            unassigned.append(load)
        else:
            held.setdefault(consumer, []).append(load)
    return held, unassigned


def _empty_or_open(packing: Packing, consumer: ConsumerId, loads: list[Load]) -> list[Load]:
    """Moves the consumer's loads into open consumers, slowest first, until one doesn't fit; then opens the consumer
    with the rest, fastest first.

    Returns the loads that don't fit there either, and those too fast for this consumer but not for others.
    """
    remaining = fastest_first(loads)
    while remaining and packing.place(remaining[-1]):
        remaining.pop()
    too_fast = 0
    while too_fast < len(remaining) and packing.consumer_to_open(remaining[too_fast]) != consumer:
        too_fast += 1
    staying = remaining[too_fast:]
    return remaining[:too_fast] + (packing.open(consumer, staying) if staying else [])


PUBLISHED: dict[str, Packer] = {
    "nf": any_fit(NextFit, in_order),
    "ff": any_fit(FirstFit, in_order),
    "wf": any_fit(WorstFit, in_order),
    "bf": any_fit(BestFit, in_order),
    "nfd": any_fit(NextFit, fastest_first),
    "ffd": any_fit(FirstFit, fastest_first),
    "wfd": any_fit(WorstFit, fastest_first),
    "bfd": any_fit(BestFit, fastest_first),
    "mwf": modified_any_fit(WorstFit, total_speed),
    "mbf": modified_any_fit(BestFit, total_speed),
    "mwfp": modified_any_fit(WorstFit, fastest_speed),
    "mbfp": modified_any_fit(BestFit, fastest_speed),
}
