"""Large groups: a sample of the group chooses the recipe, and exchanges begin with partitions that moved."""

from dataclasses import replace

import numpy as np
import pytest

from restow.model import Assignment, Capacities, ConsumerId, Speeds, TopicPartition
from restow.packing import Problem
from restow.packing.ours import NORMAL, pack
from restow.packing.plan import PackingPlan
from restow.packing.ship import Ship, ships
from restow.packing.stowage import NOWHERE
from restow.study.workload import Walk

PARTITIONS = 2_500
"""Above `NORMAL.whole`: all recipes would be tried below it."""
SMALL_SEARCH = replace(NORMAL, small_group=PARTITIONS, whole=PARTITIONS, rounds=PARTITIONS)
"""The search for small groups without its limits."""


@pytest.fixture(scope="module")
def trace() -> tuple[Speeds, ...]:
    return Walk(d=15, seed=1, steps=2, partitions=PARTITIONS).speeds()


def problem(trace: tuple[Speeds, ...], worth: float) -> Problem:
    """The decision after one step, from a placement of the speeds before it."""
    first = pack(Problem(trace[0], Assignment(), Capacities(100.0), worth=worth))
    return Problem(trace[1], first.assignment, Capacities(100.0), worth=worth, previous=trace[0])


def cost(plan: PackingPlan) -> float:
    """moved + worth × consumers, in capacities."""
    return plan.r_score + plan.problem.worth * len(plan.assignment.consumers)


@pytest.mark.parametrize("worth", [0.5, 1.0, 3.0, 10.0])
def test_a_large_group_costs_hardly_more_than_the_search_for_small_groups_would_find(
    trace: tuple[Speeds, ...], worth: float
) -> None:
    asked = problem(trace, worth)
    found, thorough = pack(asked), pack(asked, SMALL_SEARCH)
    assert found.over_limit == ()
    assert cost(found) <= 1.01 * cost(thorough)
    assert found.assignment == pack(asked).assignment


def test_a_high_worth_packs_a_large_group_tighter_than_a_low_one(trace: tuple[Speeds, ...]) -> None:
    asked = problem(trace, worth=10.0)
    tight = pack(asked)
    assert len(tight.assignment.consumers) < len(pack(replace(asked, worth=0.5)).assignment.consumers)


def test_a_sample_has_whole_consumers_and_the_same_share_of_everything(trace: tuple[Speeds, ...]) -> None:
    asked = replace(problem(trace, worth=1.0), least_consumers=100, most_consumers=2000)
    unassigned = frozenset(list(asked.speeds)[::5])
    placed = {partition: owner for partition, owner in asked.current.items() if partition not in unassigned}
    ship = next(iter(ships(replace(asked, current=Assignment(placed)))))
    sample = ship.sample(500, 16)
    assert sample is not None
    share = (sample.current != NOWHERE).sum() / len(placed)
    assert 0.2 < share <= 500 / len(placed)
    assert (sample.current == NOWHERE).sum() == pytest.approx(share * len(unassigned), rel=0.2)
    assert sample.problem.least_consumers == int(share * 100)
    for place, number in enumerate(sample.number):
        if place in sample.current:
            whole = ship.speed[ship.current == np.searchsorted(ship.number, number)]
            assert sorted(sample.speed[sample.current == place]) == sorted(whole)


def test_a_sample_of_too_few_consumers_is_none() -> None:
    """A sample of half a consumer would tell nothing."""
    speeds = Speeds({TopicPartition("orders", number): 0.1 for number in range(3_000)})
    current = Assignment({partition: ConsumerId(1 + partition.partition % 3) for partition in speeds})
    assert Ship.of(Problem(speeds, current, Capacities(100.0)), 5).sample(500, 16) is None


def test_consumers_with_high_numbers_are_found() -> None:
    speeds = Speeds({TopicPartition("orders", 0): 5.0, TopicPartition("orders", 1): 7.0})
    far = Assignment(dict(zip(speeds, (ConsumerId(3), ConsumerId(2_000_000_000)), strict=True)))
    assert pack(Problem(speeds, far, Capacities(10.0))).assignment == far
