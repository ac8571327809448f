"""restow's packer: keeps partitions in place, moves the least it must, and weighs consumers against moves.

A look has three steps: build a stowage by several recipes (`search`), improve the cheapest by exact exchanges between a
few consumers (`exchange`), and take it only if it is better than the current one. docs/packing.md explains the idea and
its figures; docs/decisions/003-search.md what was tried.

Deterministic. If something had to move and everything fits afterwards, one look decides. Otherwise it looks again at
its own result until it would leave that unchanged, so that repeating a decision only ever saves consumers for less than
they are worth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from restow.model import Assignment
from restow.packing.exchange import exchange_moved, exchange_some, moved_partitions
from restow.packing.plan import PackingPlan
from restow.packing.problem import Problem
from restow.packing.search import close_surplus, drain, place_all
from restow.packing.ship import Excess, Ship, ships
from restow.packing.stowage import Ints, Stowage, copy_of

EAGERNESS: Final = 1.25
"""While something has to move anyway, a consumer counts this many times its worth: an opened one stays."""
TOLERANCE: Final = 1e-9
RELIEF: Final = 0.01
"""Consumers that stay crowded are restowed only if that lowers their excess by at least this share."""
PATIENCE: Final = 64
"""After this many consumers in a row that couldn't be emptied, the others, which hold more, are not tried. A large
group has as much for every thousand partitions."""
MOST_LOOKS: Final = 64
"""Far more than needed: each look but the last lowers the excess or the number of consumers."""
SAMPLED_CONSUMERS: Final = 16
"""A sample of fewer consumers in use tells too little: with so many partitions on each, the worth decides."""
UNCERTAINTY: Final = 3.0
"""A sample's result may be wrong by as much as these many consumers are worth."""
NOTHING: Final = -1.0
"""Below any speed: no partition is unpacked, not even one with speed 0."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to build a stowage."""

    unpacked: float
    """Partitions up to this share of a capacity are taken out and stowed again."""
    room_price: float
    """Cost of a unit of room left on a consumer, in moved speed. A higher price packs tighter."""


AS_IT_IS: Final = Recipe(unpacked=0.0, room_price=0.05)
TIGHT: Final = Recipe(unpacked=0.35, room_price=3.0)
AFRESH: Final = Recipe(unpacked=1.0, room_price=1.0)
RECIPES: Final = (AS_IT_IS, Recipe(0.0, 1.0), Recipe(0.1, 0.3), TIGHT, AFRESH, Recipe(1.0, 30.0))
"""All floats, like everything passed to compiled code: an int would compile it a second time."""
DISTINCT: Final = (AS_IT_IS, TIGHT, AFRESH)
"""One of each kind, for large groups: the others' results are next to these."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to search: more effort finds plans that move less, and takes longer."""

    rounds: int
    """Exchanges to try if something has to move."""
    rounds_when_feasible: int
    """Exchanges to try if nothing has to."""
    small_group: int
    """Up to this many partitions exchanges are random. In larger groups they begin with partitions that moved."""
    rounds_per_move: float
    """Exchanges to try in a larger group for each partition that moved, besides half the rounds."""
    rounds_if_sampled: float
    """The same where a sample has chosen the recipe, up to `many_rounds`."""
    many_rounds: int
    """A decision about 100,000 partitions would take too long with more."""
    whole: int
    """Up to this many partitions all recipes are tried; larger groups get the recipe that is cheapest for a sample."""
    sample: int
    """Partitions in the sample."""

    def is_large(self, ship: Ship) -> bool:
        return len(ship.current) > self.small_group

    def rounds_for(self, ship: Ship, moved: int) -> int:
        """Exchanges to try in a larger group in which so many partitions moved."""
        per_move = self.rounds_per_move * moved
        if len(ship.current) > self.whole:
            per_move = max(per_move, min(self.rounds_if_sampled * moved, self.many_rounds))
        return self.rounds // 2 + int(per_move)


NORMAL: Final = Effort(
    1000,
    rounds_when_feasible=200,
    small_group=1000,
    rounds_per_move=1.5,
    rounds_if_sampled=6.0,
    many_rounds=30_000,
    whole=2000,
    sample=1000,
)
AS_IF_LARGE: Final = replace(NORMAL, small_group=0, whole=0)
POLISHED: Final = Effort(
    10_000,
    rounds_when_feasible=2000,
    small_group=10_000,
    rounds_per_move=15.0,
    rounds_if_sampled=15.0,
    many_rounds=300_000,
    whole=20_000,
    sample=10_000,
)


def pack(problem: Problem, effort: Effort = NORMAL) -> PackingPlan:
    asked = problem
    for _ in range(MOST_LOOKS):
        following, is_settled = _look(asked, effort)
        if is_settled:
            break
        asked = replace(asked, current=following)
    return PackingPlan(problem, following)


