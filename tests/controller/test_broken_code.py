"""Changed code: consumers are rolled to it, and code that can't be run costs one consumer."""

from dataclasses import replace

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, B0, SETTINGS, Driver, create, delete, restart, rules
from tests.support.rolls import ends, well

from restow.controller.event_log import replay
from restow.controller.transitions import Cause
from restow.protocol.messages.reports import Failure
from restow.protocol.topic_service import TopicService

CONSUME = {
    "a": TopicService("tables/a", "shop:orders"),
    "b": TopicService("tables/b", "shop:refunds"),
}
OLD = replace(SETTINGS, code="old")
NEW = replace(SETTINGS, code="new")
NEWEST = replace(SETTINGS, code="newest")
ERROR = "the transform shop:orders can't be imported: NameError: name 'x' is not defined (shop.py, line 3)"
BROKEN = {"shop:orders": ERROR}


@pytest.fixture
def group() -> Driver:
    """Consumer 1 has a-0 and a-1, consumer 2 has a-2 and a-3, with the old code."""
    driver = Driver(rules(CONSUME))
    driver.changes_code("old")
    return well(driver.takes_over({1: (A0, A1), 2: (A2, A3)}, OLD.fingerprint))


def rolling(driver: Driver) -> Driver:
    """The first is being restarted with the new code, and has ended as it should."""
    assert driver.changes_code("new") == ()
    assert driver.measures() == (restart(1, NEW),)
    ends(driver, 1)
    return driver


def halted(driver: Driver) -> Driver:
    """The first came up with broken code and is gone; the second has everything."""
    rolling(driver).is_ready(1, broken=BROKEN)
    driver.settles()
    driver.goes(1)
    driver.reports(2)
    return driver


# Changed code.


def test_changed_code_rolls_the_consumers(group: Driver) -> None:
    rolling(group)
    group.is_ready(1)
    group.settles()
    group.reports(1)
    assert group.measures() == (restart(2, NEW),)
    assert group.words[-1] == "consumer 2: restarting it (2 of 2): code old -> new"


def test_the_same_code_rolls_none(group: Driver) -> None:
    assert group.changes_code("old") == ()
    assert group.waits(30) == ()


def test_consumers_of_a_controller_that_knew_no_code_are_rolled() -> None:
    driver = Driver(rules(CONSUME))
    driver.changes_code("old")
    well(driver.takes_over({1: (A0, A1)}, SETTINGS.fingerprint), a_0=40, a_1=40)
    assert driver.measures() == (restart(1, OLD),)
    assert driver.words[-1] == "consumer 1: restarting it (1 of 1): code none -> old"


def test_a_group_without_code_of_its_own_runs_as_before() -> None:
    driver = Driver()
    driver.changes_code(None)
    well(driver.takes_over({1: (A0, A1)}, SETTINGS.fingerprint), a_0=40, a_1=40)
    assert driver.waits(30) == ()


# Code that can't be run.


def test_code_that_cant_be_run_costs_one_consumer_and_the_others_continue_with_theirs(group: Driver) -> None:
    rolling(group)
    assert group.is_ready(1, broken=BROKEN) == (delete(1), group.start(2, 1, a_0=10, a_1=10))
    assert f"consumer 1: can't run its code ({ERROR}) with its new settings; no other is restarted" in group.words[2]
    assert group.flags["broken code"] == ERROR
    assert group.settles() == ()
    group.goes(1)
    assert group.waits(28) == ()
    assert group.held == {2: (A0, A1, A2, A3)}
    assert group.flags["older settings"].startswith("1 of 1 consumer still to be restarted with new settings; halted")


def test_a_new_consumer_tries_the_code_after_a_pause_and_is_deleted_while_it_is_broken(group: Driver) -> None:
    halted(group)
    group.measures(a_0=10, a_1=10, a_2=10, a_3=10)
    assert group.waits(31) == (create(1, NEW),)
    assert group.is_ready(1, broken=BROKEN) == (delete(1),)
    group.goes(1)
    assert group.waits(50) == ()
    assert group.phases == {2: "ready"}


def test_mended_code_is_tried_at_once(group: Driver) -> None:
    halted(group)
    group.changes_code("newest")
    assert group.measures() == (create(1, NEWEST),)
    group.is_ready(1)
    group.settles()
    assert "broken code" not in group.flags
    group.reports(1)
    assert group.measures() == (restart(2, NEWEST),)


def test_a_transform_that_no_other_runs_counts_if_the_consumer_ran_it_before() -> None:
    driver = Driver(rules(CONSUME))
    driver.changes_code("old")
    well(driver.takes_over({1: (A0, A1), 2: (B0,)}, OLD.fingerprint), a_0=40, a_1=40, b_0=60)
    rolling(driver)
    assert driver.is_ready(1, broken=BROKEN)[0] == delete(1)


