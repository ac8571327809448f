"""Pins: a pinned partition is on its consumer, which stays, and everything else is packed around it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from restow.errors import InvalidInput
from restow.model import Assignment, Capacities, ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.packing import PACKERS, Margins, Problem
from restow.packing.plan import PackingPlan
from restow.packing.problem import PinnedTo

TEN = Capacities(10.0)
CALM = Margins(trigger=1.0, evict_to=0.8, fill_to=0.7, drain_to=0.6)
ours = pytest.mark.parametrize("packer", ["restow", "restow-polish"])


def orders(number: int) -> TopicPartition:
    return TopicPartition("orders", number)


def speeds(*values: float) -> Speeds:
    return Speeds({orders(number): value for number, value in enumerate(values)})


def held(*consumers: int | None, idle: tuple[int, ...] = ()) -> Assignment:
    owners = {orders(number): ConsumerId(to) for number, to in enumerate(consumers) if to is not None}
    return Assignment(owners, idle=map(ConsumerId, idle))


def pins(to: dict[int, int], words: str = "pinned") -> SortedMapping[TopicPartition, PinnedTo]:
    """pins({3: 2}): orders-3 to consumer 2."""
    return SortedMapping({orders(number): PinnedTo(ConsumerId(consumer), words) for number, consumer in to.items()})


@ours
def test_a_pinned_partition_moves_to_its_consumer_and_nothing_else_does(packer: str) -> None:
    asked = Problem(speeds(4, 4, 4), held(1, 1, 2), TEN, pins=pins({0: 2}), least_consumers=2)
    assert PACKERS[packer](asked).assignment == held(2, 1, 2)


@ours
def test_a_consumer_with_a_pinned_partition_is_not_closed(packer: str) -> None:
    asked = Problem(speeds(2, 1), held(1, 2), TEN)
    assert len(PACKERS[packer](asked).assignment.consumers) == 1
    assert PACKERS[packer](replace(asked, pins=pins({0: 1, 1: 2}))).assignment == held(1, 2)
    assert PACKERS[packer](replace(asked, pins=pins({1: 2}))).assignment == held(2, 2), "the other one is"


@ours
def test_other_partitions_leave_an_overfull_consumer_first(packer: str) -> None:
    asked = Problem(speeds(2, 9, 3), held(1, 1, 2), TEN)
    assert PACKERS[packer](asked).assignment == held(2, 1, 2)
    assert PACKERS[packer](replace(asked, pins=pins({0: 1}))).assignment == held(1, 2, 1), (
        "the heavy one leaves instead"
    )


@ours
def test_pinned_partitions_that_overload_their_consumer_stay_there_alone(packer: str) -> None:
    asked = Problem(speeds(7, 6, 1, 4), held(1, 1, 1, 2), TEN, margins=CALM, pins=pins({0: 1, 1: 1}))
    plan = PACKERS[packer](asked)
    assert plan.assignment == held(1, 1, 2, 2)
    assert (plan.overpinned, plan.overloaded, plan.infeasible) == ((1,), (), ())
    assert PACKERS[packer](replace(asked, current=plan.assignment)).assignment == plan.assignment


@ours
def test_nothing_is_ejected_or_exchanged_from_its_pin(packer: str) -> None:
    """Without the pin, orders-3 would fit consumer 1 if orders-0 left it."""
    asked = Problem(speeds(3, 5, 6, 5), held(1, 1, 2, None), TEN, most_consumers=2)
    assert PACKERS[packer](asked).assignment[orders(0)] == 2
    assert PACKERS[packer](replace(asked, pins=pins({0: 1}))).assignment[orders(0)] == 1


@ours
def test_an_unassigned_partition_goes_to_its_pin(packer: str) -> None:
    asked = Problem(speeds(3, 8), held(None, 1, idle=(2,)), TEN, pins=pins({0: 2}))
    assert PACKERS[packer](asked).assignment == held(2, 1)


@ours
def test_consumers_with_pins_stay_beyond_the_most_and_the_decision_settles(packer: str) -> None:
    asked = Problem(speeds(1, 1, 1), held(1, 2, 3), TEN, most_consumers=1, pins=pins({0: 1, 1: 2}))
    plan = PACKERS[packer](asked)
    assert plan.assignment.consumers == (1, 2)
    assert PACKERS[packer](replace(asked, current=plan.assignment)).assignment == plan.assignment


def test_a_pin_of_an_unknown_partition_or_to_a_missing_consumer_is_refused() -> None:
    with pytest.raises(InvalidInput, match="orders-7 is pinned and has no speed"):
        Problem(speeds(1), held(1), TEN, pins=pins({7: 1}))
    with pytest.raises(InvalidInput, match="orders-0 is pinned to consumer 2, which does not exist"):
        Problem(speeds(1), held(1), TEN, pins=pins({0: 2}))


def words(problem: Problem, following: Assignment) -> list[str]:
    return [reason.words for reason in PackingPlan(problem, following).reasons]


def test_the_reason_of_a_pinned_move_is_the_pin() -> None:
    by = pins({0: 2}, "pinned until 14:00 UTC by anna")
    asked = Problem(speeds(4, 4, 4), held(1, 1, 2), TEN, pins=by)
    assert words(asked, held(2, 1, 2)) == [
        (
            "orders-0 goes from consumer 1 to 2: pinned until 14:00 UTC by anna; "
            "consumer 2 had room (40 % before, 80 % after)"
        )
    ]
    assert words(replace(asked, current=held(None, 1, 2)), held(2, 1, 2)) == [
        (
            "orders-0 goes to consumer 2: no consumer had it; pinned until 14:00 UTC by anna; "
            "consumer 2 had room (40 % before, 80 % after)"
        )
    ]


def test_the_reason_of_others_names_the_partition_that_stays_for_its_pin() -> None:
    asked = Problem(speeds(2, 9, 3), held(1, 1, 2), TEN, pins=pins({0: 1}, "pinned until 14:00 UTC by anna"))
    assert words(asked, held(1, 3, 2))[0] == (
        "orders-1 goes from consumer 1 to 3: consumer 1 was at 110 % of its capacity; orders-0 stays: pinned until "
        "14:00 UTC by anna; orders-1 at 90 % was the lightest that sufficed; consumer 3 is opened (90 % after)"
    )


@st.composite
def groups(draw: st.DrawFn) -> Problem:
    consumers = draw(st.integers(1, 6))
    loads = draw(st.lists(st.floats(0, 12), min_size=1, max_size=24))
    places = [draw(st.none() | st.integers(1, consumers)) for _ in loads]
    idle = tuple(range(1, consumers + 1))
    pinned = draw(st.dictionaries(st.integers(0, len(loads) - 1), st.integers(1, consumers), max_size=6))
    return Problem(
        speeds(*loads),
        held(*places, idle=idle),
        TEN,
        worth=draw(st.sampled_from((0.1, 1.0, 10.0))),
        margins=draw(st.sampled_from((Margins(), CALM))),
        least_consumers=draw(st.integers(0, 2)),
        most_consumers=draw(st.sampled_from((None, 2, 4))),
        pins=pins(pinned),
    )


@settings(max_examples=examples(300), deadline=None)
@given(groups())
def test_every_pin_holds_and_an_avoidable_overload_is_avoided(problem: Problem) -> None:
    plan = PACKERS["restow"](problem)
    assert {partition: plan.assignment[partition] for partition in problem.pins} == {
        partition: pin.consumer for partition, pin in problem.pins.items()
    }
    assert plan.assignment.keys() == problem.speeds.keys()
    if problem.most_consumers is None:
        assert plan.overloaded == (), "what is not pinned leaves"
    again = PACKERS["restow"](replace(problem, current=plan.assignment)).assignment
    assert again.keys() == plan.assignment.keys()
    assert len(again.consumers) <= len(plan.assignment.consumers), "repeating a decision only saves consumers"
