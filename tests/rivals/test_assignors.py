"""Kafka's assignors: counts are balanced, speeds are ignored, and sticky ones move as little as balance allows."""

import pytest

from restow.model import Assignment, ConsumerId, TopicPartition
from restow.rivals.assignors import ASSIGNORS, by_range, round_robin, sticky

ONE, TWO, THREE = (ConsumerId(number) for number in (1, 2, 3))


def partitions(*counts: tuple[str, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, count in counts for number in range(count)]


def held(assignment: Assignment) -> dict[int, list[str]]:
    return {int(each): [str(partition) for partition in mine] for each, mine in assignment.by_consumer.items()}


def test_range_gives_the_first_members_more_of_every_topic() -> None:
    found = by_range(partitions(("a", 3), ("b", 3)), [ONE, TWO], Assignment())
    assert held(found) == {1: ["a-0", "a-1", "b-0", "b-1"], 2: ["a-2", "b-2"]}


def test_round_robin_deals_all_partitions_out_in_turn() -> None:
    found = round_robin(partitions(("a", 3), ("b", 3)), [TWO, ONE], Assignment())
    assert held(found) == {1: ["a-0", "a-2", "b-1"], 2: ["a-1", "b-0", "b-2"]}


def test_a_sticky_member_that_joins_gets_its_share_and_nothing_else_moves() -> None:
    wanted = partitions(("a", 6))
    before = sticky(wanted, [ONE, TWO], Assignment())
    after = sticky(wanted, [ONE, TWO, THREE], before)
    assert sorted(len(mine) for mine in after.by_consumer.values()) == [2, 2, 2]
    moves = before.moves_to(after)
    assert {move.target for move in moves} == {THREE}
    assert len(moves) == 2


def test_what_a_sticky_member_leaves_goes_to_the_others() -> None:
    wanted = partitions(("a", 5))
    before = sticky(wanted, [ONE, TWO, THREE], Assignment())
    after = sticky(wanted, [ONE, THREE], before)
    assert sorted(len(mine) for mine in after.by_consumer.values()) == [2, 3]
    assert {move.source for move in before.moves_to(after)} == {TWO}


@pytest.mark.parametrize("name", ASSIGNORS)
@pytest.mark.parametrize("members", [1, 2, 3, 7])
def test_every_partition_has_one_member_and_spare_members_are_idle(name: str, members: int) -> None:
    wanted = partitions(("a", 4), ("b", 1))
    numbers = [ConsumerId(number + 1) for number in range(members)]
    found = ASSIGNORS[name](wanted, numbers, Assignment())
    assert list(found) == sorted(wanted)
    assert list(found.consumers) == numbers
