"""Starts that fail or are late, and the least number of consumers."""

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, PLAIN, SETTINGS, Driver, create, delete, restart, rules
from tests.support.rolls import NEWER, ends, well

from restow.controller.transitions import Cause, Stage

FLAG = "failed starts"


@pytest.fixture
def two() -> Driver:
    """In Sentinel with two consumers, the fewest that the group may have. One could carry the load; and a start takes
    longer than `ready_within_s` allows."""
    chosen = rules(least_consumers=2, ready_within_s=10.0, create_again_after_s=6.0)
    driver = Driver(chosen).takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=10, a_1=10, a_2=10, a_3=10)
    assert driver.is_calm
    return driver


def test_a_late_consumer_stays_if_there_are_too_few_without_it(two: Driver) -> None:
    assert create(2) in two.goes(2)
    two.settles()
    assert two.waits(10) == (two.start(1, 2, a_2="recover"),), "no partition waits for it"
    assert two.words[0] == (
        "consumer 2: not ready within 10 s; waiting for it, without it there are fewer than least_consumers (2)"
    )
    words = "consumers are not ready within 10 s; if a start takes longer than that, raise"
    assert two.flags[FLAG] == f"{words} [controller] ready_within_s"
    assert two.settles() == ()
    assert two.waits(20) == ()
    assert (two.phases, two.state.stage) == ({1: "ready", 2: "awaited"}, Stage.SENTINEL)


def test_a_late_consumer_takes_its_part_when_it_is_ready(two: Driver) -> None:
    two.goes(2)
    two.waits(10)
    two.settles()
    two.waits(3)
    two.is_ready(2)
    words = "consumer 2 was ready after 13 s, and [controller] ready_within_s is 10; raise it"
    assert two.flags[FLAG] == words, "it stays raised: the next start is late too"
    assert two.measures() == ()
    assert two.causes == [Cause.PERIODIC, Cause.NO_CHANGE]
    assert (two.phases, two.waits(200)) == ({1: "ready", 2: "ready"}, ()), "both stay, as the settings demand"
    assert two.measures(a_0=60, a_1=30, a_2=30, a_3=10) == (two.stop(1, 3, A0),), "and it is used, not a third"


def test_a_start_in_time_clears_the_flag(two: Driver) -> None:
    two.goes(2)
    two.waits(12)
    two.settles()
    two.is_ready(2)
    two.measures()
    two.goes(2)
    two.is_ready(2)
    assert two.flags == {}


def test_a_late_consumer_that_becomes_ready_in_the_middle_of_a_change_is_not_deleted(two: Driver) -> None:
    two.goes(2)
    assert two.waits(10) != ()
    assert two.state.stage is Stage.MANAGE
    two.is_ready(2)
    two.settles()
    assert two.phases == {1: "ready", 2: "ready"}
    assert two.waits(70) == ()
    assert two.phases == {1: "ready", 2: "ready"}


def test_both_consumers_of_a_new_group_are_waited_for() -> None:
    driver = Driver(rules(least_consumers=2, ready_within_s=10.0)).takes_over()
    assert driver.measures(a_0=10, a_1=10) == (create(1), create(2))
    assert driver.waits(15) == ()
    assert driver.phases == {1: "awaited", 2: "awaited"}
    driver.is_ready(1)
    driver.is_ready(2)
    assert len(driver.waits(5, measured=False)) >= 1, "they get their partitions at once"
    driver.settles()
    assert sorted(map(str, (*driver.held[1], *driver.held[2]))) == ["a-0", "a-1"]


def test_of_two_late_consumers_only_the_one_that_is_needed_stays(two: Driver) -> None:
    two.goes(2)
    two.waits(10)
    two.settles()
    two.waits(6)
    assert two.measures(a_0=50, a_1=50, a_2=10, a_3=10) == (create(3),), "the load needs one"
    assert two.waits(10) == (delete(3),)
    assert two.phases[2] == "awaited"


def test_a_late_consumer_is_deleted_when_others_are_enough(two: Driver) -> None:
    two.goes(2)
    two.waits(10)
    two.settles()
    two.waits(6)
    assert two.measures(a_0=50, a_1=50, a_2=10, a_3=10) == (create(3),)
    two.is_ready(3)
    two.settles()
    assert two.waits(2) == (delete(2),)


def test_a_start_that_hangs_is_given_up_after_a_time_that_grows(two: Driver) -> None:
    two.goes(2)
    two.waits(10)
    two.settles()
    assert two.waits(29) == (), "four times ready_within_s"
    assert two.waits(1) == (delete(2),)
    two.goes(2)
    assert two.waits(6) == (create(2),)
    assert two.waits(159) == ()
    assert two.waits(1) == (delete(2),)


def test_a_late_consumer_is_waited_for_as_long_after_another_is_ready() -> None:
    driver = Driver(rules(least_consumers=2, ready_within_s=10.0, create_again_after_s=6.0)).takes_over()
    assert driver.measures(a_0=10, a_1=10) == (create(1), create(2))
    driver.waits(12)
    driver.is_ready(1)
    driver.settles()
    assert delete(2) not in driver.waits(27)
    driver.settles()
    assert delete(2) in driver.waits(1)


