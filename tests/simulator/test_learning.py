"""Groups that learn what their consumers carry: soon, within bounds, and without oscillation, starvation or runaway."""

from dataclasses import replace
from itertools import pairwise

import pytest
from tests.support.simulator import mutants
from tests.support.simulator.mutants import Mutant

from restow.packing import warm_up
from restow.simulator.checkers.learning import true_capacity
from restow.simulator.machines import MachineTraits
from restow.simulator.scenario import Level, Scenario, scenario
from restow.simulator.world import World, run

pytestmark = pytest.mark.slow

FIVE_MINUTES_S = 300.0
HOURS = 0.3


@pytest.fixture(scope="module", autouse=True)
def _ready() -> None:
    warm_up()


def learning(seed: int, workload: str | None = None, **traits: object) -> Scenario:
    chosen = scenario(seed, HOURS, workload=workload, learns=True)
    assert chosen.machines is not None
    return replace(chosen, machines=replace(chosen.machines, **traits))  # type: ignore[arg-type]


def played(chosen: Scenario) -> World:
    world = World(chosen)
    world.play()
    assert world.violations == []
    return world


@pytest.mark.parametrize("seed", [1, 3])
def test_capacities_are_within_15_per_cent_after_five_minutes_of_load(seed: int) -> None:
    world = played(learning(seed, lies=False, drift=False))
    controller = world.controller_in_charge()
    assert controller is not None
    learned = controller.state.learned.capacities
    errors = {
        process.number: learned[process.number].bytes_per_s / truth - 1
        for process in world.processes
        if process.is_alive and process.cycles.busy_s >= FIVE_MINUTES_S
        if (truth := true_capacity(world, controller.state, process.number)) is not None
    }
    assert errors
    assert max(map(abs, errors.values())) < 0.15, errors


def test_a_topic_that_costs_more_is_found() -> None:
    world = played(learning(3, lies=False, drift=False, heavy=True))
    controller = world.controller_in_charge()
    assert controller is not None
    assert world.machines is not None
    known, real = controller.state.learned.costs, world.machines.costs
    heavy = max(real, key=lambda topic: (real[topic], topic))
    others = [known[topic].cost for topic in known if topic != heavy]
    assert known[heavy].cost / max(others) > 1.5


@pytest.mark.parametrize("seed", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_group_neither_oscillates_nor_starves_while_it_learns(seed: int) -> None:
    """Machines differ, drift and lie; the load of a skewed workload stays about the same."""
    world = played(learning(seed, workload="skew", lies=True, drift=True, shared_cores=None))
    series = world.measures.series
    settled = [count for time_s, count in zip(series.time_s, series.consumers, strict=True) if time_s >= FIVE_MINUTES_S]
    assert sum(abs(later - earlier) for earlier, later in pairwise(settled)) <= 6
    assert world.measures.latency.quantile(0.99) < 60
    load = max(series.load_bytes_per_s)
    assert series.backlog_bytes[-1] < 60 * load


def most_consumers() -> int:
    """Of a group whose consumers share the cores of one and a half, with a load of several."""
    outcome = run(learning(3, workload="skew", shared_cores=1.5, lies=False, drift=False))
    return max(outcome.measures.series.consumers)


@pytest.mark.slow
def test_consumers_that_share_cores_do_not_run_away(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded = most_consumers()
    mutants.scale_ups_are_not_judged(monkeypatch)
    assert most_consumers() > 1.5 * bounded


@pytest.mark.slow
def test_a_new_controller_begins_with_what_was_learned() -> None:
    world = World(learning(1, lies=False, drift=False))
    world.agenda.at(600.0, lambda: _end_controllers(world))
    seen: list[float] = []
    world.agenda.at(599.0, lambda: seen.append(_known(world)))
    world.agenda.at(700.0, lambda: seen.append(_known(world)))
    world.play()
    before, after = seen
    assert after == pytest.approx(before, rel=0.1)
    assert after > 1.5 * 2_000_000


def _end_controllers(world: World) -> None:
    for controller in world.controllers:
        controller.die()


def _known(world: World) -> float:
    controller = world.controller_in_charge()
    assert controller is not None
    return controller.state.capacity_bytes_per_s


MUTANTS: dict[Mutant, int] = {
    mutants.capacities_fall_without_a_floor: 6,
    mutants.capacities_rise_at_once: 2,
    mutants.cold_cycles_count: 7,
}
"""With a seed that catches each."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_bug_in_learning_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    assert run(scenario(MUTANTS[mutant], HOURS, learns=True)).violations != ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", MUTANTS.values())
def test_without_a_bug_its_seed_is_well(seed: int) -> None:
    assert run(scenario(seed, HOURS, learns=True)).violations == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_a_seed_that_learns_is_well_with_faults(seed: int) -> None:
    outcome = run(scenario(seed, faults=Level.SOME, learns=True))
    assert outcome.violations == (), f"to repeat it: restow simulate --seed {seed} --faults some --learn"


def test_seeds_meet_every_difficulty() -> None:
    met = [chosen.machines for seed in range(1, 13) if (chosen := scenario(seed, learns=True)).machines is not None]
    assert all(isinstance(traits, MachineTraits) for traits in met)
    for name in ("drift", "heavy", "shared_cores", "lies"):
        assert {bool(getattr(traits, name)) for traits in met} == {True, False}, name
