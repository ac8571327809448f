"""The model: invalid values can't exist, and what leaves a value is sorted whatever the order it came in."""

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.errors import InvalidInput
from restow.model import (
    Assignment,
    Capacities,
    ConsumerId,
    Difference,
    Move,
    SortedMapping,
    Speeds,
    TopicPartition,
)

ONE, TWO, THREE, FOUR = (ConsumerId(number) for number in (1, 2, 3, 4))
CLICKS_0 = TopicPartition("clicks", 0)
ORDERS_2, ORDERS_7, ORDERS_10 = (TopicPartition("orders", number) for number in (2, 7, 10))


def refusal(make: Callable[[], object]) -> str:
    with pytest.raises(InvalidInput) as refused:
        make()
    return str(refused.value)


# Partitions


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        ("orders-7", ORDERS_7),
        ("orders-10", ORDERS_10),
        ("web-clicks.v2_x-0", TopicPartition("web-clicks.v2_x", 0)),
        ("a--3", TopicPartition("a-", 3)),
    ],
)
def test_a_partition_is_read_from_its_name_and_back(name: str, partition: TopicPartition) -> None:
    assert TopicPartition.parse(name) == partition
    assert str(partition) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "orders",
        "-7",
        "orders-",
        "orders-x",
        "orders-1.5",
        "orders-²",
        "orders-٣",
        "7",
        "orders-07",
        "orders-" + "9" * 5000,
    ],
)
def test_an_invalid_partition_name_is_rejected_with_an_example(name: str) -> None:
    assert refusal(lambda: TopicPartition.parse(name)) == (
        f"'{name}' is not a partition; write the topic, a dash and the number, like orders-7"
    )


def test_partitions_are_ordered_by_topic_then_by_number() -> None:
    assert sorted([ORDERS_10, ORDERS_2, CLICKS_0]) == [CLICKS_0, ORDERS_2, ORDERS_10]


# Sorted mappings


def test_a_sorted_mapping_is_in_the_order_of_its_keys() -> None:
    mapping = SortedMapping({3: "c", 1: "a", 2: "b"})
    assert list(mapping) == list(mapping.keys()) == [1, 2, 3]
    assert list(mapping.values()) == ["a", "b", "c"]
    assert list(mapping.items()) == [(1, "a"), (2, "b"), (3, "c")]
    assert (len(mapping), mapping[2], 2 in mapping, 4 in mapping) == (3, "b", True, False)
    assert repr(mapping) == "SortedMapping({1: a, 2: b, 3: c})"


def test_a_sorted_mapping_does_not_follow_what_it_was_made_from() -> None:
    source = {1: "a"}
    mapping = SortedMapping(source)
    source[1] = "b"
    assert mapping == SortedMapping({1: "a"})


def test_a_sorted_mapping_equals_only_its_own_kind() -> None:
    plain: SortedMapping[TopicPartition, float] = SortedMapping({ORDERS_2: 1.0})
    assert plain != Speeds({ORDERS_2: 1.0})
    assert Speeds({ORDERS_2: 1.0}) != Speeds({ORDERS_2: 2.0})
    assert Speeds({ORDERS_2: 1.0}) != {ORDERS_2: 1.0}


# Speeds and capacities


@pytest.mark.parametrize("speed", [-0.1, -1, math.inf, -math.inf, math.nan])
def test_a_speed_is_finite_and_not_negative(speed: float) -> None:
    assert refusal(lambda: Speeds({ORDERS_2: 1.0, ORDERS_7: speed})) == (
        f"the speed of orders-7 is {speed}; it must be a number of bytes/s, 0 or more"
    )


def test_the_total_of_speeds_does_not_drift_with_rounding() -> None:
    tenths = Speeds({TopicPartition("orders", number): 0.1 for number in range(10)})
    assert tenths.total == 1.0
    assert Speeds().total == 0.0


@pytest.mark.parametrize("capacity", [0, -1, math.inf, math.nan])
def test_a_capacity_is_finite_and_above_0(capacity: float) -> None:
    wanted = "it must be a number of bytes/s above 0"
    assert refusal(lambda: Capacities(capacity)) == f"the default capacity is {capacity}; {wanted}"
    named = SortedMapping({TWO: capacity})
    assert refusal(lambda: Capacities(1, named)) == f"the capacity of consumer 2 is {capacity}; {wanted}"


def test_a_consumer_without_a_capacity_of_its_own_has_the_default() -> None:
    capacities = Capacities(100, SortedMapping({TWO: 150.0}))
    assert (capacities[ONE], capacities[TWO]) == (100, 150)


# Assignments


