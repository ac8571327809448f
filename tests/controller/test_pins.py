"""Pins: taken or refused in words, held against load, and dropped before a partition stays unread."""

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, A4, Driver, create, rules

from restow.controller.event_log import replay
from restow.controller.transitions import Cause
from restow.model import ConsumerId, TopicPartition
from restow.protocol.messages.desired import GroupPause, PartitionPin, RecommendOnly

NOON_FIVE, ONE_PM = "2026-03-01T12:05:00Z", "2026-03-01T13:00:00Z"
UNTIL = "pinned until 2026-03-01 13:00:00 UTC, by anna@host-a"


def pin(partition: TopicPartition, consumer: int | None, until: str = ONE_PM, reason: str = "") -> PartitionPin:
    if consumer is None:
        return PartitionPin(partition, None, by="anna@host-a", reason=reason)
    return PartitionPin(partition, ConsumerId(consumer), until, "anna@host-a", "2026-03-01T12:00:00Z", reason)


def answer(driver: Driver) -> tuple[bool, str]:
    """To the last record."""
    last = driver.state.desired.answers[-1]
    assert last.offset == driver.service_offset
    return last.taken, last.words


@pytest.fixture
def group() -> Driver:
    """Two consumers: a-0 and a-1 at 20 % each on the first, a-2 and a-3 at 30 % each on the second."""
    driver = Driver(rules(look_every_s=60.0, least_consumers=2)).takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=20, a_1=20, a_2=30, a_3=30)
    assert driver.is_calm
    return driver


def moved(driver: Driver) -> Driver:
    """a-0 is pinned to consumer 2, and there."""
    driver.desires(pin(A0, 2))
    driver.settles()
    assert driver.held == {1: (A1,), 2: (A0, A2, A3)}
    return driver


# Taken.


def test_a_pinned_partition_moves_at_once_and_the_reason_is_the_pin(group: Driver) -> None:
    assert group.desires(pin(A0, 2, reason="its producer is loud")) == (group.stop(1, 1, A0),)
    assert group.causes == [Cause.PINNED, Cause.CHANGE]
    assert answer(group) == (True, f"taken: it moves to consumer 2, {UNTIL}: its producer is loud")
    assert group.words[-1] == (
        f"a-0: a-0 goes from consumer 1 to 2: {UNTIL}: its producer is loud; "
        "consumer 2 had room (60 % before, 80 % after)"
    )
    group.settles()
    assert group.held == {1: (A1,), 2: (A0, A2, A3)}
    assert group.waits(300) == ()


def test_a_pin_where_the_partition_is_keeps_it_there(group: Driver) -> None:
    assert group.desires(pin(A0, 1)) == ()
    assert answer(group) == (True, f"taken: it stays on consumer 1, {UNTIL}")


def test_a_consumer_with_a_pinned_partition_is_not_closed_until_the_pin_ends() -> None:
    driver = Driver().takes_over({1: (A0, A1), 2: (A2,)})
    driver.desires(pin(A2, 2, NOON_FIVE))
    driver.desires(pin(A0, 1, NOON_FIVE))
    driver.measures(a_0=30, a_1=20, a_2=10)
    assert driver.waits(299) == ()
    driver.ticks(1.0)
    assert not driver.state.desired.pins
    driver.waits(60)
    driver.settles()
    assert sorted(driver.phases.values()) == ["leaving", "ready"]


def test_other_partitions_leave_an_overloaded_consumer_first() -> None:
    driver = Driver(rules(least_consumers=2)).takes_over({1: (A0, A1), 2: (A2,)})
    driver.measures(a_0=20, a_1=40, a_2=30)
    driver.desires(pin(A0, 1))
    assert driver.measures(a_0=20, a_1=90, a_2=30) == (create(3),)
    driver.is_ready(3)
    driver.settles()
    assert A0 in driver.held[1]
    assert A1 not in driver.held[1]


def test_pinned_partitions_that_overload_their_consumer_are_flagged(group: Driver) -> None:
    moved(group)
    for partition in (A2, A3):
        group.desires(pin(partition, 2))
    group.measures(a_0=50, a_1=20, a_2=50, a_3=50)
    group.settles()
    assert group.held[2] == (A0, A2, A3)
    assert group.flags["too much pinned"] == (
        "the partitions pinned to consumer 2 are too fast for it; move or unpin one"
    )
    assert group.waits(30) == ()
    group.desires(pin(A2, None))
    assert group.measures() == (group.stop(2, 2, A2),), "what overloads it may leave at once"
    assert "too much pinned" in group.flags, "a-0 and a-3 are still too fast for it"
    group.settles()
    group.measures(a_0=40, a_1=20, a_2=50, a_3=50)
    group.waits(60)
    assert "too much pinned" not in group.flags


