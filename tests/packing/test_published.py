"""The twelve published packers: each worked by hand on a small group, and what holds for all of them."""

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restow.model import Assignment, Capacities, ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.packing import PACKERS, PUBLISHED, Margins, PackingPlan, Problem

TWELVE = ("nf", "ff", "wf", "bf", "nfd", "ffd", "wfd", "bfd", "mwf", "mbf", "mwfp", "mbfp")
TEN = Capacities(10.0)


def orders(number: int) -> TopicPartition:
    return TopicPartition("orders", number)


def speeds(*values: float) -> Speeds:
    return Speeds({orders(number): value for number, value in enumerate(values)})


def held(*consumers: int | None) -> Assignment:
    """The consumers of orders-0, orders-1, …; None for a partition without one."""
    return Assignment({orders(number): ConsumerId(to) for number, to in enumerate(consumers) if to is not None})


def test_the_twelve_are_in_the_table_of_packers() -> None:
    assert tuple(PUBLISHED) == TWELVE
    assert {name: PACKERS[name] for name in TWELVE} == PUBLISHED


# Consumer 2 opens for orders-0, which it holds; it is open when orders-1 needs one, so that goes to the lowest free
# number, 1; orders-2 opens its own consumer 3. Rooms: 4 on the first opened (2), 5 on 1, 3 on 3. orders-4 is new.
@pytest.mark.parametrize(
    ("packer", "answer"),
    [
        ("nf", held(2, 1, 3, 3, 4)),
        ("ff", held(2, 1, 3, 2, 1)),
        ("wf", held(2, 1, 3, 1, 2)),
        ("bf", held(2, 1, 3, 3, 2)),
    ],
)
def test_classic_packers_take_partitions_in_order(packer: str, answer: Assignment) -> None:
    problem = Problem(speeds(6, 5, 7, 3, 2), held(2, 2, 3, 1, None), TEN)
    assert PUBLISHED[packer](problem) == PackingPlan(problem, answer)


# The order is orders-2, 0, 1, 3, 4. The first three open consumers 3, 2 and 1, with rooms of 2, 4 and 5.
@pytest.mark.parametrize(
    ("packer", "answer"),
    [
        ("nfd", held(2, 1, 3, 1, 1)),
        ("ffd", held(2, 1, 3, 2, 3)),
        ("wfd", held(2, 1, 3, 1, 2)),
        ("bfd", held(2, 1, 3, 2, 2)),
    ],
)
def test_decreasing_packers_take_the_fastest_partition_first(packer: str, answer: Assignment) -> None:
    problem = Problem(speeds(6, 5, 8, 3, 1), held(2, 2, 3, 1, None), TEN)
    assert PUBLISHED[packer](problem) == PackingPlan(problem, answer)


# Consumer 1 has 6 + 3, consumer 2 has 7 + 1, consumer 3 has 4 + 4 + 3, which is too much; orders-7 (2) is new.
# By total the order is 3, 1, 2: consumer 3 keeps 4 + 4, and 3 has to wait; 1 keeps both; the slower one of 2 goes to
# an open consumer (worst fit: 3, best fit: 1), and the waiting 3 fills 2 up.
# By fastest partition it is 2, 1, 3: 2 and 1 keep theirs, 3 keeps 4 + 4, and the waiting 3 opens consumer 4.
@pytest.mark.parametrize(
    ("packer", "answer"),
    [
        ("mwf", held(1, 1, 2, 3, 3, 3, 2, 4)),
        ("mbf", held(1, 1, 2, 1, 3, 3, 2, 3)),
        ("mwfp", held(1, 1, 2, 2, 3, 3, 4, 4)),
        ("mbfp", held(1, 1, 2, 2, 3, 3, 4, 2)),
    ],
)
def test_modified_packers_go_from_consumer_to_consumer(packer: str, answer: Assignment) -> None:
    problem = Problem(speeds(6, 3, 7, 1, 4, 4, 3, 2), held(1, 1, 2, 2, 3, 3, 3, None), TEN)
    assert PUBLISHED[packer](problem) == PackingPlan(problem, answer)


@pytest.mark.parametrize("packer", ["mwf", "mbf", "mwfp", "mbfp"])
def test_modified_packers_close_a_consumer_whose_partitions_fit_elsewhere(packer: str) -> None:
    problem = Problem(speeds(6, 2, 1, 1), held(1, 2, 2, 2), TEN)
    assert PUBLISHED[packer](problem).assignment == held(1, 1, 1, 1)


@pytest.mark.parametrize(("packer", "answer"), [("wf", held(1, 2, 1)), ("bf", held(1, 2, 1)), ("ff", held(1, 2, 1))])
def test_of_two_consumers_with_equal_room_the_first_opened_is_taken(packer: str, answer: Assignment) -> None:
    assert PUBLISHED[packer](Problem(speeds(6, 6, 3), Assignment(), TEN)).assignment == answer


@pytest.mark.parametrize("packer", ["nfd", "ffd", "wfd", "bfd", "mwf", "mbf", "mwfp", "mbfp"])
def test_of_two_equally_fast_partitions_the_lower_one_comes_first(packer: str) -> None:
    assert PUBLISHED[packer](Problem(speeds(6, 6), Assignment(), TEN)).assignment == held(1, 2)


