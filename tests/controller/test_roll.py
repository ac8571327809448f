"""New settings: consumers are restarted with them one at a time, only its own partitions pausing."""

from dataclasses import replace

import pytest
from tests.support.controller_driver import (
    A0,
    A1,
    A2,
    A3,
    ELSEWHERE,
    RULES,
    SETTINGS,
    TO_A,
    Driver,
    Requests,
    create,
    delete,
    restart,
    rules,
)
from tests.support.rolls import NEWER, NEWEST, OLD, ends, rolling, two_with_old_settings, well

from restow.controller.event_log import replay
from restow.controller.roll import difference
from restow.controller.transitions import Cause, Stage
from restow.model import SortedMapping
from restow.protocol.consumer_settings import ConsumerSettings


@pytest.fixture
def group() -> Driver:
    return two_with_old_settings()


# One after the other.


def test_each_consumer_is_restarted_in_turn_and_continues_with_its_partitions(group: Driver) -> None:
    group.changes_consumers(NEWER)
    assert group.measures() == (restart(1, NEWER),)
    assert group.causes == [Cause.OUTDATED, Cause.NO_CHANGE]
    assert group.words[-1] == "consumer 1: restarting it (1 of 2): image none -> restow:2, variables none -> LOG_LEVEL"
    assert group.phases == {1: "rolling", 2: "ready"}
    assert ends(group, 1) == ()
    assert group.waits(20, silent=[1]) == ()
    assert group.is_ready(1) == (group.start(1, 1, a_0=10, a_1=10),)
    assert group.causes == [Cause.ROLLED, Cause.CHANGE]
    assert group.answers(1) == ()
    assert group.measures() == (), "the first has not reported yet"
    group.reports(1)
    assert group.measures() == (restart(2, NEWER),)
    assert group.words[-1].startswith("consumer 2: restarting it (2 of 2): ")
    ends(group, 2)
    assert group.is_ready(2) == (group.start(2, 1, a_2=10, a_3=10),)
    group.answers(2)
    assert group.waits(120) == ()
    assert (group.held, group.is_calm) == ({1: (A0, A1), 2: (A2, A3)}, True)


def test_a_consumer_that_was_killed_continues_from_its_checkpoint(group: Driver) -> None:
    group.changes_consumers(NEWER)
    group.measures()
    assert group.is_ready(1, A0, A1, clean=False) == ()
    assert group.causes == [Cause.ROLLED, Cause.NO_CHANGE]
    assert group.waits(29) == (), "until its grace period is over, it may be the process before"
    assert group.waits(11) == (restart(2, NEWER),)


def test_a_ready_that_was_sent_before_the_restart_does_not_end_the_roll(group: Driver) -> None:
    rolling(group)
    assert group.changes_consumers(NEWEST) == (restart(1, NEWEST),)
    assert group.is_ready(1) == (group.start(1, 1, a_0=10, a_1=10),), "its process with the settings before"
    group.answers(1)
    group.reports(1)
    assert group.measures() == (), "the new process is not ready: no other is restarted"
    assert ends(group, 1) == ()
    assert group.words == ["consumer 1: shuts down for its restart"]
    assert group.waits(60, silent=[1]) == ()
    group.is_ready(1)
    group.settles()
    group.reports(1)
    assert group.measures() == (restart(2, NEWEST),)


def test_a_change_that_no_process_is_started_with_restarts_no_consumer(group: Driver) -> None:
    group.changes_consumers(ConsumerSettings(capacity_bytes_per_s=200.0))
    group.changes_consumers(ConsumerSettings(capacity_bytes_per_s=100.0, memory_mb=1024))
    assert group.waits(30) == ()


def test_settings_that_are_reverted_in_time_restart_no_consumer(group: Driver) -> None:
    group.changes_consumers(NEWER)
    group.changes_consumers(ConsumerSettings())
    assert group.waits(30) == ()


def test_a_platform_that_does_not_tell_is_left_alone(pair: Driver) -> None:
    pair.changes_consumers(NEWER)
    assert pair.waits(30) == ()


def test_a_new_controller_finds_the_consumers_with_outdated_settings() -> None:
    driver = Driver()
    driver.changes_consumers(NEWER)
    well(driver.takes_over({1: (A0, A1), 2: (A2, A3)}, OLD))
    assert driver.measures() == (restart(1, NEWER),)


def test_a_new_controller_restarts_no_consumer_with_current_settings() -> None:
    driver = Driver()
    driver.changes_consumers(NEWER)
    well(driver.takes_over({1: (A0, A1), 2: (A2, A3)}, NEWER.fingerprint))
    assert driver.waits(30) == ()


