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
    Driver,
    Requests,
    create,
    delete,
    restart,
    rules,
)

from restow.controller.event_log import replay
from restow.controller.roll import difference
from restow.controller.transitions import Cause, Stage
from restow.model import SortedMapping
from restow.protocol.consumer_settings import ConsumerSettings

NEWER = ConsumerSettings("restow:2", 1024, 1.0, 100.0, SortedMapping({"LOG_LEVEL": "debug"}))
NEWEST = replace(NEWER, image="restow:3")
OLD = SETTINGS.fingerprint


@pytest.fixture
def group() -> Driver:
    """Two consumers that run by the settings that hold, each with two partitions at 40 % of a consumer."""
    return well(Driver().takes_over({1: (A0, A1), 2: (A2, A3)}, OLD))


def well(driver: Driver, **speeds: float) -> Driver:
    """Everybody has reported, and speeds are known."""
    for consumer in sorted(driver.fakes):
        driver.reports(consumer)
    driver.measures(None, **(speeds or {"a_0": 40, "a_1": 40, "a_2": 40, "a_3": 40}))
    assert driver.is_calm
    return driver


def ends(driver: Driver, consumer: int) -> Requests:
    """As after SIGTERM: it stops its partitions, reports their offsets, and its process ends."""
    fake = driver.fakes[consumer]
    message = driver.stopped(consumer, None, fake.held)
    fake.held = {}
    return driver.hears(message)


def rolling(driver: Driver, settings: ConsumerSettings = NEWER) -> Driver:
    """The first is being restarted, and has ended as it should."""
    assert driver.changes_consumers(replace(settings, capacity_bytes_per_s=None)) == ()
    assert driver.measures() == (restart(1, settings),)
    assert ends(driver, 1) == ()
    return driver


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


# Settings by which nothing comes up.


def test_a_consumer_that_does_not_start_halts_the_roll_and_its_partitions_go_to_others(group: Driver) -> None:
    rolling(group)
    group.ticks()
    assert group.fails(1, "no such image") == (delete(1), group.start(2, 1, a_0=10, a_1=10))
    stops = "no other is restarted until a new consumer is ready with them"
    assert group.words[:2] == [
        f"consumer 1: can't be started: no such image with its new settings; {stops}",
        "consumer 1: deleting it, no consumer is created for 30 s",
    ]
    assert group.causes == [Cause.NOT_READY, Cause.CHANGE]
    assert group.settles() == ()
    group.goes(1)
    assert group.waits(28) == ()


def test_the_settings_are_tried_with_a_new_one_after_a_pause_that_grows(group: Driver) -> None:
    rolling(group)
    group.ticks()
    group.fails(1)
    group.settles()
    group.goes(1)
    group.measures(a_0=10, a_1=10, a_2=10, a_3=10)  # one could carry it all: it is tried all the same
    assert group.waits(26) == ()
    assert group.waits(5) == (create(1, NEWER),)
    assert group.fails(1) == (delete(1),)
    group.goes(1)
    assert group.waits(58) == ()
    assert group.waits(5) == (create(1, NEWER),)
    assert group.phases == {1: "awaited", 2: "ready"}


def test_the_roll_goes_on_when_a_new_one_has_come_up(group: Driver) -> None:
    rolling(group)
    group.ticks()
    group.fails(1)
    group.settles()
    group.goes(1)
    group.waits(31)
    group.is_ready(1)
    group.settles()
    group.reports(1)
    group.measures()
    assert group.flags == {"older settings": "1 of 2 consumers still to be restarted with new settings"}
    assert group.phases == {1: "ready", 2: "rolling"}


def test_a_consumer_that_did_not_stop_cleanly_and_does_not_start_is_given_up(group: Driver) -> None:
    group.changes_consumers(NEWER)
    group.measures()
    requests = group.waits(180, silent=[1])
    assert requests == (delete(1), group.start(2, 1, a_0="recover", a_1="recover"))
    assert Cause.HANDOVER in group.causes
    assert group.phases == {1: "lost", 2: "ready"}


def test_a_rolling_consumer_that_is_not_ready_in_time_is_deleted(group: Driver) -> None:
    rolling(group)
    assert group.waits(180, silent=[1]) == (delete(1), group.start(2, 1, a_0=10, a_1=10))
    assert "consumer 1: not ready within 180 s with its new settings" in group.words[0]


def test_a_failure_reported_at_once_is_about_the_old_process(group: Driver) -> None:
    group.changes_consumers(NEWER)
    group.measures()
    assert group.fails(1) == ()
    assert group.phases[1] == "rolling"


