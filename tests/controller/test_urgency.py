"""Partitions whose unread records would be deleted within the catch-up time are served first."""

from typing import Any

from tests.support.controller_driver import A0, A1, A2, A3, B0, Driver, create, rules

from restow.controller.events import RetentionSeen
from restow.controller.load import loads
from restow.model import SortedMapping
from restow.protocol.field_types import Offsets

BACKLOG: Offsets = SortedMapping({A0: 300, A1: 0})
"""At 10 bytes a record and a catch-up time of 300 s, 10 bytes/s more."""


def behind(**controller: Any) -> Driver:
    driver = Driver(rules(**controller)).takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures({"a_0": 4.0}, a_0=40, a_1=40, a_2=40, a_3=40)
    driver.reports(1, lag_records=BACKLOG)
    assert loads(driver.state)[driver.state.usable()[0]] == 90.0
    return driver


def seen(**left_s: float) -> RetentionSeen:
    names = {"a_0": A0, "b_0": B0}
    return RetentionSeen(SortedMapping({names[name]: seconds for name, seconds in left_s.items()}))


def test_a_backlog_counts_as_if_it_had_to_be_gone_in_half_of_the_time_that_is_left() -> None:
    driver = behind()
    driver.happens(seen(a_0=240.0))
    assert loads(driver.state)[driver.state.usable()[0]] == 80 + 3000 / 120
    assert driver.flags == {"retention first": "served first: unread records of a-0 may be deleted in 4 min 0 s"}


def test_it_gets_the_room_to_catch_up() -> None:
    driver = behind()
    driver.happens(seen(a_0=240.0))
    driver.ticks()
    assert driver.measures({"a_0": 4.0}) == (create(3),)
    driver.is_ready(3)
    driver.settles()
    assert sorted(len(held) for held in driver.held.values()) == [1, 1, 2]


def test_its_weight_is_a_whole_consumer_at_most() -> None:
    driver = behind()
    driver.happens(seen(a_0=0.0))
    assert loads(driver.state)[driver.state.usable()[0]] == 85 + 40
    assert "at any moment" in driver.flags["retention first"]


def test_it_is_over_when_the_records_are_read() -> None:
    driver = behind()
    driver.happens(seen(a_0=240.0))
    driver.happens(seen())
    assert driver.flags == {}
    assert loads(driver.state)[driver.state.usable()[0]] == 90.0


def test_partitions_that_are_not_consumed_are_no_concern() -> None:
    driver = Driver(rules({"a": rules().consume["a"]})).takes_over({1: (A0, A1)})
    driver.happens(seen(b_0=10.0))
    assert driver.flags == {}