def test_a_pin_ends_at_its_time_and_is_noted(group: Driver) -> None:
    group.desires(pin(A0, 2, NOON_FIVE))
    group.settles()
    group.waits(299)
    assert A0 in group.state.desired.pins
    group.ticks(1.0)
    assert group.words == ["a-0: not pinned any more: its time is over"]
    assert not group.state.desired.pins


def test_a_clock_that_jumps_ends_a_pin_early_and_does_nothing_else(group: Driver) -> None:
    moved(group)
    group.clock_off_s = 7200.0
    assert group.ticks(1.0) == ()
    group.clock_off_s = -7200.0
    assert group.ticks(1.0) == ()
    assert not group.state.desired.pins
    assert group.held == {1: (A1,), 2: (A0, A2, A3)}


def test_unpinning_ends_a_pin(group: Driver) -> None:
    moved(group)
    assert group.desires(pin(A0, None, reason="done")) == ()
    assert group.words == ["a-0: not pinned any more, by anna@host-a: done"]
    assert answer(group) == (True, "taken")


def test_a_pin_replaces_the_one_before(group: Driver) -> None:
    moved(group)
    assert group.desires(pin(A0, 1)) == (group.stop(2, 2, A0),)
    group.settles()
    assert group.held == {1: (A0, A1), 2: (A2, A3)}


def test_a_pin_given_in_the_middle_of_a_move_is_carried_out_after_it(group: Driver) -> None:
    group.measures(a_0=10, a_1=10, a_2=30, a_3=30)
    group.desires(pin(A0, 2))
    assert group.desires(pin(A1, 2)) == (), "one after the other"
    assert answer(group) == (True, f"taken: it moves to consumer 2, {UNTIL}")
    group.settles()
    group.waits(6)
    group.settles()
    assert group.held == {1: (), 2: (A0, A1, A2, A3)}


# Refused.


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (pin(A0, 2, "2026-03-01T11:00:00Z"), "refused: its time was over at 2026-03-01 11:00:00 UTC"),
        (pin(TopicPartition("c", 0), 2), "refused: the group does not consume c"),
        (pin(A4, 2), "refused: a-4 is not known; the monitor has not measured it"),
        (pin(A0, 7), "refused: there is no consumer 7; the group has 1, 2"),
    ],
)
def test_a_pin_that_can_not_be_is_refused_in_words(group: Driver, record: PartitionPin, words: str) -> None:
    assert group.desires(record) == ()
    assert answer(group) == (False, words)
    assert group.words == [f"{record.partition}: not pinned to consumer {record.consumer}, by anna@host-a; {words}"]
    assert not group.state.desired.pins
    assert group.waits(120) == ()


def test_a_pin_that_would_overload_its_consumer_is_refused(group: Driver) -> None:
    group.measures(a_0=50, a_1=20, a_2=30, a_3=30)
    group.desires(pin(A0, 2))
    assert answer(group) == (
        False,
        "refused: consumer 2 would be at 110 % of its capacity, above the limit of 95 %",
    )
    assert group.waits(120) == ()


def test_pins_on_their_way_count_for_the_next(group: Driver) -> None:
    group.measures(a_0=30, a_1=30, a_2=30, a_3=30)
    group.desires(pin(A0, 2))
    assert answer(group)[0]
    group.desires(pin(A1, 2))
    assert answer(group) == (
        False,
        "refused: consumer 2 would be at 120 % of its capacity, above the limit of 95 %",
    )


def test_a_consumer_that_is_not_ready_gets_no_pin(group: Driver) -> None:
    group.fails(2)
    group.desires(pin(A0, 2))
    assert answer(group) == (False, "refused: consumer 2 is restarting; move the partition when it is ready")
    group.measures(a_0=90, a_1=90, a_2=30, a_3=30)
    assert group.phases[3] == "awaited"
    group.desires(pin(A0, 3))
    assert answer(group) == (False, "refused: consumer 3 is starting; move the partition when it is ready")


def test_a_consumer_that_is_being_closed_gets_no_pin() -> None:
    driver = Driver(rules(look_every_s=60.0)).takes_over({1: (A0, A1), 2: (A2,)})
    driver.measures(a_0=30, a_1=20, a_2=10)
    driver.waits(60)
    assert driver.state.target is not None
    assert driver.state.target.consumers == (1,)
    driver.desires(pin(A0, 2))
    assert answer(driver) == (False, "refused: consumer 2 is being closed")


# Recovery comes first.


def test_a_pin_is_dropped_when_its_consumer_is_gone(group: Driver) -> None:
    moved(group)
    group.goes(2)
    assert "a-0: not pinned any more: consumer 2 is gone" in group.words
    group.is_ready(2)
    group.settles()
    assert sorted(partition for held in group.held.values() for partition in held) == [A0, A1, A2, A3]


def test_a_pin_is_dropped_when_its_consumer_is_given_up(group: Driver) -> None:
    moved(group)
    group.fails(2)
    group.waits(190, silent=[2])
    assert group.phases[2] == "lost"
    assert not group.state.desired.pins
    group.is_ready(3)
    group.settles()
    assert [consumer for consumer, held in group.held.items() if consumer != 2 and A0 in held], "another reads it"