def test_an_assignment_lists_partitions_by_consumer() -> None:
    assignment = Assignment({ORDERS_7: THREE, CLICKS_0: ONE, ORDERS_2: THREE}, idle=[TWO])
    assert assignment.consumers == (1, 2, 3)
    assert assignment.by_consumer == SortedMapping({ONE: (CLICKS_0,), TWO: (), THREE: (ORDERS_2, ORDERS_7)})
    assert assignment == Assignment.of_consumers({THREE: [ORDERS_7, ORDERS_2], TWO: [], ONE: [CLICKS_0]})
    assert repr(assignment) == "Assignment({1: [clicks-0], 2: [], 3: [orders-2, orders-7]})"


def test_a_partition_has_one_consumer() -> None:
    assert refusal(lambda: Assignment.of_consumers({TWO: [ORDERS_7], ONE: [ORDERS_7]})) == (
        "orders-7 is given to consumer 1 and to consumer 2; a partition has one consumer"
    )


def test_a_consumer_holds_a_partition_once() -> None:
    assert refusal(lambda: Assignment.of_consumers({TWO: [ORDERS_7, CLICKS_0, ORDERS_7]})) == (
        "orders-7 is given to consumer 2 twice; a partition has one consumer"
    )


def test_pairs_that_name_a_partition_twice_are_rejected() -> None:
    twice = "orders-7 is given twice; it must be given once"
    assert refusal(lambda: Assignment([(ORDERS_7, ONE), (ORDERS_7, TWO)])) == twice
    assert refusal(lambda: Speeds(iter([(ORDERS_10, 1), (ORDERS_7, 1), (ORDERS_10, 2), (ORDERS_7, 1)]))) == twice


@pytest.mark.parametrize("number", [0, -3])
def test_consumers_are_numbered_from_1_on(number: int) -> None:
    expected = f"there is no consumer {number}; consumers are numbered from 1 on"
    assert refusal(lambda: Assignment({ORDERS_7: ConsumerId(number)})) == expected
    assert refusal(lambda: Assignment(idle=[ConsumerId(number)])) == expected


def test_an_idle_consumer_makes_a_difference() -> None:
    assert Assignment({CLICKS_0: ONE}) != Assignment({CLICKS_0: ONE}, idle=[TWO])
    assert Assignment({CLICKS_0: ONE}) == Assignment({CLICKS_0: ONE}, idle=[ONE])


def test_the_load_of_a_consumer_is_the_speed_it_carries() -> None:
    assignment = Assignment({CLICKS_0: ONE, ORDERS_2: ONE, ORDERS_7: TWO}, idle=[THREE])
    loads = assignment.loads({CLICKS_0: 1.5, ORDERS_2: 2.0, ORDERS_10: 99.0})
    assert loads == SortedMapping({ONE: 3.5, TWO: 0.0, THREE: 0.0})


# The difference of two assignments


def test_the_difference_of_two_assignments() -> None:
    given_up, new = TopicPartition("old", 0), TopicPartition("new", 0)
    current = Assignment({CLICKS_0: ONE, ORDERS_2: ONE, ORDERS_7: TWO, given_up: ONE, ORDERS_10: THREE})
    following = Assignment({CLICKS_0: ONE, ORDERS_2: FOUR, ORDERS_7: ONE, new: FOUR, ORDERS_10: THREE})
    assert current.difference(following) == Difference(
        create=(FOUR,),
        delete=(TWO,),
        stop=((ONE, (given_up, ORDERS_2)), (TWO, (ORDERS_7,))),
        start=((ONE, (ORDERS_7,)), (FOUR, (new, ORDERS_2))),
        move=(Move(ORDERS_2, ONE, FOUR), Move(ORDERS_7, TWO, ONE)),
    )


def test_no_change_is_an_empty_difference() -> None:
    assignment = Assignment({CLICKS_0: ONE}, idle=[TWO])
    assert assignment.difference(assignment) == Difference()
    assert not Difference()


def test_an_idle_consumer_that_comes_or_goes_is_a_difference() -> None:
    alone, joined = Assignment({CLICKS_0: ONE}), Assignment({CLICKS_0: ONE}, idle=[TWO])
    assert alone.difference(joined) == Difference(create=(TWO,))
    assert joined.difference(alone) == Difference(delete=(TWO,))
    assert Difference(create=(TWO,))


def test_from_nothing_to_something_and_back_nothing_moves() -> None:
    nothing, something = Assignment(), Assignment({CLICKS_0: ONE})
    assert nothing.difference(something) == Difference(create=(ONE,), start=((ONE, (CLICKS_0,)),))
    assert something.difference(nothing) == Difference(delete=(ONE,), stop=((ONE, (CLICKS_0,)),))


# Properties