def test_newer_settings_are_tried_at_once_with_the_consumer_that_does_not_start(group: Driver) -> None:
    rolling(group)
    group.waits(20, silent=[1])
    assert group.changes_consumers(NEWEST) == (restart(1, NEWEST),)
    assert group.words == ["consumer 1: restarting it once more: image restow:2 -> restow:3"]
    assert group.waits(179, silent=[1]) == ()
    assert group.is_ready(1) == (group.start(1, 1, a_0=10, a_1=10),)


def test_newer_settings_end_the_pause(group: Driver) -> None:
    rolling(group)
    group.ticks()
    group.fails(1)
    group.settles()
    group.goes(1)
    group.reports(2)
    group.changes_consumers(NEWEST)
    assert group.measures() == (create(1, NEWEST),)


def test_settings_that_a_consumer_was_lost_with_are_tried_with_a_new_one_first(group: Driver) -> None:
    rolling(group)
    group.changes_consumers(NEWEST)
    group.is_ready(1)  # its process with the settings before: the next one does not start
    group.answers(1)
    ends(group, 1)
    assert group.waits(180, silent=[1]) == (delete(1), create(3, NEWEST))
    group.goes(1)
    assert group.fails(3) == (delete(3), group.start(2, 1, a_0=10, a_1=10))
    group.settles()
    group.goes(3)
    group.measures(a_0=20, a_1=20, a_2=20, a_3=20)
    assert group.waits(35) == (create(1, NEWEST),), "not the healthy consumer, although it carries the load alone"
    assert group.phases == {1: "awaited", 2: "ready"}


def test_settings_that_a_new_consumer_did_not_start_with_are_tried_with_a_new_one_first(group: Driver) -> None:
    group.changes_consumers(NEWER)
    assert group.measures(a_0=60, a_1=60, a_2=40, a_3=40) == (create(3, NEWER),)
    group.fails(3)
    group.settles()
    group.goes(3)
    group.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    assert group.waits(26) == ()
    assert group.flags["older settings"].endswith(
        "; halted: the last consumer with them did not start, a new one must be ready with them first"
    )
    assert group.waits(9) == (create(3, NEWER),)
    assert group.phases == {1: "ready", 2: "ready", 3: "awaited"}


def test_a_consumer_with_other_settings_says_nothing_about_the_current_ones(group: Driver) -> None:
    group.changes_consumers(NEWER)
    assert group.measures(a_0=60, a_1=60, a_2=40, a_3=40) == (create(3, NEWER),)
    group.changes_consumers(NEWEST)
    group.fails(3)
    assert not group.state.roll_halted
    group.goes(3)


# A platform that refuses.


def test_a_restart_that_the_platform_accepts_late_has_its_full_time(group: Driver) -> None:
    group.changes_consumers(NEWER)
    group.measures()
    for _ in range(35):
        group.platform_refuses("restart", 1)
        assert group.waits(5) == (restart(1, NEWER),)
    assert group.waits(10) == (), "accepted after 175 s, it is restarting and not to be resumed after 180 s"
    assert group.phases == {1: "rolling", 2: "ready"}
    assert ends(group, 1) == ()
    assert group.waits(165, silent=[1]) == ()
    assert group.waits(5, silent=[1]) == (delete(1), group.start(2, 1, a_0=10, a_1=10))


def test_a_restart_that_the_platform_always_refuses_ends_the_roll_of_that_consumer(group: Driver) -> None:
    group.changes_consumers(NEWER)
    group.measures()
    for _ in range(36):
        group.platform_refuses("restart", 1)
        group.waits(5)
    assert group.phases[1] == "ready"


def test_a_consumer_that_was_not_restarted_keeps_its_partitions_although_a_plan_was_made_without_it(
    group: Driver,
) -> None:
    group.changes_consumers(NEWER)
    group.measures()
    for _ in range(35):
        group.platform_refuses("restart", 1)
        group.waits(5)
    group.platform_refuses("restart", 1)
    assert group.measures(a_0=40, a_1=40, a_2=60, a_3=60) == (create(3, NEWER),)
    assert group.waits(5) == ()
    assert group.phases == {1: "ready", 2: "ready", 3: "awaited"}
    assert group.held == {1: (A0, A1), 2: (A2, A3)}


def test_a_restart_that_the_platform_refuses_is_tried_again(group: Driver) -> None:
    group.changes_consumers(NEWER)
    group.measures()
    group.platform_refuses("restart", 1)
    assert group.waits(5) == (restart(1, NEWER),)


def test_a_consumer_that_was_not_restarted_continues_and_is_rolled_after_the_next_list(group: Driver) -> None:
    group.changes_consumers(NEWER)
    group.measures()
    assert group.waits(180) == (restart(2, NEWER),)
    assert group.phases == {1: "ready", 2: "rolling"}
    ends(group, 2)
    group.is_ready(2)
    group.settles()
    group.lists(1, 2, settings=OLD)
    group.reports(2)
    assert group.measures() == (restart(1, NEWER),)


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