def test_without_a_least_number_a_late_consumer_is_deleted() -> None:
    driver = Driver(rules(ready_within_s=10.0)).takes_over()
    assert driver.measures(a_0=10) == (create(1),)
    assert driver.waits(10) == (delete(1),)
    assert driver.flags[FLAG].endswith("raise [controller] ready_within_s")


def test_the_pause_does_not_grow_while_there_are_too_few(two: Driver) -> None:
    two.goes(2)
    for _ in range(4):
        two.fails(2)
        two.settles()
        two.goes(2)
        assert two.waits(5) == ()
        assert two.waits(1) == (create(2),), "at once when the pause is over"
    assert two.flags[FLAG] == "a consumer can't be started: no memory"


def test_a_pause_that_has_grown_ends_when_there_are_too_few() -> None:
    driver = Driver(rules(least_consumers=2)).takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=60, a_1=60, a_2=60, a_3=10)
    for pause_s in (30, 60, 120):
        driver.fails(3)
        driver.settles()
        driver.goes(3)
        driver.waits(pause_s)
    driver.fails(3)
    driver.settles()
    driver.goes(3)
    driver.waits(40)
    assert not driver.state.may_create, "240 s in all"
    driver.goes(2)
    driver.settles()
    assert driver.waits(29) == ()
    assert driver.waits(2) == (create(2), create(3)), "after the first pause"


def test_a_late_consumer_counts_towards_the_most_consumers() -> None:
    driver = Driver(rules(least_consumers=2, most_consumers=2, ready_within_s=10.0))
    driver.takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=10, a_1=10, a_2=10, a_3=10)
    driver.goes(2)
    driver.waits(10)
    driver.settles()
    driver.measures(a_0=50, a_1=50, a_2=10, a_3=10)
    assert driver.waits(25) == ()


def test_a_late_consumer_that_vanished_is_noticed_in_the_list(two: Driver) -> None:
    two.goes(2)
    two.waits(10)
    two.settles()
    two.lists(1)
    assert 2 not in two.phases


def test_the_flag_is_cleared_when_no_more_consumers_are_needed(pair: Driver) -> None:
    pair.measures(a_0=60, a_1=60, a_2=40, a_3=40)
    pair.fails(3)
    pair.settles()
    pair.goes(3)
    pair.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    assert FLAG in pair.flags
    pair.waits(120)
    assert FLAG not in pair.flags


# In a roll.


def test_a_late_consumer_in_a_roll_stays_and_its_partitions_go_to_others() -> None:
    group = Driver(rules(least_consumers=2, ready_within_s=10.0))
    group = well(group.takes_over({1: (A0, A1), 2: (A2, A3)}, SETTINGS.fingerprint), a_0=10, a_1=10, a_2=10, a_3=10)
    group.changes_consumers(NEWER)
    assert group.measures() == (restart(1, NEWER),)
    ends(group, 1)
    assert group.waits(10, silent=[1]) == (group.start(2, 1, a_0=10, a_1=10),)
    group.settles()
    assert group.waits(3, silent=[1]) == ()
    assert group.phases == {1: "rolling", 2: "ready"}
    group.is_ready(1)
    group.settles()
    assert group.waits(10)[-1:] == (restart(2, NEWER),), "the roll goes on"
    assert group.phases == {1: "ready", 2: "rolling"}


def test_a_late_consumer_in_a_roll_that_may_still_write_is_given_up() -> None:
    group = Driver(rules({"a": PLAIN}, least_consumers=2, ready_within_s=10.0, silent_after_s=8.0))
    group = well(group.takes_over({1: (A0, A1), 2: (A2, A3)}, SETTINGS.fingerprint), a_0=10, a_1=10, a_2=10, a_3=10)
    group.changes_consumers(NEWER)
    group.measures()
    assert delete(1) in group.waits(10, silent=[1])
    assert group.phases[1] == "lost"


# After a crash.


def test_the_group_keeps_its_least_number_when_a_restart_and_the_next_start_are_late(two: Driver) -> None:
    two.fails(2)
    two.waits(60, silent=[2])
    assert two.waits(11, silent=[2])[:2] == (delete(2), create(3))
    assert two.phases == {1: "ready", 2: "lost", 3: "awaited"}
    two.goes(2)
    two.settles()
    assert two.waits(12) == (two.start(1, 2, a_2="recover"),)
    two.settles()
    two.is_ready(3)
    assert two.waits(20) == ()
    assert two.phases == {1: "ready", 3: "ready"}


def test_a_late_consumer_stays_if_too_few_are_left_once_another_is_given_up() -> None:
    chosen = rules(least_consumers=2, ready_within_s=10.0, silent_after_s=8.0)
    driver = Driver(chosen).takes_over({1: (A0,), 2: (A1,), 3: (A2, A3)})
    driver.measures(a_0=60, a_1=60, a_2=50, a_3=10)
    assert create(1) in driver.goes(1)
    driver.crashes(2)
    sent = driver.waits(10, silent=(2,))
    assert delete(2) in sent, "it does not come back"
    assert delete(1) not in sent, "only consumer 3 would be left"
    assert driver.phases == {1: "awaited", 2: "lost", 3: "ready"}
