"""Restarts that people ask for: once for each record, one at a time, with the partitions waiting."""

from dataclasses import replace

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, SETTINGS, Driver, Requests, create, restart, rules

from restow.controller.event_log import replay
from restow.controller.transitions import Cause
from restow.model import ConsumerId
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, RecommendOnly

CURRENT = SETTINGS.fingerprint
NEWER = replace(SETTINGS, image="restow:2")


@pytest.fixture
def group() -> Driver:
    return well(Driver().takes_over({1: (A0, A1), 2: (A2, A3)}, CURRENT))


def well(driver: Driver) -> Driver:
    for consumer in sorted(driver.fakes):
        driver.reports(consumer)
    driver.measures(None, a_0=40, a_1=40, a_2=40, a_3=40)
    assert driver.is_calm
    return driver


def asked(driver: Driver, consumer: int, up_to: int | None = None) -> ConsumerRestart:
    """By default up to its present incarnation."""
    last = driver.fakes[consumer].incarnation if up_to is None else up_to
    return ConsumerRestart(ConsumerId(consumer), last, "anna@host-a", "2026-03-01T12:00:00Z", "it leaks")


def answer(driver: Driver) -> tuple[bool, str]:
    last = driver.state.desired.answers[-1]
    assert last.offset == driver.service_offset
    return last.taken, last.words


def ends(driver: Driver, consumer: int) -> Requests:
    fake = driver.fakes[consumer]
    message = driver.stopped(consumer, None, fake.held)
    fake.held = {}
    return driver.hears(message)


def comes_back(driver: Driver, consumer: int) -> None:
    ends(driver, consumer)
    driver.is_ready(consumer)
    driver.settles()
    driver.reports(consumer)


def test_a_consumer_is_restarted_once_and_continues_with_its_partitions(group: Driver) -> None:
    group.desires(asked(group, 2))
    assert answer(group) == (True, "taken: consumer 2 is restarted after this: every consumer is healthy")
    assert group.measures() == (restart(2),)
    assert group.causes == [Cause.RESTART, Cause.NO_CHANGE]
    assert group.words[-1] == "consumer 2: restarting it on request, by anna@host-a: it leaks"
    assert ends(group, 2) == ()
    assert group.waits(20, silent=[2]) == (), "its partitions wait for it"
    assert "older settings" not in group.flags
    assert group.is_ready(2) == (group.start(2, 1, a_2=10, a_3=10),)
    group.answers(2)
    assert group.waits(300) == ()
    assert group.held == {1: (A0, A1), 2: (A2, A3)}


def test_two_restarts_go_one_after_the_other(group: Driver) -> None:
    group.desires(asked(group, 2))
    group.desires(asked(group, 1))
    assert group.measures() == (restart(1),)
    assert group.waits(10, silent=[1]) == ()
    comes_back(group, 1)
    assert group.measures() == (restart(2),)
    comes_back(group, 2)
    assert group.waits(300) == ()


def test_a_restart_and_a_roll_go_one_after_the_other(group: Driver) -> None:
    group.changes_consumers(ConsumerSettings(image="restow:2"))
    assert group.measures() == (restart(1, NEWER),)
    group.desires(asked(group, 2))
    assert group.waits(10, silent=[1]) == ()
    comes_back(group, 1)
    assert group.measures() == (restart(2, NEWER),)
    assert group.words[-1] == ("consumer 2: restarting it on request, by anna@host-a: it leaks; image none -> restow:2")
    comes_back(group, 2)
    assert group.waits(120) == (), "it has the new settings: the roll is done with it"


def test_a_restart_asked_for_twice_happens_once(group: Driver) -> None:
    record = asked(group, 2)
    group.desires(record)
    assert group.measures() == (restart(2),)
    group.desires(record)
    assert answer(group) == (True, "taken: consumer 2 is restarting already")
    comes_back(group, 2)
    group.desires(record)
    assert answer(group) == (True, "taken: consumer 2 has restarted since, and nothing is left to do")
    assert group.waits(120) == ()


def test_a_restart_of_nothing_is_refused_in_words(group: Driver) -> None:
    group.desires(asked(group, 7, up_to=90))
    assert answer(group) == (False, "refused: there is no consumer 7; the group has 1, 2")
    group.desires(asked(group, 2, up_to=10**9))
    incarnation = group.fakes[2].incarnation
    assert answer(group) == (
        False,
        f"refused: consumer 2 is at incarnation {incarnation}, and never was at 1000000000",
    )
    group.measures(a_0=90, a_1=90)
    group.desires(asked(group, 3, up_to=90))
    assert answer(group) == (False, "refused: consumer 3 is starting")
    assert restart(2) not in group.waits(50)