def test_other_settings_of_the_file_count_as_well() -> None:
    larger = replace(RULES, consumer=replace(RULES.consumer, memory_mb=2048))
    driver = well(Driver(larger).takes_over({1: (A0, A1)}, OLD), a_0=40, a_1=40)
    assert driver.measures() == (restart(1, replace(SETTINGS, memory_mb=2048)),)
    assert driver.words[-1] == "consumer 1: restarting it (1 of 1): memory_mb 1024 -> 2048"


def test_a_list_from_before_the_restart_is_ignored(group: Driver) -> None:
    rolling(group)
    group.lists(1, 2, settings=OLD)
    group.is_ready(1)
    group.settles()
    group.reports(1)
    assert group.measures() == (restart(2, NEWER),)


# What comes first.


def test_overload_comes_first(group: Driver) -> None:
    group.changes_consumers(NEWER)
    assert group.measures(a_0=60, a_1=60, a_2=40, a_3=40) == (create(3, NEWER),)
    group.is_ready(3)
    group.settles()
    assert group.measures() == ()
    group.reports(3)
    assert group.measures() == (restart(1, NEWER),)
    assert group.words[-1].startswith("consumer 1: restarting it (2 of 3): "), "the new one has them already"


def test_a_consumer_that_can_t_run_a_transform_is_restarted_first(group: Driver) -> None:
    group.is_ready(2, A2, A3, clean=False, broken={"code:b": "no module named code"})
    group.settles()
    well(group)
    group.changes_consumers(NEWER)
    assert group.measures() == (restart(2, NEWER),)


def test_a_consumer_that_refuses_a_transform_is_restarted_before_anything_else() -> None:
    group = Driver(rules({"a": replace(TO_A, transform="code:a")}))
    well(group.takes_over({1: (A0, A1), 2: (A2, A3)}, OLD))
    group.changes_consumers(NEWER)
    del group.fakes[2].held[A3]
    group.hears(group.refused(2, None, A3, kind="transform"))
    group.settles()
    group.reports(1)
    group.reports(2)
    assert overloads_first(group) == (restart(2, NEWER),)


def test_overload_that_does_not_end_delays_a_restart_for_a_minute(group: Driver) -> None:
    """A consumer is overloaded again before it has reported on what the last plan gave it."""
    group.changes_consumers(NEWER)
    for _ in range(10):
        assert overloads_first(group) != (), "plans for the load come first"
        group.settles()
        for _ in range(6):
            group.ticks()
    assert overloads_first(group) == (), "the reports are waited for"
    group.reports(1)
    group.reports(2)
    assert overloads_first(group) == (restart(1, NEWER),)


def overloads_first(group: Driver) -> Requests:
    hot = {str(partition).replace("-", "_"): 60.0 for partition in group.held[1]}
    return group.measures(None, **{"a_0": 20.0, "a_1": 20.0, "a_2": 20.0, "a_3": 20.0} | hot)


def test_a_consumer_that_is_to_be_closed_is_not_rolled(group: Driver) -> None:
    group.waits(60)
    group.changes_consumers(NEWER)
    group.measures(a_0=20, a_1=20, a_2=20, a_3=5)
    assert group.causes == [Cause.OUTDATED, Cause.CHANGE]
    assert len(group.settles()) == 2
    [left] = [consumer for consumer, phase in group.phases.items() if phase == "ready"]
    group.reports(left)
    assert group.measures() == (restart(left, NEWER),)
    assert group.words[-1].startswith("consumer 1: restarting it (1 of 1): ")


def test_no_consumer_is_rolled_while_another_is_unhealthy(group: Driver) -> None:
    group.fails(2)
    group.changes_consumers(NEWER)
    assert group.waits(30) == ()
    group.is_ready(2, A2, A3, clean=False)
    assert group.waits(10) == (restart(1, NEWER),)


def test_no_consumer_is_rolled_while_speeds_are_stale(group: Driver) -> None:
    group.waits(31, measured=False)
    group.changes_consumers(NEWER)
    assert group.waits(30, measured=False) == ()
    assert group.waits(10) == (restart(1, NEWER),)


def test_no_consumer_is_rolled_while_a_lost_one_still_exists(group: Driver) -> None:
    group.waits(60, silent=[2])
    group.waits(180, silent=[2])
    group.settles()
    assert group.phases[2] == "lost"
    group.changes_consumers(NEWER)
    group.waits(30, silent=[2])
    assert "rolling" not in group.phases.values()


