"""Tables take each offset once, and nothing is lost."""

import pytest
from tests.support.simulator.checking import ONE, ORDINARY, TABLE, P, Said, process

from restow.model import TopicPartition
from restow.protocol.topic_service import TopicService
from restow.simulator.checkers.stored import NothingLost, TakenOnce
from restow.simulator.world import World


@pytest.mark.parametrize(("first", "lines"), [(10, []), (5, [2]), (11, [2])])
def test_a_table_takes_each_offset_once_and_skips_none(world: World, first: int, lines: list[int]) -> None:
    said = Said()
    checker = TakenOnce(said)
    one = process(world, ONE, 10)
    checker.stored(one, P, TABLE, 0, 10)
    checker.stored(one, P, TABLE, first, 20)
    assert said == lines


@pytest.mark.parametrize(("service", "first", "lines"), [(ORDINARY, 5, []), (ORDINARY, 11, [3]), (TABLE, 11, [2])])
def test_repeats_are_allowed_in_an_ordinary_sink_and_gaps_nowhere(
    world: World, service: TopicService, first: int, lines: list[int]
) -> None:
    said = Said()
    checker = NothingLost(said)
    one = process(world, ONE, 10)
    checker.begun(P, service, 0)
    checker.stored(one, P, service, 0, 10)
    checker.stored(one, P, service, first, 20)
    assert said == lines


def test_what_is_before_the_start_of_a_topic_that_begins_at_its_end_is_not_lost(world: World) -> None:
    said = Said()
    checker = NothingLost(said)
    checker.begun(P, TopicService(start="latest"), 50)
    checker.stored(process(world, ONE, 10), P, TABLE, 50, 60)
    checker.begun(TopicPartition("topic-0", 1), TABLE, 50)
    checker.stored(process(world, ONE, 10), TopicPartition("topic-0", 1), TABLE, 50, 60)
    assert said == [2]
