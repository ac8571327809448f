"""restow's own packer: stays where it can, gives up the least, and knows what a consumer is worth.

A decision in three steps: build a stowage by several recipes (`search`), improve the cheapest by exact exchanges
between a few consumers (`exchange`), and take it only if it is better than what is. docs/packing.md tells the idea and
its figures; docs/decisions/003-search.md what was tried.

The same assignment in, the same out: a plan that is asked about again is left as it is, because a feasible assignment
is only changed for one that has fewer consumers at a price below their worth.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from restow.model import FIRST_CONSUMER, Assignment, ConsumerId
from restow.packing.exchange import exchange_some
from restow.packing.moving import load_current
from restow.packing.plan import Plan
from restow.packing.problem import Problem
from restow.packing.search import close_surplus, drain, place_all
from restow.packing.stowage import (
    BLOCK,
    CONSUMER,
    EJECTIONS,
    NOWHERE,
    PARTITION,
    SLACK,
    Floats,
    Ints,
    Stowage,
)

EAGERNESS: Final = 1.25
"""While something has to move anyway, a consumer counts for so much more: one that is opened outlives the decision."""
CAUTION: Final = 0.25
"""Risk counts this much where a consumer is worth 1, more where it is worth less: room is bought with consumers."""
SEED: Final = 88172645463325252
TOLERANCE: Final = 1e-9
UNASSIGNED: Final = ConsumerId(0)
PATIENCE: Final = 64
"""So many consumers in a row that could not be emptied, and the others, which hold more, are not tried."""
MOST_PASSES: Final = 16
NOTHING: Final = -1.0
"""No partition is slower: none is unpacked, not even those that stand still."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to build a stowage."""

    unpacked: float
    """Partitions up to this share of a capacity are all taken out and stowed anew."""
    room_price: float
    """What a unit of room left on a consumer costs, in moved speed: the dearer, the tighter the packing."""


AS_IT_IS: Final = Recipe(unpacked=0.0, room_price=0.05)
TIGHT: Final = Recipe(unpacked=0.35, room_price=3.0)
RECIPES: Final = (AS_IT_IS, Recipe(0.0, 1.0), Recipe(0.1, 0.3), TIGHT, Recipe(1.0, 1.0), Recipe(1.0, 30.0))
"""Floats throughout, as everything that goes to compiled code: an int there would have it compiled a second time."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to look. More finds plans that move less; the time grows with it."""

    rounds: int
    """Exchanges that are tried where something has to move."""
    rounds_when_feasible: int
    """And where nothing has to."""
    small_group: int
    """Up to this many partitions all recipes are tried; larger groups have the one that suits the worth."""
    rounds_per_partition: float
    """What a larger group has on top of half the rounds, since time is dearer there."""

    def recipes(self, partitions: int, worth: float) -> tuple[Recipe, ...]:
        if partitions <= self.small_group:
            return RECIPES
        return (AS_IT_IS if worth < 2 else TIGHT,)

    def rounds_for(self, partitions: int) -> int:
        if partitions <= self.small_group:
            return self.rounds
        return self.rounds // 2 + int(self.rounds_per_partition * partitions)


NORMAL: Final = Effort(rounds=1000, rounds_when_feasible=200, small_group=1000, rounds_per_partition=0.02)
POLISHED: Final = Effort(rounds=10_000, rounds_when_feasible=2000, small_group=10_000, rounds_per_partition=0.2)


