"""A problem as arrays: answers `ours`'s questions about an assignment, and builds the stowage for compiled code.

A ship depends on its problem alone, so that repeating a decision sees exactly what the last look saw.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from restow.model import FIRST_CONSUMER, Assignment, ConsumerId, SortedMapping, TopicPartition
from restow.packing.moving import load_current
from restow.packing.problem import Problem
from restow.packing.stowage import BLOCK, CONSUMER, EJECTIONS, NOWHERE, PARTITION, SLACK, Floats, Ints, Stowage

CAUTION: Final = 0.25
"""Weight of risk for a consumer worth 1, and more for a lower worth: room is bought with consumers."""
IDLE: Final = 1e-4
"""A partition below this share of a capacity is idle: no consumer gains by its move."""
SEED: Final = 88172645463325252
UNASSIGNED: Final = ConsumerId(0)
SMALL: Final = 1000
"""Partitions of a group in which further consumers cost no time."""
LARGEST_TABLE: Final = 10_000_000
MIXER: Final = 2654435769
"""Odd, and 2^32 divided by the golden ratio: multiples of it are in no order that a group could have."""


class Excess(NamedTuple):
    """Load above the triggers that could be avoided."""

    crowded: float
    """On consumers with several partitions."""
    alone: float
    """On consumers with one partition that a larger consumer could carry."""

    @property
    def total(self) -> float:
        return self.crowded + self.alone


@dataclass(frozen=True)
class Ship:
    """The partitions of a problem, its consumers, and the numbers of consumers that could be opened."""

    problem: Problem
    speed: Floats
    number: Ints
    """The consumers' numbers, ascending."""
    exists: NDArray[np.bool_]
    capacity: Floats
    current: Ints
    """For each partition, the index of its consumer in `number`, or NOWHERE. A pinned partition is on its consumer even
    if it has yet to move there: no choice is left."""
    fixed: NDArray[np.bool_]
    """The pinned partitions."""
    restlessness: float

    @classmethod
    def of(cls, problem: Problem, spare: int) -> "Ship":
        """`spare` is how many consumers could be opened besides consumers that exist or have a capacity of their
        own."""
        speed = np.fromiter(problem.speeds.values(), np.float64, len(problem.speeds))
        existing = np.array(problem.current.consumers, np.int64)
        named = np.fromiter(problem.capacities.of_consumer, np.int64)  # may include a large consumer that isn't open
        known = np.union1d(existing, named) if len(named) else existing
        is_free = np.ones(FIRST_CONSUMER + len(known) + spare, np.bool_)
        is_free[:FIRST_CONSUMER] = is_free[known[known < len(is_free)]] = False
        number = np.sort(np.concatenate((known, np.flatnonzero(is_free)[:spare])))
        owner = np.fromiter(problem.current.values_of(problem.speeds, UNASSIGNED), np.int64, len(speed))
        fixed = np.zeros(len(speed), np.bool_)
        if problem.pins:
            for place, partition in enumerate(problem.speeds):
                if partition in problem.pins:
                    owner[place], fixed[place] = problem.pins[partition].consumer, True
        capacity = np.full(len(number), problem.capacities.default, np.float64)  # also if that is an int
        for consumer, value in problem.capacities.of_consumer.items():
            capacity[np.searchsorted(number, consumer)] = value
        return cls(
            problem=problem,
            speed=speed,
            number=number,
            exists=_places_of(existing, number) != NOWHERE,
            capacity=capacity,
            current=_places_of(number, owner),
            fixed=fixed,
            restlessness=_restlessness(problem, speed),
        )

    @cached_property
    def must_change(self) -> bool:
        """Whether a partition has no consumer, or more consumers are in use than allowed."""
        most, placed = self.most, self.current[self.current != NOWHERE]
        return len(placed) < len(self.current) or (most is not None and _distinct(placed) > most)

    @property
    def most(self) -> int | None:
        """The most consumers, or the number that must stay for pins if it is higher."""
        most = self.problem.most_consumers
        return None if most is None else max(most, _distinct(self.current[self.fixed]))

    def excess(self, at: Ints) -> Excess:
        crowded, alone = self._present_excess if at is self.current else self._excess_of_each(at)
        return Excess(float(crowded.sum()), float(alone.sum()))

    def objective(self, at: Ints) -> float:
        """tolls + worth × consumers, in bytes/s."""
        tolls = float(self._tolls()[(self.current != at) & (self.current != NOWHERE)].sum())
        consumers = max(_distinct(at), self.problem.least_consumers)
        return tolls + self.problem.worth * self.problem.capacities.default * consumers

    def with_idle_at_home(self, at: Ints) -> Ints:
        """The same places, with idle partitions back on their consumers: the search moves them for free, and a move
        costs a stop and a start. They leave a consumer that is closed, and a consumer that a partition too fast for it
        has to itself."""
        moved = np.flatnonzero((self.current != at) & (self.current != NOWHERE))
        idle = moved[self.speed[moved] <= IDLE * self.problem.capacities.default]
        if not len(idle):
            return at
        at, counts = at.copy(), np.bincount(at, minlength=len(self.number))
        loads, limit = np.bincount(at, self.speed, len(self.number)), self._hold * SLACK
        homes, speeds = self.current[idle].tolist(), self.speed[idle].tolist()
        for partition, home, speed in zip(idle.tolist(), homes, speeds, strict=True):
            fits = loads[home] + speed <= limit[home] or (speed == 0 and counts[home] > 1)
            if counts[home] > 0 and fits:
                loads[home] += speed
                loads[at[partition]] -= speed
                at[partition] = home
        return at

    def assignment(self, at: Ints) -> Assignment:
        used = set(self.number[np.flatnonzero(np.bincount(at))].tolist())
        missing = max(0, self.problem.least_consumers - len(used))
        spare = (*self.number[self.exists].tolist(), *self.number[~self.exists].tolist()) if missing else ()
        idle = [consumer for consumer in spare if consumer not in used]
        return Assignment(self._owners(at), idle[:missing])

    def _owners(self, at: Ints) -> SortedMapping[TopicPartition, ConsumerId]:
        """The present assignment with the partitions that moved, if it has exactly those with a speed: most stay, and
        a copy of a mapping costs a tenth of a new one."""
        speeds, current = self.problem.speeds, self.problem.current
        if self.problem.pins or len(current) != len(speeds) or (self.current == NOWHERE).any():
            return speeds.with_values(self.number[at].tolist())
        moved, partitions = np.flatnonzero(at != self.current), list(speeds)
        owners = self.number[at[moved]].tolist()
        return current.updated(dict(zip((partitions[place] for place in moved.tolist()), owners, strict=True)))

    def has_spare(self, at: Ints) -> bool:
        """Whether a consumer is left without partitions."""
        return _distinct(at) < len(self.number)

    def sample(self, partitions: int, least_consumers: int) -> "Ship | None":
        """A small ship of whole consumers, picked at random, with their partitions: about this many, and the same share
        of the partitions without a consumer and of the empty consumers. Returns None if it would have fewer consumers
        in use than `least_consumers`."""
        counts = np.bincount(self.current[self.current != NOWHERE], minlength=len(self.number))
        mixed = np.argsort(np.arange(1, len(counts) + 1) * MIXER % 2**32, kind="stable")
        used = mixed[counts[mixed] > 0]
        used = used[: np.searchsorted(np.cumsum(counts[used]), partitions, "right")]
        if len(used) < least_consumers:
            return None
        share = counts[used].sum() / counts.sum()
        empty = mixed[counts[mixed] == 0]
        chosen = np.sort(np.concatenate((used, empty[: int(share * len(empty)) + least_consumers])))
        place = np.full(len(counts) + 1, NOWHERE)  # the last entry serves NOWHERE
        place[chosen] = np.arange(len(chosen))
        homeless = np.flatnonzero(self.current == NOWHERE)[:: max(1, round(1 / share))]
        inside = np.sort(np.concatenate((np.flatnonzero(place[self.current] != NOWHERE), homeless)))
        return self._part(inside, chosen, place[self.current[inside]], share)

    def _part(self, partitions: Ints, consumers: Ints, current: Ints, share: float) -> "Ship":
        most, least = self.problem.most_consumers, int(share * self.problem.least_consumers)
        return replace(
            self,
            problem=replace(
                self.problem,
                least_consumers=least,
                most_consumers=None if most is None else max(1, least, math.ceil(share * most)),
            ),
            speed=self.speed[partitions],
            number=self.number[consumers],
            exists=self.exists[consumers],
            capacity=self.capacity[consumers],
            current=current,
            fixed=self.fixed[partitions],
        )

    def stowage(self, worth: float) -> Stowage:
        """The current assignment as a stowage."""
        unit, most = self.problem.capacities.default, self.most
        partitions, consumers = self._partitions(), self._consumers()
        buckets = max(BLOCK, min(8192, len(partitions)))
        stowage = Stowage(
            worth=float(worth * unit),
            caution=CAUTION / max(self.problem.worth, 0.5),
            restlessness=self.restlessness,
            largest=float(consumers["trigger"].max(initial=0.0)),
            least=self.problem.least_consumers,
            most=len(consumers) if most is None else most,
            buckets_per_speed=buckets / consumers["fill"].max(initial=unit),
            no_room=buckets,
            partitions=partitions,
            consumers=consumers,
            bucket_first=np.full(2 * buckets, NOWHERE, np.int64),
            block_count=np.zeros(2 * buckets // BLOCK + 1, np.int64),
            empties=np.empty(len(consumers), np.int64),
            journal=np.empty(2 * (len(partitions) + EJECTIONS), np.int64),
            counters=np.array((0, 0, 0, SEED)),
            cost=np.zeros(1),
        )
        load_current(stowage)
        return stowage

    def _excess_of_each(self, at: Ints) -> tuple[Floats, Floats]:
        """`Excess`, per consumer."""
        placed = at != NOWHERE
        loads = np.bincount(at[placed], self.speed[placed], len(self.number))
        counts = np.bincount(at[placed], minlength=len(self.number))
        trigger = self.capacity * self.problem.margins.trigger
        above = np.where(loads > trigger * SLACK, loads - trigger, 0.0)
        alone = (counts == 1) & (trigger < trigger.max(initial=0.0))
        if self.fixed.any():  # only what is not pinned could leave
            movable = np.bincount(at[placed], self.speed[placed] * ~self.fixed[placed], len(self.number))
            above = np.minimum(above, movable)
        return np.where(counts > 1, above, 0.0), np.where(alone, above, 0.0)

    def _tolls(self) -> Floats:
        """What each partition's move costs. On average it is its speed, so that a worth means the same."""
        share = self.problem.moves_by_number
        if not share or not len(self.speed):
            return self.speed
        return np.asarray((1 - share) * self.speed + share * self.speed.mean())

    @cached_property
    def _present_excess(self) -> tuple[Floats, Floats]:
        return self._excess_of_each(self.current)

    @cached_property
    def _hold(self) -> Floats:
        """Each consumer's limit for its own partitions: the trigger, or `evict_to` if it is above that."""
        crowded, alone = self._present_excess
        margins = self.problem.margins
        return self.capacity * np.where(crowded + alone > 0, margins.evict_to, margins.trigger)

    def _partitions(self) -> NDArray[np.void]:
        partitions = np.empty(len(self.speed), PARTITION)
        partitions["speed"], partitions["home"], partitions["fixed"] = self.speed, self.current, self.fixed
        partitions["toll"] = self._tolls()
        for name in ("at", "after", "before"):
            partitions[name] = NOWHERE
        return partitions

    def _consumers(self) -> NDArray[np.void]:
        margins = self.problem.margins
        consumers = np.zeros(len(self.number), CONSUMER)
        for name, values in (
            ("capacity", self.capacity),
            ("trigger", self.capacity * margins.trigger),
            ("hold", self._hold),
            ("fill", self.capacity * margins.fill_to),
            ("drain", self.capacity * margins.drain_to),
            ("fixed", np.bincount(self.current[self.fixed], minlength=len(consumers))),
            ("rank", np.arange(len(consumers)) + np.where(self.exists, 0, len(consumers))),
        ):
            consumers[name] = values
        for name in ("lightest", "second_lightest"):
            consumers[name] = np.inf
        for name in ("first", "bucket", "bucket_after", "bucket_before"):
            consumers[name] = NOWHERE
        return consumers


def ships(problem: Problem) -> Iterator[Ship]:
    """First with as many spare consumers as probably suffice, then with enough for any case.

    First fit never needs more than twice the total speed, existing consumers mostly suffice, and fewer are faster.
    """
    existing = len(problem.current.consumers)
    enough = len(problem.speeds) + problem.least_consumers
    share = 2 if len(problem.speeds) <= SMALL else 1.25  # a large group needs little more than its total speed
    needed = int(share * problem.speeds.total / (problem.capacities.default * problem.margins.fill_to))
    likely = max(needed - existing, problem.least_consumers - existing, 0) + existing // 8 + 16
    if likely < enough:
        yield Ship.of(problem, likely)
    yield Ship.of(problem, enough)


def _places_of(numbers: Ints, wanted: Ints) -> Ints:
    """The place of each wanted number among `numbers`, which ascend, or NOWHERE. A table is faster than
    a search, unless numbers are in the millions."""
    if not len(numbers):
        return np.full(len(wanted), NOWHERE)
    if numbers[-1] > LARGEST_TABLE:
        places = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
        return np.where(numbers[places] == wanted, places, NOWHERE)
    table = np.full(max(int(numbers[-1]), int(wanted.max(initial=0))) + 1, NOWHERE)
    table[numbers] = np.arange(len(numbers))
    return table[wanted]


def _distinct(places: Ints) -> int:
    """Number of different values, all of them 0 or more: `np.unique` takes ten times as long."""
    return int(np.count_nonzero(np.bincount(places)))


def _restlessness(problem: Problem, speed: Floats) -> float:
    """Standard deviation of the speeds' change since the previous decision; 0 if that is unknown."""
    if problem.previous is None:
        return 0.0
    before = np.fromiter(problem.previous.values_of(problem.speeds, math.nan), np.float64, len(speed))
    change = speed - before
    known = np.isfinite(change)
    return float(np.sqrt(np.mean(change[known] ** 2))) if known.any() else 0.0
