"""Windows of schedules: other limits for a time, or a hold, by the wall clock and as events."""

from typing import Any

from tests.support.controller_driver import A0, A1, A2, A3, NOON_UTC_S, Driver, create, delete, rules

from restow.controller.event_log import replay
from restow.controller.events import SchedulePlanned, Window
from restow.controller.schedules import planned, words
from restow.controller.transitions import Cause
from restow.protocol.consumer_settings import ConsumerSettings
from restow.settings import Schedule


def window(begin_s: float, lasts_s: float = 600.0, **what: Any) -> SchedulePlanned:
    """Seconds after noon, when the controller takes over."""
    begin_s += NOON_UTC_S
    return SchedulePlanned((Window("0 12 * * *", begin_s, begin_s + lasts_s, **what),))


def two(**controller: Any) -> Driver:
    driver = Driver(rules(**controller)).takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    return driver


# Limits.


def test_a_window_raises_the_least_consumers_while_it_is_open() -> None:
    driver = two()
    driver.happens(window(60, 120, least=3))
    assert driver.state.least_consumers == 0
    assert driver.waits(61) == (create(3),)
    assert driver.flags == {"schedule": "at least 3 consumers until 2026-03-01 12:03 UTC, by cron 0 12 * * *"}
    driver.is_ready(3)
    assert driver.waits(150) == (delete(3),)
    assert driver.flags == {}
    assert driver.state.least_consumers == 0


def test_a_window_lowers_the_most_consumers_at_once() -> None:
    driver = two(close_after_s=300.0)
    driver.happens(window(60, 120, most=1))
    [stop] = driver.waits(61)
    assert stop in (driver.stop(2, 1, A2, A3), driver.stop(1, 1, A0, A1))
    assert driver.state.most_consumers == 1


def test_what_a_person_has_set_counts_before_a_schedule() -> None:
    driver = two()
    driver.changes_consumers(ConsumerSettings(least_consumers=1, most_consumers=5))
    driver.happens(window(-60, least=3, most=4))
    assert (driver.state.least_consumers, driver.state.most_consumers) == (1, 5)


def test_a_schedule_counts_before_restow_toml() -> None:
    driver = two(least_consumers=2, most_consumers=2)
    driver.happens(window(-60, least=3))
    assert (driver.state.least_consumers, driver.state.most_consumers) == (3, 3)
    driver.happens(window(-60, least=0, most=8))
    assert (driver.state.least_consumers, driver.state.most_consumers) == (0, 8)


def test_of_windows_that_overlap_the_highest_least_and_the_lowest_most_count() -> None:
    driver = two()
    one, other = window(-60, least=2, most=9).windows[0], window(-30, least=3, most=4).windows[0]
    driver.happens(SchedulePlanned((one, other)))
    assert (driver.state.least_consumers, driver.state.most_consumers) == (3, 4)


# Holds.


def test_a_hold_keeps_an_overloaded_consumer_as_it_is_until_the_window_ends() -> None:
    driver = two()
    driver.happens(window(-60, 180, hold=True))
    assert driver.measures(a_0=90, a_1=40, a_2=40, a_3=40) == ()
    assert driver.waits(110) == ()
    assert driver.waits(20) == (create(3),)
    assert Cause.RESUMED in driver.causes


def test_a_hold_leaves_recovery_alone() -> None:
    driver = two()
    driver.happens(window(-60, hold=True))
    assert driver.goes(1) == (driver.start(2, 1, a_0="recover", a_1="recover"),)


def test_a_hold_that_begins_in_a_move_cuts_the_plan_down() -> None:
    driver = two()
    driver.happens(window(10, hold=True))
    assert driver.measures(a_0=90, a_1=40, a_2=40, a_3=40) == (create(3),)
    driver.ticks(11.0)
    assert Cause.HELD in driver.causes


# Planned at the edge.


def test_windows_are_planned_in_utc_by_the_offsets_of_their_zones() -> None:
    nights = Schedule("0 22 * * *", "8h", "Europe/Berlin", least=1, most=4)
    [open_now, next_one] = planned([nights], [lambda _: 3600.0], NOON_UTC_S + 11 * 3600).windows
    assert open_now == Window("0 22 * * *", NOON_UTC_S + 9 * 3600, NOON_UTC_S + 17 * 3600, 1, 4)
    assert next_one.begin_s == open_now.begin_s + 86_400
    assert words(open_now) == "at least 1 and at most 4 consumers until 2026-03-02 05:00 UTC, by cron 0 22 * * *"


def test_a_clock_that_is_set_back_opens_a_window_again() -> None:
    driver = two()
    driver.happens(window(60, 60, least=3))
    driver.waits(130)
    assert driver.flags == {}
    driver.clock_off_s = -60.0
    driver.ticks()
    assert list(driver.flags) == ["schedule"]


def test_a_replay_needs_no_time_zones() -> None:
    driver = two()
    driver.happens(window(60, 120, least=3, hold=True))
    driver.waits(200)
    assert all(step.agrees for step in replay(driver.log))