consumers = st.integers(1, 6).map(ConsumerId)
partitions = st.builds(TopicPartition, st.sampled_from(["clicks", "orders", "orders-v2"]), st.integers(0, 12))
owners = st.dictionaries(partitions, consumers, max_size=12)
assignments = st.builds(Assignment, owners, st.sets(consumers, max_size=3))
speeds = st.dictionaries(partitions, st.floats(0, 1e12), max_size=12)


def applied(current: Assignment, difference: Difference) -> Assignment:
    """What a controller does with a difference: delete and create consumers, stop and start partitions."""
    held = {consumer: set(partitions) for consumer, partitions in current.by_consumer.items()}
    for consumer in difference.create:
        held[consumer] = set()
    for consumer, stopped in difference.stop:
        assert held[consumer] >= set(stopped), "only what a consumer holds can be stopped"
        held[consumer] -= set(stopped)
    for consumer, started in difference.start:
        assert not any(set(started) & others for others in held.values()), "no consumer holds what is started"
        held[consumer] |= set(started)
    for consumer in difference.delete:
        assert not held.pop(consumer), "a consumer is empty before it is deleted"
    return Assignment.of_consumers(held)


@given(assignments, assignments)
def test_the_stops_and_starts_of_a_difference_turn_one_assignment_into_the_other(
    current: Assignment, following: Assignment
) -> None:
    assert applied(current, current.difference(following)) == following


@given(assignments, assignments)
def test_a_move_is_a_stop_and_a_start(current: Assignment, following: Assignment) -> None:
    difference = current.difference(following)
    stops = {partition: consumer for consumer, stopped in difference.stop for partition in stopped}
    starts = {partition: consumer for consumer, started in difference.start for partition in started}
    both = sorted(stops.keys() & starts.keys())
    assert difference.move == tuple(Move(partition, stops[partition], starts[partition]) for partition in both)
    assert bool(difference) == (current != following)


@given(owners, st.randoms(use_true_random=False))
def test_the_order_of_the_input_is_irrelevant(owners: dict[TopicPartition, ConsumerId], shuffle: random.Random) -> None:
    pairs = list(owners.items())
    shuffle.shuffle(pairs)
    straight, shuffled = Assignment(owners), Assignment(pairs)
    assert straight == shuffled
    assert hash(straight) == hash(shuffled)
    assert repr(straight) == repr(shuffled)
    assert list(shuffled.items()) == sorted(owners.items())


@given(speeds, st.randoms(use_true_random=False))
def test_the_order_of_speeds_is_irrelevant(speeds: dict[TopicPartition, float], shuffle: random.Random) -> None:
    pairs = list(speeds.items())
    shuffle.shuffle(pairs)
    straight, shuffled = Speeds(speeds), Speeds(pairs)
    assert (straight, hash(straight), straight.total) == (shuffled, hash(shuffled), shuffled.total)
    assert list(shuffled) == sorted(speeds)


@given(assignments, assignments)
def test_equal_assignments_have_equal_hashes_and_no_difference(one: Assignment, other: Assignment) -> None:
    assert (one == other) == (not one.difference(other))
    again = Assignment.of_consumers(dict(one.by_consumer))
    assert (again, hash(again)) == (one, hash(one))


@given(assignments, speeds)
def test_loads_add_up_to_the_speed_of_what_is_assigned(
    assignment: Assignment, speeds: dict[TopicPartition, float]
) -> None:
    assigned = math.fsum(speeds.get(partition, 0.0) for partition in assignment)
    assert math.fsum(assignment.loads(speeds).values()) == pytest.approx(assigned)


# Hash seeds

PRINT_EVERYTHING = """
from restow.model import Assignment, Capacities, SortedMapping, Speeds, TopicPartition

partitions = {TopicPartition(topic, number) for topic in ("orders", "clicks", "a", "b") for number in range(9)}
current = Assignment({partition: 1 + len(partition.topic) % 3 for partition in partitions}, idle={9, 8, 70, 33})
following = Assignment({partition: 1 + partition.partition % 4 for partition in partitions if partition.partition})
print(current, following, current.by_consumer, current.difference(following))
print(Speeds({partition: partition.partition for partition in partitions}))
print(current.loads({partition: 1.5 for partition in partitions}))
print(Capacities(1, SortedMapping({consumer: 2.0 for consumer in {44, 3, 17, 70}})))
"""


def printed_under_hash_seed(seed: int) -> str:
    environment = os.environ | {"PYTHONHASHSEED": str(seed)}
    done = subprocess.run(
        [sys.executable, "-c", PRINT_EVERYTHING], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_output_is_the_same_under_every_hash_seed() -> None:
    first = printed_under_hash_seed(0)
    assert "Assignment({1: [" in first
    assert [printed_under_hash_seed(seed) for seed in (1, 2, 3, 42)] == [first] * 4
