"""Rolls that come to a halt: settings by which nothing comes up, and a platform that refuses restarts."""

import pytest
from tests.support.controller_driver import (
    A0,
    A1,
    A2,
    A3,
    Driver,
    create,
    delete,
    restart,
)
from tests.support.rolls import NEWER, NEWEST, OLD, ends, rolling, two_with_old_settings

from restow.controller.transitions import Cause


@pytest.fixture
def group() -> Driver:
    return two_with_old_settings()


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
    assert group.waits(209) == (), "until a grace period is over, its process may be about to end"
    assert group.waits(11) == (restart(2, NEWER),)
    assert group.phases == {1: "ready", 2: "rolling"}
    ends(group, 2)
    group.is_ready(2)
    group.settles()
    group.lists(1, 2, settings=OLD)
    group.reports(2)
    assert group.measures() == (restart(1, NEWER),)


def test_a_hung_process_that_reports_once_more_does_not_let_the_roll_go_on(group: Driver) -> None:
    group.changes_consumers(NEWER)
    assert group.measures() == (restart(1, NEWER),)
    assert group.waits(170, silent=[1]) == ()
    group.reports(1)
    assert group.waits(50, silent=[1]) == (), "that process was killed, and the next one is starting"
    assert group.phases == {1: "ready", 2: "ready"}
    assert group.is_ready(1, A0, A1, clean=False) == ()
    group.reports(1)
    assert group.measures() == (restart(2, NEWER),)