def polish(problem: Problem) -> PackingPlan:
    return pack(problem, POLISHED)


def _look(problem: Problem, effort: Effort) -> tuple[Assignment, bool]:
    """The next assignment, and whether it is final."""
    for ship in ships(problem):
        at, is_settled = _decide(ship, effort)
        if ship.has_spare(at):
            break
    following = ship.assignment(at)
    # Once idle consumers are closed, another number would be opened next: that needs another look.
    return following, is_settled and (at is not ship.current or following.consumers == problem.current.consumers)


def _decide(ship: Ship, effort: Effort) -> tuple[Ints, bool]:
    excess = ship.excess(ship.current)
    if ship.must_change or excess.total > 0:
        repaired = _repaired(ship, effort)
        remaining = ship.excess(repaired)
        if ship.must_change or _relieves(excess, remaining):
            return repaired, remaining.total == 0
    tightened = _tightened(ship, effort)
    remaining = ship.excess(tightened)
    if _relieves(excess, remaining) or (remaining.total <= excess.total and _pays(ship, tightened)):
        return tightened, False
    return ship.current, True


def _relieves(excess: Excess, remaining: Excess) -> bool:
    """A group with too few consumers could be improved endlessly by tiny gains, at the price of many moves."""
    is_less = remaining.total < excess.total * (1 - TOLERANCE)
    return is_less and (remaining.crowded <= excess.crowded * (1 - RELIEF) or remaining.alone < excess.alone)


def _pays(ship: Ship, at: Ints) -> bool:
    gain = ship.objective(ship.current) - ship.objective(at)
    return gain > TOLERANCE * ship.problem.capacities.default


def _tightened(ship: Ship, effort: Effort) -> Ints:
    """Nothing has to move: looks for consumers that can be closed for less than they are worth."""
    stowage = ship.stowage(ship.problem.worth)
    _drain(ship, stowage, AS_IT_IS, effort)
    exchange_some(stowage, min(len(ship.current), effort.rounds_when_feasible))
    return _places(ship, stowage)


def _repaired(ship: Ship, effort: Effort) -> Ints:
    """Something has to move: the cheapest recipe's result, improved by exchanges."""
    recipes = RECIPES if len(ship.current) <= effort.whole else _sampled_recipes(ship, effort)
    stowage = _cheapest(ship, effort, recipes)[0].stowage
    if effort.is_large(ship):
        moved = moved_partitions(stowage)
        exchange_moved(stowage, moved, effort.rounds_for(ship, len(moved)))
    else:
        exchange_some(stowage, effort.rounds)
    return _places(ship, stowage)


class Built(NamedTuple):
    recipe: Recipe
    stowage: Stowage

    @property
    def cost(self) -> float:
        return float(self.stowage.cost[0])


def _cheapest(ship: Ship, effort: Effort, recipes: Sequence[Recipe]) -> list[Built]:
    """What the recipes build, the cheapest first; of equals the earlier one."""
    before = ship.stowage(EAGERNESS * ship.problem.worth)
    stowages = [copy_of(before) for _ in recipes[1:]] + [before]
    for recipe, stowage in zip(recipes, stowages, strict=True):
        _build(ship, stowage, recipe, effort)
    return sorted(map(Built, recipes, stowages), key=lambda built: built.cost)


def _sampled_recipes(ship: Ship, effort: Effort) -> tuple[Recipe, ...]:
    """The recipes to try for a large group: the cheapest for a sample of it, and each that may be as cheap, as far as
    the sample can tell."""
    sample = ship.sample(effort.sample, SAMPLED_CONSUMERS)
    if sample is None:
        return (AS_IT_IS if ship.problem.worth < 2 else TIGHT,)
    found = _cheapest(sample, effort, DISTINCT)
    most = found[0].cost + UNCERTAINTY * found[0].stowage.worth
    return tuple(built.recipe for built in found if built.cost <= most)


def _build(ship: Ship, stowage: Stowage, recipe: Recipe, effort: Effort) -> None:
    # An unpacked partition is placed by `fill_to`, even if its consumer is closed and `drain_to` should apply.
    may_unpack = ship.problem.margins.drain_to >= ship.problem.margins.fill_to
    place_all(stowage, recipe.unpacked * ship.problem.capacities.default if may_unpack else NOTHING, recipe.room_price)
    close_surplus(stowage, recipe.room_price)
    _drain(ship, stowage, recipe, effort)


def _drain(ship: Ship, stowage: Stowage, recipe: Recipe, effort: Effort) -> None:
    thousands = len(ship.current) / 1000
    drain(stowage, int(PATIENCE * max(1.0, thousands)), recipe.room_price, effort.is_large(ship))


def _places(ship: Ship, stowage: Stowage) -> Ints:
    return ship.with_idle_at_home(np.ascontiguousarray(stowage.partitions["at"], np.int64))
