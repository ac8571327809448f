"""Manage: the group reaches the target, and no consumer starts a partition that another may still read."""

from tests.support.controller_driver import A0, A1, A2, A3, A4, TO_B, Driver, create, delete, query

from restow.controller.effects import Moved
from restow.controller.transitions import Cause, Stage


def moving(driver: Driver) -> Driver:
    """a-0 grows, so that a-1 leaves consumer 1 for consumer 3, which is created."""
    assert driver.measures(a_0=60, a_1=40, a_2=40, a_3=40) == (create(3),)
    assert driver.causes == [Cause.OVERLOAD, Cause.CHANGE]
    return driver


def test_a_move_waits_until_every_new_consumer_is_ready(pair: Driver) -> None:
    moving(pair)
    assert pair.waits(10) == ()
    assert pair.is_ready(3) == (pair.stop(1, 1, A1),)


def test_a_partition_waits_until_its_old_owner_lets_go_and_begins_where_that_stopped(pair: Driver) -> None:
    moving(pair).is_ready(3)
    assert pair.measures() == ()
    pair.fakes[1].held[A1] = 1234
    assert pair.answers(1) == (pair.start(3, 1, a_1=1234),)
    assert pair.answers(3) == ()
    assert pair.moved == (Moved(Stage.MANAGE, Stage.SENTINEL, Cause.DONE, "every partition is where it should be"),)
    assert pair.held == {1: (A0,), 2: (A2, A3), 3: (A1,)}


def test_a_stop_without_an_offset_starts_the_partition_with_recover(pair: Driver) -> None:
    moving(pair).is_ready(3)
    assert pair.hears(pair.stopped(1, 1, {A1: None})) == (pair.start(3, 1, a_1="recover"),)


def test_unheld_partitions_start_as_soon_as_their_own_consumer_is_ready(pair: Driver) -> None:
    assert pair.measures(a_0=80, a_1=75, a_2=20, a_3=20, a_4=30) == (create(3), pair.start(2, 1, a_4="recover"))
    assert pair.answers(2) == ()
    assert pair.is_ready(3) == (pair.stop(1, 1, A1),)


def test_nothing_is_moved_while_one_of_two_new_consumers_is_not_ready(pair: Driver) -> None:
    assert pair.measures(a_0=70, a_1=50, a_2=70, a_3=50) == (create(3), create(4))
    assert pair.is_ready(3) == ()
    assert pair.is_ready(4) == (pair.stop(1, 1, A1), pair.stop(2, 1, A3))
    assert pair.settles() == (pair.start(3, 1, a_1=10), pair.start(4, 1, a_3=10))


def test_only_when_nothing_is_left_are_empty_consumers_deleted(pair: Driver) -> None:
    pair.waits(55)
    assert pair.measures(a_0=20, a_1=20, a_2=10, a_3=10) == ()
    assert pair.waits(5) == (pair.stop(2, 1, A2, A3),)
    assert pair.causes == [Cause.PERIODIC, Cause.CHANGE]
    assert pair.answers(2) == (pair.start(1, 1, a_2=10, a_3=10),)
    assert pair.answers(1) == (delete(2),)
    assert pair.causes == [Cause.DONE]
    assert pair.words == ["consumer 2: no partitions left; deleting it"]
    assert pair.phases == {1: "ready", 2: "leaving"}


def test_an_unanswered_start_counts_as_held_and_is_stopped_before_it_starts_elsewhere(alone: Driver) -> None:
    alone.measures(a_0=40, a_1=40)
    assert alone.is_ready(1) == (alone.start(1, 1, a_0="recover", a_1="recover"),)
    assert alone.view(1).may_hold == {A0, A1}
    alone.measures(a_0=70, a_1=50)
    assert alone.changes("c", TO_B) == (create(2),)
    assert alone.is_ready(2) == (alone.stop(1, 2, A1),)
    to_start, to_stop = alone.inbox[1]
    assert alone.hears(alone.answer_of(1, to_start)) == ()
    assert alone.hears(alone.answer_of(1, to_stop)) == (alone.start(2, 1, a_1=0),)


def test_an_unanswered_start_of_a_topic_that_goes_is_stopped_too(alone: Driver) -> None:
    alone.measures(a_0=40)
    alone.is_ready(1)
    assert alone.changes("a", None) == (alone.stop(1, 2, A0),)
    assert alone.answers(1) == (delete(1),)


def test_a_consumer_that_disappears_during_a_move_causes_a_new_plan(pair: Driver) -> None:
    moving(pair).is_ready(3)
    pair.goes(3)
    assert pair.causes == [Cause.GONE, Cause.CHANGE]
    assert pair.words[:2] == ["consumer 3: gone", "group: 2 -> 3 consumers, 1 move of 0.4 capacities"]


def test_topics_that_change_during_a_move_cause_a_new_plan(pair: Driver) -> None:
    moving(pair).is_ready(3)
    assert pair.changes("a", None) == (pair.stop(1, 2, A0), pair.stop(2, 1, A2, A3))
    assert pair.causes == [Cause.TOPICS, Cause.CHANGE]
    assert pair.settles() == (delete(1), delete(2), delete(3))


def test_a_refusal_during_a_move_causes_a_new_plan(pair: Driver) -> None:
    moving(pair).is_ready(3)
    pair.answers(1)
    assert pair.hears(pair.refused(3, 1, A1)) == ()  # consumer 3 is kept for it
    assert pair.causes == [Cause.REFUSED, Cause.NO_CHANGE]


def test_a_stopping_partition_that_stays_after_all_starts_again_at_once(pair: Driver) -> None:
    moving(pair)
    pair.is_ready(3)
    assert pair.measures(a_0=40, a_1=40, a_2=40, a_3=40) == ()
    assert pair.goes(3) == ()
    assert pair.state.stage is Stage.MANAGE
    assert pair.answers(1) == (pair.start(1, 2, a_1=10),)
    assert pair.answers(1) == ()
    assert pair.is_calm


def test_new_consumers_get_the_lowest_free_numbers(pair: Driver) -> None:
    pair.lists(1, 2, 3)
    assert pair.phases == {1: "ready", 2: "ready", 3: "asked"}
    assert pair.inbox[3] == [query(3).message]
    assert pair.measures(a_0=60, a_1=60, a_2=60, a_3=60) == (create(4), create(5))


def test_a_consumer_that_comes_to_be_ready_with_partitions_of_others_has_them_stopped(pair: Driver) -> None:
    moving(pair)
    assert pair.is_ready(3, A2) == (pair.stop(1, 1, A1), pair.stop(2, 1, A2), pair.stop(3, 1, A2))
    pair.settles()
    assert pair.held == {1: (A0,), 2: (A2, A3), 3: (A1,)}


def test_the_answer_to_a_stop_settles_an_earlier_start_of_its_partitions(pair: Driver) -> None:
    """Both came in one cycle of the consumer's: it never opened the partition."""
    assert pair.measures(a_0=40, a_1=40, a_2=40, a_3=10, a_4=20) == (pair.start(2, 1, a_4="recover"),)
    assert pair.changes("a", None) == (pair.stop(1, 1, A0, A1), pair.stop(2, 2, A2, A3, A4))
    pair.hears(pair.started(2, 1, {}))
    pair.hears(pair.stopped(2, 2, {A2: 10, A3: 10, A4: None}))
    assert pair.view(2).sent == ()