@dataclass(frozen=True, slots=True)
class Ship:
    """The problem as arrays: its partitions, and its consumers with numbers to open more."""

    problem: Problem
    speed: Floats
    number: Ints
    """Of each consumer: its number, ascending."""
    exists: NDArray[np.bool_]
    capacity: Floats
    current: Ints
    """Of each partition: the place of its consumer among `number`, or NOWHERE."""
    restlessness: float

    @classmethod
    def of(cls, problem: Problem, spare: int) -> "Ship":
        speed = np.fromiter(problem.speeds.values(), np.float64, len(problem.speeds))
        existing = np.array(problem.current.consumers, np.int64)
        numbers = np.arange(FIRST_CONSUMER, FIRST_CONSUMER + len(existing) + spare)
        named = np.fromiter(problem.capacities.of_consumer, np.int64)  # one that isn't there may be the only large one
        number = np.unique(
            np.concatenate((existing, named, np.setdiff1d(numbers, existing, assume_unique=True)[:spare]))
        )
        owner = np.fromiter(problem.current.values_of(problem.speeds, UNASSIGNED), np.int64, len(speed))
        capacity = np.full(len(number), problem.capacities.default, np.float64)  # also if that is an int
        for consumer, value in problem.capacities.of_consumer.items():
            place = np.searchsorted(number, consumer)
            if place < len(number) and number[place] == consumer:
                capacity[place] = value
        return cls(
            problem=problem,
            speed=speed,
            number=number,
            exists=np.isin(number, existing, assume_unique=True),
            capacity=capacity,
            current=np.where(owner == UNASSIGNED, NOWHERE, np.searchsorted(number, owner)),
            restlessness=_restlessness(problem, speed),
        )

    def excess(self, at: Ints) -> Floats:
        """Of each consumer: its load above the trigger, where something could be done about it."""
        placed = at != NOWHERE
        loads = np.bincount(at[placed], self.speed[placed], len(self.number))
        trigger = self.capacity * self.problem.margins.trigger
        relievable = (np.bincount(at[placed], minlength=len(self.number)) > 1) | (trigger < trigger.max(initial=0.0))
        return np.where(relievable & (loads > trigger * SLACK), loads - trigger, 0.0)

    def has_too_many(self, at: Ints) -> bool:
        """More consumers in use than allowed: the bound was lowered."""
        most = self.problem.most_consumers
        return most is not None and len(np.unique(at[at != NOWHERE])) > most

    def stowage(self, home: Ints, worth: float) -> Stowage:
        """Everything at home."""
        margins, unit = self.problem.margins, self.problem.capacities.default
        partitions = np.empty(len(self.speed), PARTITION)
        for name, value in (("speed", self.speed), ("home", home)):
            partitions[name] = value
        for name in ("at", "after", "before"):
            partitions[name] = NOWHERE
        consumers = np.zeros(len(self.number), CONSUMER)
        trigger = self.capacity * margins.trigger
        hold = np.where(self.excess(home) > 0, self.capacity * margins.evict_to, trigger)
        limits = (("fill", margins.fill_to), ("drain", margins.drain_to))
        for name, values in (("capacity", self.capacity), ("trigger", trigger), ("hold", hold)):
            consumers[name] = values
        for name, share in limits:
            consumers[name] = self.capacity * share
        for name in ("lightest", "second_lightest"):
            consumers[name] = np.inf
        for name in ("first", "bucket", "bucket_after", "bucket_before"):
            consumers[name] = NOWHERE
        consumers["rank"] = np.arange(len(consumers)) + np.where(self.exists, 0, len(consumers))
        buckets = max(BLOCK, min(8192, len(partitions)))
        most = self.problem.most_consumers
        stowage = Stowage(
            worth=float(worth * unit),
            caution=CAUTION / max(self.problem.worth, 0.5),
            restlessness=self.restlessness,
            largest=float(trigger.max(initial=0.0)),
            least=self.problem.least_consumers,
            most=len(consumers) if most is None else most,
            buckets_per_speed=buckets / consumers["fill"].max(initial=unit),
            partitions=partitions,
            consumers=consumers,
            bucket_first=np.full(buckets, NOWHERE, np.int64),
            block_count=np.zeros(buckets // BLOCK + 1, np.int64),
            empties=np.empty(len(consumers), np.int64),
            journal=np.empty(2 * (len(partitions) + EJECTIONS), np.int64),
            counters=np.array((0, 0, 0, SEED)),
            cost=np.zeros(1),
        )
        load_current(stowage)
        return stowage

    def objective(self, home: Ints, at: Ints) -> float:
        """moved + worth × consumers, in bytes/s."""
        moved = float(self.speed[(home != at) & (home != NOWHERE)].sum())
        consumers = max(len(np.unique(at)), self.problem.least_consumers)
        return moved + self.problem.worth * self.problem.capacities.default * consumers

    def assignment(self, at: Ints) -> Assignment:
        owners = self.number[at].tolist()
        used = set(owners)
        missing = max(0, self.problem.least_consumers - len(used))
        spare = (*self.number[self.exists].tolist(), *self.number[~self.exists].tolist()) if missing else ()
        idle = [consumer for consumer in spare if consumer not in used]
        return Assignment(dict(zip(self.problem.speeds, owners, strict=True)), idle[:missing])


def pack(problem: Problem, effort: Effort = NORMAL) -> Plan:
    existing = len(problem.current.consumers)
    enough = len(problem.speeds) + problem.least_consumers
    # First fit never needs more than twice the total; what is there already mostly serves, and few numbers are faster.
    likely = int(2 * problem.speeds.total / (problem.capacities.default * problem.margins.fill_to))
    likely = max(likely - existing, problem.least_consumers - existing, 0) + existing // 8 + 16
    for spare in (min(likely, enough), enough):
        ship = Ship.of(problem, spare)
        at = _decide(ship, effort)
        if len(np.unique(at)) < len(ship.number):
            break
    return Plan(problem, ship.assignment(at))


def polish(problem: Problem) -> Plan:
    return pack(problem, POLISHED)


def _decide(ship: Ship, effort: Effort) -> Ints:
    at = ship.current
    for _ in range(MOST_PASSES):
        excess = ship.excess(at).sum()
        must_place, must_close = (at == NOWHERE).any(), ship.has_too_many(at)
        if excess == 0 and not must_place and not must_close:
            following = _tightened(ship, at, effort)
            if ship.objective(at, following) >= ship.objective(at, at) - TOLERANCE * ship.problem.capacities.default:
                return at
            at = following
            continue
        following = _repaired(ship, at, effort)
        remaining = ship.excess(following).sum()
        if remaining == 0:
            return following
        if not must_place and not must_close and remaining >= excess * (1 - TOLERANCE):
            return at
        at = following
    return at


def _tightened(ship: Ship, home: Ints, effort: Effort) -> Ints:
    """Nothing has to move: look for consumers that can be closed for less than they are worth."""
    stowage = ship.stowage(home, ship.problem.worth)
    drain(stowage, PATIENCE, AS_IT_IS.room_price)
    exchange_some(stowage, min(len(home), effort.rounds_when_feasible))
    return _places(stowage)


def _repaired(ship: Ship, home: Ints, effort: Effort) -> Ints:
    """Something has to move: the cheapest of what the recipes give, improved."""
    unit, worth = ship.problem.capacities.default, ship.problem.worth
    # What is unpacked forgets that it may leave a consumer to be closed, for which there can be less room.
    may_unpack = ship.problem.margins.drain_to >= ship.problem.margins.fill_to
    best: Stowage | None = None
    for recipe in effort.recipes(len(home), worth):
        stowage = ship.stowage(home, EAGERNESS * worth)
        place_all(stowage, recipe.unpacked * unit if may_unpack else NOTHING, recipe.room_price)
        close_surplus(stowage, recipe.room_price)
        drain(stowage, PATIENCE, recipe.room_price)
        if best is None or stowage.cost[0] < best.cost[0]:
            best = stowage
    assert best is not None
    exchange_some(best, effort.rounds_for(len(home)))
    return _places(best)


def _places(stowage: Stowage) -> Ints:
    return np.ascontiguousarray(stowage.partitions["at"], np.int64)


def _restlessness(problem: Problem, speed: Floats) -> float:
    """The standard deviation of the change since the decision before; 0 where that is unknown."""
    if problem.previous is None:
        return 0.0
    before = np.fromiter(problem.previous.values_of(problem.speeds, math.nan), np.float64, len(speed))
    change = speed - before
    known = np.isfinite(change)
    return float(np.sqrt(np.mean(change[known] ** 2))) if known.any() else 0.0