# All else goes on.


def test_partitions_that_wait_for_a_rolling_consumer_go_to_no_other(group: Driver) -> None:
    rolling(group)
    assert group.waits(100, silent=[1]) == ()
    assert group.state.stage is Stage.SENTINEL
    assert group.state.parked() == {A0, A1}


def test_overload_is_relieved_meanwhile(group: Driver) -> None:
    rolling(group)
    assert group.measures(a_0=40, a_1=40, a_2=60, a_3=60) == (create(3, NEWER),)
    assert group.is_ready(3) != ()
    group.settles()
    assert group.state.stage is Stage.SENTINEL, "it does not wait for the restarted consumer"
    assert group.is_ready(1) == (group.start(1, 1, a_0=10, a_1=10),)


def test_new_partitions_go_to_others_during_a_roll(group: Driver) -> None:
    rolling(group)
    assert group.measures(a_0=40, a_1=40, a_2=40, a_3=40, b_0=4) == (group.start(2, 1, b_0="recover"),)
    group.settles()
    assert group.is_ready(1) == (group.start(1, 1, a_0=10, a_1=10),)


def test_a_rolling_consumer_counts_towards_the_most_consumers() -> None:
    driver = well(Driver(rules(most_consumers=1)).takes_over({1: (A0, A1)}, OLD), a_0=40, a_1=40)
    rolling(driver)
    assert driver.measures(a_0=40, a_1=40, b_0=10) == ()
    driver.is_ready(1)
    driver.settles()
    driver.waits(10)
    driver.settles()
    assert sorted(map(str, driver.held[1])) == ["a-0", "a-1", "b-0"]


def test_a_definition_that_changes_during_a_roll_is_used_afterwards(group: Driver) -> None:
    rolling(group)
    assert group.changes("a", ELSEWHERE) == (group.stop(2, 1, A2, A3),)
    group.settles()
    assert group.is_ready(1) == (group.start(1, 1, a_0=10, a_1=10),)
    assert group.view(1).digests_of("a") == {ELSEWHERE.digest}


def test_a_topic_that_was_removed_meanwhile_is_not_started_again(group: Driver) -> None:
    rolling(group)
    group.changes("a", None)
    group.settles()
    assert group.is_ready(1) == (delete(1),)


def test_no_partition_waits_for_a_consumer_that_is_gone(group: Driver) -> None:
    rolling(group)
    assert group.goes(1) == (create(1, NEWER),)
    assert group.causes == [Cause.GONE, Cause.CHANGE]


# Notes and flags.


def test_a_flag_shows_the_progress_of_a_roll(group: Driver) -> None:
    group.changes_consumers(NEWER)
    group.measures()
    assert group.flags == {"older settings": "2 of 2 consumers still to be restarted with new settings"}
    ends(group, 1)
    group.is_ready(1)
    group.settles()
    group.reports(1)
    group.measures()
    assert group.flags == {"older settings": "1 of 2 consumers still to be restarted with new settings"}
    group.is_ready(2, A2, A3)
    group.measures()
    assert group.flags == {}


def test_no_value_of_a_variable_is_noted_or_logged_and_a_replay_agrees(group: Driver) -> None:
    secret = replace(NEWER, env=SortedMapping({"LOG_LEVEL": "hush-hush", "TZ": "UTC"}))
    rolling(group, secret)
    group.lists(1, 2, settings=secret.fingerprint)
    group.is_ready(1)
    group.settles()
    assert not any("hush" in line for line in group.log)
    steps = list(replay(group.log))
    assert all(step.agrees for step in steps)
    assert steps[-1].after.fingerprint == secret.fingerprint


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (SETTINGS.fingerprint, replace(SETTINGS, cores=2.0).fingerprint, "cores 1.0 -> 2.0"),
        (NEWER.fingerprint, replace(NEWER, env=SortedMapping({"LOG_LEVEL": "x"})).fingerprint, "values of LOG_LEVEL"),
        (NEWER.fingerprint, replace(NEWER, env=SortedMapping()).fingerprint, "variables LOG_LEVEL -> none"),
        ('{"pod": "1"}', '{"pod": "2"}', "pod 1 -> 2"),
        ("from another time", "[]", "other settings"),
        (None, "{}", "other settings"),
    ],
)
def test_the_difference_of_settings_in_words(before: str | None, after: str, words: str) -> None:
    assert difference(before, after) == words
