"""What was learned is in the picture, and comes back from it."""

from dataclasses import replace

import pytest
from tests.support.controller_driver import A0, A1, CONSUME, Driver

from restow.controller.events import LearningRecalled
from restow.controller.learned import LearnedCapacity, TopicCost
from restow.controller.state import Rules
from restow.model import ConsumerId, SortedMapping
from restow.packing import warm_up
from restow.picture.chronicle import Chronicle
from restow.picture.drawing import Moment, draw
from restow.picture.explanation import explain_consumer, explain_partition
from restow.picture.forecast import caveats, forecast
from restow.picture.parts import picture_of, plain_picture
from restow.picture.picture import Picture
from restow.picture.recall import recalled
from restow.protocol.messages.reports import Work
from restow.settings import Consumer, Controller

NOON = "2026-03-01T12:00:00Z"
ONE = ConsumerId(1)
RULES = Rules(Controller(), Consumer(), CONSUME)


@pytest.fixture(scope="module", autouse=True)
def _ready() -> None:
    warm_up()


@pytest.fixture
def taught() -> Driver:
    """Consumer 1 has a-0 and a-1 and stores 4 MB/s; a byte of its topic costs 1.5."""
    driver = Driver(RULES).takes_over({1: (A0, A1), 2: ()})
    driver.happens(LearningRecalled(costs=SortedMapping({"a": TopicCost(1.5, 1e9), "b": TopicCost(0.5, 1e9)})))
    driver.measures(a_0=1e6, a_1=1e6)
    for _ in range(40):
        driver.ticks(5)
        driver.reports(1, work=Work(5, 4.0, SortedMapping({"a": 16_000_000})), bytes_per_s=4e6, records_per_s=1.0)
    return driver


def drawn(driver: Driver) -> Picture:
    return draw(driver.state, Chronicle(NOON), Moment("lake", "here", NOON))


def test_what_was_learned_is_drawn_and_recalled(taught: Driver) -> None:
    picture = picture_of(plain_picture(drawn(taught)))
    event = recalled(picture)
    known = taught.state.learned
    assert event.capacities[ONE].bytes_per_s == pytest.approx(known.capacities[ONE].bytes_per_s, abs=0.1)
    assert {topic: each.cost for topic, each in event.costs.items()} == pytest.approx(
        {topic: each.cost for topic, each in known.costs.items()}, abs=0.001
    )
    fresh = Driver(RULES).takes_over({1: (A0, A1), 2: ()})
    fresh.happens(event)
    assert fresh.state.capacities()[ONE] == event.capacities[ONE].bytes_per_s
    assert fresh.state.cost_of("a") == event.costs["a"].cost


def test_loads_and_capacities_are_as_learned(taught: Driver) -> None:
    picture = drawn(taught)
    cost = taught.state.cost_of("a")
    assert cost > 1.2
    assert picture.overview.limits.capacity_is_learned
    assert picture.consumers[ONE].load_bytes_per_s == pytest.approx(2e6 * cost, rel=0.01)
    assert picture.consumers[ONE].capacity_bytes_per_s == pytest.approx(4e6 * cost, rel=0.1)
    new = picture.consumers[ConsumerId(2)]
    assert (new.learned, new.capacity_bytes_per_s) == (None, picture.consumers[ONE].capacity_bytes_per_s)


def test_a_plan_from_the_picture_counts_with_them_and_says_so(taught: Driver) -> None:
    plan = forecast(drawn(taught), None)
    assert plan.problem.capacities[ONE] == pytest.approx(taught.state.capacities()[ONE], abs=0.1)
    assert plan.problem.speeds[A0] == pytest.approx(1e6 * taught.state.cost_of("a"), rel=0.01)
    [words] = [line for line in caveats(drawn(taught), is_stale=False) if line.startswith("Capacities are learned")]
    assert "Costs per byte, relative to the mean: a 1." in words


def test_explanations_say_what_was_learned(taught: Driver) -> None:
    picture = drawn(taught)
    lines = list(explain_consumer(picture, (), ONE))
    assert any(line.startswith("  its capacity is learned from its cycles: ") for line in lines)
    [cost] = [line for line in explain_partition(picture, (), A0) if "costs" in line]
    assert cost.endswith("times the mean of all topics, as its consumers' cycles say")


def test_a_fixed_capacity_recalls_nothing() -> None:
    driver = Driver().takes_over({1: (A0, A1)})
    driver.reports(1, work=Work(5, 4.0, SortedMapping({"a": 16_000_000})))
    driver.happens(LearningRecalled(SortedMapping({ONE: LearnedCapacity(5e6, 1e6)})))
    assert driver.state.capacities()[ONE] == 100.0
    assert recalled(drawn(driver)) == LearningRecalled()


def test_a_fixed_cost_weighs_with_a_fixed_capacity() -> None:
    consume = SortedMapping({**CONSUME, "a": replace(CONSUME["a"], cost=2.0)})
    driver = Driver(Rules(Controller(), Consumer(capacity_bytes_per_s=100.0), consume)).takes_over({1: (A0, A1)})
    driver.measures(a_0=20, a_1=20)
    picture = drawn(driver)
    assert picture.consumers[ONE].load_bytes_per_s == 80.0
    assert picture.overview.fixed_costs == SortedMapping({"a": 2.0})
    [cost] = [line for line in explain_partition(picture, (), A0) if "costs" in line]
    assert cost == "  a byte of a costs 2 times the mean of all topics, as its definition says"


def test_a_cost_that_changes_stops_no_partition() -> None:
    driver = Driver().takes_over({1: (A0, A1)})
    driver.measures(a_0=20, a_1=20)
    assert driver.changes("a", replace(CONSUME["a"], cost=1.5)) == ()
    assert driver.measures() == ()
    assert drawn(driver).consumers[ONE].load_bytes_per_s == 60.0