def test_a_transform_that_was_broken_before_does_not_stop_a_roll(group: Driver) -> None:
    rolling(group)
    assert group.is_ready(1, broken={"shop:refunds": "always was"}) == (group.start(1, 1, a_0=10, a_1=10),)
    group.settles()
    group.reports(1)
    assert group.measures() == (restart(2, NEW),)
    assert group.flags["broken code"] == "always was"


def test_a_consumer_that_is_alone_stays_and_reads_what_it_can() -> None:
    driver = Driver(rules(CONSUME))
    driver.changes_code("old")
    well(driver.takes_over({1: (A0, B0)}, OLD.fingerprint), a_0=40, b_0=40)
    rolling(driver)
    assert driver.is_ready(1, broken=BROKEN) == (driver.start(1, 1, a_0=10, b_0=10),)
    assert driver.flags["broken code"] == ERROR


def test_a_crashed_consumer_that_comes_back_with_broken_code_is_given_up(group: Driver) -> None:
    requests = group.is_ready(1, A0, A1, clean=False, broken=BROKEN)
    assert requests == (delete(1), group.start(2, 1, a_0="recover", a_1="recover"))
    assert group.phases == {1: "lost", 2: "ready"}
    assert group.words[2:5] == [
        f"consumer 1: can't run its code ({ERROR})",
        "consumer 1: others have code that can be run; giving it up with 2 partitions",
        "consumer 1: deleting it, no consumer is created for 30 s",
    ]


def test_two_that_come_back_with_broken_code_at_once_do_not_take_each_other_for_healthy(group: Driver) -> None:
    group.fails(1)
    assert group.is_ready(2, A2, A3, clean=False, broken=BROKEN) == ()
    assert group.is_ready(1, A0, A1, clean=False, broken=BROKEN) == ()
    assert group.phases == {1: "ready", 2: "ready"}


def test_no_other_follows_a_consumer_that_stays_with_broken_code(group: Driver) -> None:
    rolling(group)
    group.fails(2)
    group.is_ready(1, broken=BROKEN)
    group.hears(group.refused(1, 1, A0, A1, kind="transform"))
    group.is_ready(2, A2, A3, clean=False)
    group.reports(1)
    group.reports(2)
    group.waits(20)
    assert "rolling" not in group.phases.values()


def test_when_a_consumer_with_broken_code_is_closed_a_new_one_tries_the_code_first(group: Driver) -> None:
    rolling(group)
    group.fails(2)
    group.is_ready(1, broken=BROKEN)
    group.hears(group.refused(1, 1, A0, A1, kind="transform"))
    group.is_ready(2, A2, A3, clean=False)
    for seconds in (0, 10):  # until the load of the last minutes is known to be so low that one suffices
        group.waits(seconds)
        group.reports(1)
        group.reports(2)
        group.measures(a_0=10, a_1=10, a_2=10, a_3=10)
        group.settles()
    assert group.phases == {1: "leaving", 2: "ready"}
    group.goes(1)
    group.reports(2)
    assert group.measures() == (create(1, NEW),), "and not the restart of the healthy one"
    assert group.is_ready(1, broken=BROKEN) == (delete(1),)


# Code that fails on records.


def test_a_roll_is_held_while_the_new_code_cant_store_what_the_old_could(group: Driver) -> None:
    rolling(group)
    group.is_ready(1)
    group.settles()
    group.reports(1, failures=(Failure("a", "ValueError: 7"),))
    assert group.measures() == ()
    assert group.flags == {
        "failing a": "ValueError: 7",
        "older settings": "1 of 2 consumers still to be restarted with new settings; held: a consumer with new "
        "ones can't use a, and those with older ones can",
    }
    assert group.waits(4) == ()
    group.changes_code("newest")
    assert group.measures() == (restart(1, NEWEST),)
    ends(group, 1)
    group.is_ready(1)
    group.settles()
    group.reports(1)
    assert group.measures() == (restart(2, NEWEST),)


def test_the_next_consumer_waits_for_a_report_on_what_the_last_one_holds(group: Driver) -> None:
    rolling(group)
    group.is_ready(1)
    group.reports(1)
    group.settles()
    assert group.measures() == (), "it had no partitions when it reported, and could not fail on them"
    group.reports(1)
    assert group.measures() == (restart(2, NEW),)


def test_a_topic_that_could_not_be_stored_before_holds_no_roll(group: Driver) -> None:
    group.reports(1, failures=(Failure("a", "ValueError: 7"),))
    rolling(group)
    group.is_ready(1)
    group.settles()
    group.reports(1, failures=(Failure("a", "ValueError: 7"),))
    assert group.measures() == (restart(2, NEW),)


def test_a_replay_agrees(group: Driver) -> None:
    halted(group)
    group.changes_code("newest")
    group.measures()
    group.is_ready(1)
    group.settles()
    steps = list(replay(group.log))
    assert all(step.agrees for step in steps)
    assert steps[-1].after.code == "newest"
    assert any(Cause.OUTDATED in (getattr(effect, "cause", None) for effect in step.effects) for step in steps)