def test_a_pin_holds_while_its_consumer_restarts(group: Driver) -> None:
    moved(group)
    group.fails(2)
    assert group.waits(20, silent=[2]) == ()
    assert group.is_ready(2, A0, A2, A3, clean=False) == ()
    assert group.waits(60) == ()
    assert A0 in group.state.desired.pins


def test_a_pin_that_has_yet_to_be_carried_out_waits_for_its_consumer(group: Driver) -> None:
    group.desires(pin(A0, 2))
    group.fails(2)
    group.answers(1)
    group.is_ready(2, A2, A3, clean=False)
    group.settles()
    group.waits(10)
    group.settles()
    assert group.held == {1: (A1,), 2: (A0, A2, A3)}


def test_a_pin_is_dropped_when_its_consumer_refuses_the_partition(group: Driver) -> None:
    group.desires(pin(A0, 2))
    group.answers(1)
    group.hears(group.refused(2, 1, A0))
    assert "a-0: not pinned any more: consumer 2 refused it, and another may read it" in group.words
    assert not group.state.desired.pins


def test_a_pin_is_dropped_with_its_topic(group: Driver) -> None:
    moved(group)
    group.changes("a", None)
    assert "a-0: not pinned any more: the group does not consume a any more" in group.words


# Speeds, and a new controller.


def test_without_speeds_a_pin_is_judged_when_they_arrive(group: Driver) -> None:
    group.waits(31, measured=False)
    assert group.desires(pin(A0, 2)) == ()
    assert answer(group) == (
        True,
        "taken; it is judged when speeds arrive, which say whether the consumer has room",
    )
    assert group.measures() == (group.stop(1, 1, A0),)
    assert answer(group)[1].startswith("taken: it moves to consumer 2")


def test_a_new_controller_keeps_a_pin_that_is_carried_out_and_forgets_one_that_has_ended() -> None:
    driver = Driver()
    driver.ticks(0.0)
    driver.desires(pin(A0, 2))
    driver.desires(pin(A1, 2, "2026-03-01T11:00:00Z"))
    driver.takes_over({1: (A1,), 2: (A0,)})
    assert driver.state.desired.pins.keys() == {A0}
    assert driver.measures(a_0=10, a_1=10) == (driver.stop(1, 1, A1),), "the other consumer is closed"


def test_a_new_controller_carries_out_a_pin_that_was_not() -> None:
    driver = Driver(rules(least_consumers=2))
    driver.ticks(0.0)
    driver.desires(pin(A0, 2))
    driver.takes_over({1: (A0, A1), 2: (A2,)})
    assert driver.measures(a_0=20, a_1=20, a_2=20) == (driver.stop(1, 1, A0),)


def test_a_pin_of_the_past_is_judged_like_a_new_one_by_a_new_controller() -> None:
    driver = Driver(rules(least_consumers=2))
    driver.ticks(0.0)
    driver.desires(pin(A0, 2))
    driver.takes_over({1: (A0,), 2: (A2,)})
    assert driver.measures(a_0=60, a_2=60) == ()
    assert answer(driver)[0] is False


def test_the_log_of_a_pin_is_replayed(group: Driver) -> None:
    moved(group)
    group.waits(20)
    assert sum(1 for _ in replay(group.log)) > 20


# Pause and recommend only.


@pytest.mark.parametrize("hold", [GroupPause(True), RecommendOnly(True)])
def test_a_pin_is_carried_out_in_a_held_group_and_nothing_else(group: Driver, hold: GroupPause | RecommendOnly) -> None:
    group.desires(hold)
    assert group.desires(pin(A0, 2)) == (group.stop(1, 1, A0),)
    group.settles()
    assert group.held == {1: (A1,), 2: (A0, A2, A3)}
    group.measures(a_0=60, a_1=20, a_2=30, a_3=30)
    assert group.waits(120) == (), "overload is not relieved"


def test_a_pin_holds_when_the_pause_ends(group: Driver) -> None:
    group.desires(GroupPause(True))
    group.desires(pin(A0, 2))
    group.settles()
    group.measures(a_0=60, a_1=20, a_2=30, a_3=30)
    assert group.desires(GroupPause(False)) != (), "the overload is relieved"
    group.settles()
    assert group.held == {1: (A1, A2, A3), 2: (A0,)}


def test_a_pin_that_ends_before_its_move_begins_moves_nothing_in_a_held_group(group: Driver) -> None:
    group.desires(GroupPause(True))
    group.fails(1)
    assert group.desires(pin(A0, 2, NOON_FIVE)) == (), "consumer 1 can't be asked before it is back"
    group.clock_off_s = 7200.0
    assert group.ticks(1.0) == ()
    assert group.is_ready(1, A0, A1, clean=False) == ()
    group.settles()
    assert group.held == {1: (A0, A1), 2: (A2, A3)}
