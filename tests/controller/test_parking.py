"""A group to which nothing is written has no consumers; the next record brings them back."""

from typing import Any

import pytest
from tests.support.controller_driver import A0, A1, Driver, create, delete, rules

from restow.controller.events import SpeedsMeasured
from restow.controller.transitions import Cause, Stage
from restow.model import SortedMapping, Speeds
from restow.protocol.field_types import Offsets
from restow.protocol.messages.desired import GroupPause, RecommendOnly

PARKED = "nothing was written for 60 s, and everything is read; no consumer runs until a record comes"


class Quiet(Driver):
    """Its measurements have end offsets: `end` of topic a, and those of other topics."""

    end = 100
    others: SortedMapping[str, int] = SortedMapping()

    def measures(self, records_per_s: Any = None, **speeds: float) -> Any:
        del records_per_s
        if speeds:
            self.speeds = Speeds({each: speeds[str(each).replace("-", "_")] for each in (A0, A1)})
        ends = SortedMapping({"a": self.end, **self.others})
        return self.happens(SpeedsMeasured(self.next_time(), self.speeds, SortedMapping(), ends))

    def reports(self, consumer: int, **changes: Any) -> Any:
        """It has read up to the end, unless said otherwise."""
        read: Offsets = SortedMapping(dict.fromkeys(self.fakes[consumer].held, 0) | {A0: self.end})
        return super().reports(consumer, **{"next_offsets": read, **changes})


def group(**controller: Any) -> Quiet:
    driver = Quiet(rules(**{"park_after_s": 60.0, **controller}))
    driver.takes_over({1: (A0, A1)})
    driver.measures(a_0=0.0, a_1=0.0)
    return driver


def parked() -> Quiet:
    driver = group()
    driver.waits(90)
    driver.settles()
    driver.goes(1)
    assert driver.phases == {}
    return driver


def test_a_quiet_group_that_has_read_everything_is_parked() -> None:
    driver = group()
    assert driver.waits(59) == ()
    requests = driver.waits(10)
    assert requests == (driver.stop(1, 1, A0, A1),)
    assert Cause.QUIET in driver.causes
    assert driver.flags == {"parked": PARKED}
    assert driver.settles() == (delete(1),)
    driver.goes(1)
    assert driver.state.stage is Stage.SENTINEL
    assert driver.waits(600) == ()


@pytest.mark.parametrize("hold", [GroupPause(True), RecommendOnly(True)], ids=["paused", "only-recommending"])
def test_a_group_that_is_held_is_not_parked(hold: GroupPause | RecommendOnly) -> None:
    driver = group()
    driver.desires(hold)
    assert driver.waits(90) == ()
    assert "parked" not in driver.flags


def test_the_first_record_brings_a_consumer_back() -> None:
    driver = parked()
    driver.end += 1
    assert driver.measures() == (create(1),)
    assert driver.words[0] == "parked: resolved, records arrive"
    driver.is_ready(1)
    driver.settles()
    assert driver.held == {1: (A0, A1)}
    assert driver.flags == {}


def test_a_record_within_the_time_begins_it_anew() -> None:
    driver = group()
    driver.waits(50)
    driver.end += 1
    assert driver.waits(59) == ()
    assert driver.waits(35)[:1] == (driver.stop(1, 1, A0, A1),)


def test_a_group_with_a_backlog_is_not_parked() -> None:
    driver = group()
    for _ in range(30):
        driver.ticks(5.0)
        driver.measures()
        driver.reports(1, lag_records=SortedMapping({A0: 0, A1: 3}))
    assert driver.phases == {1: "ready"}
    assert "parked" not in driver.flags


def test_a_consumer_that_has_not_looked_how_far_it_is_behind_is_waited_for() -> None:
    driver = group()
    for _ in range(30):
        driver.ticks(5.0)
        driver.measures()
        driver.reports(1, next_offsets=SortedMapping({A0: 60, A1: 39}))
    assert driver.phases == {1: "ready"}
    driver.ticks(5.0)
    driver.reports(1, next_offsets=SortedMapping({A0: 60, A1: 40}))
    driver.measures()
    assert "parked" in driver.flags


def test_a_consumer_that_has_not_reported_since_is_waited_for() -> None:
    driver = group(silent_after_s=500.0)
    assert driver.waits(300, silent=[1]) == ()
    assert driver.flags == {}


def test_records_of_topics_that_are_not_consumed_do_not_count() -> None:
    driver = group()
    for other in range(40):
        driver.others = SortedMapping({"elsewhere": other})
        driver.ticks(5.0)
        driver.measures()
        driver.reports(1)
    assert "parked" in driver.flags


def test_a_group_that_must_have_consumers_is_not_parked() -> None:
    assert group(least_consumers=1).waits(200) == ()


def test_a_group_is_not_parked_unless_the_setting_says_so() -> None:
    driver = group(park_after_s=None)
    assert driver.waits(200) == ()
    assert driver.state.quiet is None


def test_a_silent_monitor_wakes_a_parked_group() -> None:
    driver = parked()
    requests = driver.waits(60, measured=False)
    assert requests == (create(1),)
    assert set(driver.flags) == {"stale speeds"}


def test_a_consumer_that_turns_up_while_the_group_is_parked_is_closed() -> None:
    driver = parked()
    driver.lists(1)
    driver.fakes.clear()
    driver.is_ready(1, A0)
    requests = driver.waits(130)
    assert driver.stop(1, 1, A0) in requests
    driver.settles()
    assert driver.phases == {1: "leaving"}


def test_a_new_topic_wakes_a_parked_group() -> None:
    driver = parked()
    driver.others = SortedMapping({"b": 0})
    assert driver.measures() == (create(1),)