@pytest.mark.parametrize("packer", ["mwf", "mbf", "mwfp", "mbfp"])
def test_of_two_equal_consumers_the_lower_one_comes_first(packer: str) -> None:
    problem = Problem(speeds(4, 4), held(2, 1), TEN)
    assert PUBLISHED[packer](problem).assignment == held(1, 1)


@pytest.mark.parametrize("packer", TWELVE)
@pytest.mark.parametrize(("capacity", "halves"), [(100.0, (37.0, 63.0)), (0.3, (0.1, 0.2))])
def test_a_sum_that_equals_the_capacity_fits(packer: str, capacity: float, halves: tuple[float, float]) -> None:
    problem = Problem(speeds(*halves), held(1, 1), Capacities(capacity))
    assert PUBLISHED[packer](problem).assignment == held(1, 1)


@pytest.mark.parametrize("packer", TWELVE)
def test_a_partition_too_fast_for_any_consumer_has_its_own_and_stays_there(packer: str) -> None:
    plan = PUBLISHED[packer](Problem(speeds(12, 0), held(2, 2), TEN))
    assert plan.assignment == held(2, 1)
    assert plan.infeasible == (orders(0),)


@pytest.mark.parametrize("packer", TWELVE)
def test_consumers_are_filled_to_their_margin(packer: str) -> None:
    problem = Problem(speeds(4, 4), held(1, 1), TEN, margins=Margins(fill_to=0.7, drain_to=0.7))
    assert PUBLISHED[packer](problem).assignment == held(1, 2)


@pytest.mark.parametrize("packer", TWELVE)
def test_a_consumer_of_another_size_is_filled_to_its_own_capacity(packer: str) -> None:
    capacities = Capacities(10.0, SortedMapping({ConsumerId(1): 20.0}))
    assert PUBLISHED[packer](Problem(speeds(9, 9), held(1, 1), capacities)).assignment == held(1, 1)


@pytest.mark.parametrize("packer", TWELVE)
def test_a_partition_leaves_a_consumer_too_small_for_it_when_others_are_not(packer: str) -> None:
    capacities = Capacities(10.0, SortedMapping({ConsumerId(1): 5.0, ConsumerId(2): 5.0}))
    assert PUBLISHED[packer](Problem(speeds(9), held(1), capacities)).assignment == held(3)


@pytest.mark.parametrize("packer", ["mwf", "mbf", "mwfp", "mbfp"])
def test_what_fits_stays_when_a_partition_leaves_a_consumer_too_small_for_it(packer: str) -> None:
    capacities = Capacities(10.0, SortedMapping({ConsumerId(1): 5.0}))
    assert PUBLISHED[packer](Problem(speeds(9, 5), held(1, 1), capacities)).assignment == held(2, 1)


@pytest.mark.parametrize("packer", TWELVE)
def test_partitions_without_a_speed_are_given_up_and_idle_consumers_closed(packer: str) -> None:
    current = Assignment({orders(0): ConsumerId(3), orders(1): ConsumerId(4)}, idle=[ConsumerId(5)])
    assert PUBLISHED[packer](Problem(speeds(4), current, TEN)).assignment == held(3)


@pytest.mark.parametrize("packer", TWELVE)
def test_nothing_to_place_needs_no_consumer(packer: str) -> None:
    assert PUBLISHED[packer](Problem(Speeds(), held(1, 2), TEN)).assignment == Assignment()


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    numbers = st.integers(0, 40)
    speed = st.one_of(st.integers(0, 12).map(float), st.floats(0, 12))
    measured: Mapping[int, float] = draw(st.dictionaries(numbers, speed))
    owners: Mapping[int, int] = draw(st.dictionaries(numbers, st.integers(1, 12)))
    sizes: Mapping[int, float] = draw(st.dictionaries(st.integers(1, 12), st.sampled_from([5.0, 10.0, 20.0])))
    share = draw(st.sampled_from([0.5, 1.0]))
    return Problem(
        Speeds({orders(number): speed for number, speed in measured.items()}),
        Assignment({orders(number): ConsumerId(consumer) for number, consumer in owners.items()}),
        Capacities(10.0, SortedMapping({ConsumerId(consumer): size for consumer, size in sizes.items()})),
        margins=Margins(fill_to=share, drain_to=share),
    )


@settings(deadline=None)
@given(problem=problems())
def test_every_partition_is_placed_once_and_no_shared_consumer_is_over_its_limit(problem: Problem) -> None:
    for name, packer in PUBLISHED.items():
        assignment = packer(problem).assignment
        assert assignment.keys() == problem.speeds.keys(), name
        for consumer, load in assignment.loads(problem.speeds).items():
            limit = problem.capacities[consumer] * problem.margins.fill_to
            assert load <= limit + 2e-8 or len(assignment.by_consumer[consumer]) == 1, name


@settings(deadline=None)
@given(problem=problems(), randomly=st.randoms(use_true_random=False))
def test_the_order_of_the_input_is_irrelevant(problem: Problem, randomly: Random) -> None:
    measured, owned = list(problem.speeds.items()), list(problem.current.items())
    randomly.shuffle(measured)
    randomly.shuffle(owned)
    shuffled = Problem(Speeds(measured), Assignment(owned), problem.capacities, margins=problem.margins)
    for name, packer in PUBLISHED.items():
        assert packer(shuffled).assignment == packer(problem).assignment, name