def test_a_restart_waits_while_another_consumer_is_unhealthy(group: Driver) -> None:
    group.fails(1)
    group.desires(asked(group, 2))
    assert group.waits(20, silent=[1]) == ()
    group.is_ready(1, A0, A1, clean=False)
    assert group.waits(10) == (restart(2),)


def test_a_restart_needs_no_speeds(group: Driver) -> None:
    group.waits(31, measured=False)
    group.desires(asked(group, 2))
    assert group.waits(6, measured=False) == (restart(2),)


def test_a_new_controller_does_not_restart_again_and_restarts_what_is_left() -> None:
    driver = Driver()
    driver.ticks(0.0)
    driver.desires(ConsumerRestart(ConsumerId(1), 50))
    driver.desires(ConsumerRestart(ConsumerId(2), 103))
    driver.takes_over({1: (A0, A1), 2: (A2, A3)}, CURRENT)
    assert (driver.fakes[1].incarnation, driver.fakes[2].incarnation) == (101, 103)
    driver.reports(1)
    driver.reports(2)
    assert driver.measures(a_0=40, a_1=40, a_2=40, a_3=40) == (restart(2),)
    comes_back(driver, 2)
    assert driver.waits(120) == ()


def test_a_restart_that_is_taken_back_in_time_does_not_happen(group: Driver) -> None:
    group.desires(asked(group, 2))
    group.desires(ConsumerRestart(ConsumerId(2), None))
    assert group.waits(60) == ()


def test_a_consumer_that_does_not_come_back_is_given_up_and_the_next_restart_waits_for_a_new_one(
    group: Driver,
) -> None:
    group.desires(asked(group, 2))
    group.desires(asked(group, 1))
    group.measures()
    assert group.phases[1] == "rolling"
    ends(group, 1)
    group.waits(180, silent=[1])
    assert "consumer 1: not ready within 180 s after its restart" in group.words[0]
    group.goes(1)
    group.settles()
    assert group.held[2] == (A0, A1, A2, A3), "no other can be created yet"
    assert group.waits(31) == (create(1),)
    group.is_ready(1)
    group.settles()
    assert group.waits(30) == (restart(2),)


def test_overload_is_relieved_before_a_restart(group: Driver) -> None:
    group.desires(asked(group, 2))
    assert group.measures(a_0=90, a_1=90, a_2=40, a_3=40) == (create(3),)
    group.is_ready(3)
    group.settles()
    group.reports(3)
    group.reports(1)
    assert group.measures() == (restart(2),)


def test_the_log_of_a_restart_is_replayed(group: Driver) -> None:
    group.desires(asked(group, 2))
    group.measures()
    comes_back(group, 2)
    group.waits(20)
    assert sum(1 for _ in replay(group.log)) > 20


def test_a_halted_restart_waits_for_a_canary() -> None:
    """Consumer 3 did not start with the settings that consumer 2 would come back with."""
    driver = well(Driver(rules(create_again_after_s=30.0)).takes_over({1: (A0, A1), 2: (A2, A3)}, CURRENT))
    assert driver.measures(a_0=90, a_1=90, a_2=40, a_3=40) == (create(3),)
    driver.fails(3)
    driver.goes(3)
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    driver.settles()
    driver.desires(asked(driver, 2))
    assert driver.state.roll_halted
    assert answer(driver) == (
        True,
        "taken: consumer 2 is restarted after this: a new consumer is ready, because the last one that started was not",
    )
    assert driver.waits(40) == (create(3),)
    driver.is_ready(3)
    driver.settles()
    assert driver.waits(10)[-1] == restart(2)


@pytest.mark.parametrize("hold", [GroupPause(True), RecommendOnly(True)])
def test_a_held_group_restarts_what_a_person_asks_for_and_nothing_else(
    group: Driver, hold: GroupPause | RecommendOnly
) -> None:
    group.desires(hold)
    group.changes_consumers(ConsumerSettings(image="restow:2"))
    assert group.waits(60) == (), "new settings wait"
    group.desires(asked(group, 2))
    assert group.measures() == (restart(2, NEWER),)
    comes_back(group, 2)
    assert group.waits(120) == ()
    assert group.held == {1: (A0, A1), 2: (A2, A3)}
