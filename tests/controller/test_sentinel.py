"""Plausible speeds scale the group; stale, missing and impossible ones raise a flag."""

import pytest
from tests.support.controller_driver import (
    A0,
    A1,
    A2,
    A3,
    A4,
    Driver,
    create,
    named,
    rules,
)

from restow.controller.events import SpeedsMeasured
from restow.controller.load import backlogs, loads
from restow.controller.transitions import Cause, Stage
from restow.model import ConsumerId, SortedMapping, Speeds
from restow.protocol.field_types import Offsets

STALE = "no speeds for more than 30 s; nothing is scaled until they arrive"
NEVER = rules(look_every_s=100_000.0)


# Stale and missing measurements.


def test_before_the_first_measurement_nothing_is_scaled() -> None:
    driver = Driver().takes_over({1: (A0,), 2: (A1,), 3: ()})
    assert driver.waits(120, measured=False) == ()
    assert driver.moved == ()
    assert driver.flags == {"stale speeds": STALE}


def test_stale_speeds_are_flagged_once_and_scale_nothing(pair: Driver) -> None:
    pair.measures(a_0=20, a_1=20, a_2=10, a_3=10)
    assert pair.waits(29, measured=False) == ()
    assert pair.notes == ()
    assert pair.waits(120, measured=False) == ()
    assert pair.words == [f"stale speeds: {STALE}"]
    assert pair.moved == ()


def test_speeds_that_come_again_clear_the_flag_and_are_acted_on(pair: Driver) -> None:
    pair.measures(a_0=20, a_1=20, a_2=10, a_3=10)
    pair.waits(100, measured=False)
    assert pair.measures() == (pair.stop(2, 1, A2, A3),)
    assert pair.words[0] == "stale speeds: resolved, speeds arrive again"
    assert pair.flags == {}


def test_with_stale_speeds_unassigned_partitions_are_still_placed_and_no_consumer_is_deleted(pair: Driver) -> None:
    pair.measures(a_0=20, a_1=20, a_2=10, a_3=10)
    pair.waits(40, measured=False)
    pair.fakes[1].held.pop(A1)
    assert pair.reports(1) == (pair.start(2, 1, a_1="recover"),)
    assert pair.settles() == ()
    assert pair.is_calm
    assert pair.phases == {1: "ready", 2: "ready"}


def test_with_stale_speeds_partitions_of_a_gone_consumer_are_placed_by_their_last_known_speeds(pair: Driver) -> None:
    pair.waits(40, measured=False)
    assert pair.goes(1) == (create(1),)
    assert pair.is_ready(1) == (pair.start(1, 1, a_0="recover", a_1="recover"),)


def test_with_stale_speeds_no_consumer_is_relieved(pair: Driver) -> None:
    pair.measures({"a_0": 4.0}, a_0=40, a_1=40, a_2=40, a_3=40)
    pair.waits(40, measured=False)
    report_backlog(pair, 10**9)
    assert loads(pair.state)[ConsumerId(1)] == 125.0
    pair.fakes[2].held.pop(A3)
    assert pair.reports(2) == (pair.start(2, 1, a_3="recover"),)
    assert pair.settles() == ()
    assert pair.held == {1: (A0, A1), 2: (A2, A3)}
    assert "too few consumers" not in pair.flags


def test_with_stale_speeds_not_even_too_many_consumers_are_deleted() -> None:
    driver = Driver(rules(most_consumers=1)).takes_over({1: (A0,), 2: (A1,)})
    driver.waits(5, measured=False)
    driver.fakes[1].held = {}
    [start] = driver.reports(1)
    assert start in (driver.start(1, 1, a_0="recover"), driver.start(2, 1, a_0="recover"))
    assert driver.settles() == ()
    assert driver.phases == {1: "ready", 2: "ready"}


def test_an_empty_measurement_is_none(pair: Driver) -> None:
    pair.speeds = Speeds()
    assert pair.waits(35) == ()
    assert pair.flags == {
        "missing speeds": "4 partitions not measured; the last known speed counts, or 0",
        "stale speeds": STALE,
    }


def test_partitions_that_are_missing_count_with_their_last_known_speed(pair: Driver) -> None:
    assert pair.measures(a_0=40, a_1=40, a_2=40) == ()
    assert pair.flags == {"missing speeds": "a-3 not measured; the last known speed counts, or 0"}
    assert loads(pair.state) == {1: 80.0, 2: 80.0}
    assert pair.waits(100) == ()
    assert loads(pair.state) == {1: 80.0, 2: 80.0}
    pair.measures(a_0=40, a_1=40, a_2=40, a_3=41)
    assert pair.words == ["missing speeds: resolved, every partition is measured"]


def test_a_partition_that_is_held_and_was_never_measured_is_flagged() -> None:
    driver = Driver().takes_over({1: (A0, A1)})
    driver.measures(a_0=40)
    assert driver.flags == {"missing speeds": "a-1 not measured; the last known speed counts, or 0"}
    assert loads(driver.state) == {1: 40.0}
    driver.measures(a_0=40, a_1=10)
    assert driver.flags == {}


def test_partitions_of_no_interest_may_be_missing(pair: Driver) -> None:
    pair.measures(a_0=40, a_1=40, a_2=40, a_3=40, c_0=10)
    pair.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    assert pair.flags == {}


# Measurements that can't be.


def test_an_impossible_measurement_is_ignored_and_flagged_until_a_plausible_one_arrives(pair: Driver) -> None:
    before = pair.state.measured
    assert pair.measures(a_0=1e13, a_1=40, a_2=40, a_3=40) == ()
    words = "a-0 can't be as fast as measured; the measurement is ignored"
    assert pair.flags == {"impossible speeds": words}
    assert pair.state.measured == before
    pair.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    assert pair.words == ["impossible speeds: resolved, speeds are plausible again"]


def test_nothing_but_impossible_measurements_is_as_none(pair: Driver) -> None:
    pair.speeds = Speeds(named({"a_0": 1e13}))
    assert pair.waits(120) == ()
    assert set(pair.flags) == {"impossible speeds", "stale speeds"}


def test_an_older_measurement_is_no_news(pair: Driver) -> None:
    before = pair.state.measured
    old = SpeedsMeasured("2026-03-01T11:59:59.000Z", Speeds(named({"a_0": 400})))
    assert pair.happens(old) == ()
    assert pair.state.measured == before


def test_when_the_monitors_clock_was_set_back_its_measurements_count_once_the_last_one_is_stale(pair: Driver) -> None:
    earlier = SpeedsMeasured("2026-03-01T10:00:00.000Z", Speeds(named({"a_0": 60, "a_1": 40, "a_2": 40, "a_3": 40})))
    pair.waits(30, measured=False)
    assert pair.happens(earlier) == ()
    assert pair.state.measured != earlier
    pair.waits(1, measured=False)
    assert pair.happens(earlier) == (create(3),)
    assert pair.state.measured == earlier


# Load and backlog.


def test_a_consumer_above_its_trigger_is_relieved(pair: Driver) -> None:
    assert pair.measures(a_0=47, a_1=47, a_2=40, a_3=40) == ()
    assert pair.measures(a_0=56, a_1=40, a_2=40, a_3=40) == (create(3),)
    assert pair.causes == [Cause.OVERLOAD, Cause.CHANGE]


def report_backlog(driver: Driver, records: int, bytes_per_record: float = 10.0) -> None:
    lag: Offsets = SortedMapping({A0: records, A1: 0})
    driver.reports(1, lag_records=lag, records_per_s=1.0, bytes_per_s=bytes_per_record)


def test_a_backlog_counts_as_the_speed_that_works_it_off_in_the_catch_up_time(pair: Driver) -> None:
    pair.measures({"a_0": 4.0}, a_0=40, a_1=40, a_2=40, a_3=40)
    report_backlog(pair, 300)
    assert backlogs(pair.state) == {A0: 3000.0}
    assert loads(pair.state) == {1: 90.0, 2: 80.0}


def test_a_record_of_a_partition_that_stands_still_is_as_large_as_its_consumer_found_records_to_be(
    pair: Driver,
) -> None:
    pair.measures(a_0=0, a_1=40, a_2=40, a_3=40)
    report_backlog(pair, 300, bytes_per_record=20.0)
    assert backlogs(pair.state) == {A0: 6000.0}
    assert loads(pair.state) == {1: 60.0, 2: 80.0}


def test_a_backlog_never_makes_a_partition_count_for_more_than_a_consumer_is_filled_to(pair: Driver) -> None:
    pair.measures({"a_0": 4.0}, a_0=40, a_1=0, a_2=40, a_3=40)
    report_backlog(pair, 10**9)
    assert loads(pair.state) == {1: 85.0, 2: 80.0}
    pair.measures({"a_0": 4.0}, a_0=90, a_1=0, a_2=40, a_3=40)
    assert loads(pair.state)[ConsumerId(1)] == 90.0


def test_a_backlog_can_be_a_reason_to_scale(pair: Driver) -> None:
    pair.measures({"a_0": 4.0}, a_0=40, a_1=40, a_2=40, a_3=40)
    report_backlog(pair, 600)
    assert pair.waits(5, silent=[1]) == (create(3),)
    assert pair.causes == [Cause.OVERLOAD, Cause.CHANGE]


# Fewer consumers.


def test_the_periodic_review_closes_consumers_that_are_not_needed(pair: Driver) -> None:
    pair.measures(a_0=20, a_1=20, a_2=10, a_3=10)
    assert pair.waits(55) == ()
    assert pair.moved == ()
    assert pair.waits(5) == (pair.stop(2, 1, A2, A3),)
    assert pair.causes == [Cause.PERIODIC, Cause.CHANGE]


def test_no_consumer_is_closed_below_the_least_number() -> None:
    driver = Driver(rules(least_consumers=2)).takes_over({1: (A0,), 2: (A1,)})
    driver.measures(a_0=1, a_1=1)
    assert driver.waits(180) == ()
    assert driver.phases == {1: "ready", 2: "ready"}


# What can't be helped.


def test_a_partition_faster_than_any_consumer_gets_one_of_its_own_and_is_flagged(pair: Driver) -> None:
    assert pair.measures(a_0=120, a_1=40, a_2=40, a_3=40) == (create(3),)
    assert pair.flags == {
        "infeasible": "a-0 faster than any consumer: a-0 is written at 120 B/s, and one consumer carries 100 B/s. What "
        "helps: 2 times as many partitions of a, consumers that carry 141 B/s, or a transform with 71 % of the work"
    }
    pair.is_ready(3)
    pair.settles()
    assert sorted(map(len, pair.held.values())) == [1, 1, 2]
    assert pair.waits(50) == ()
    assert pair.moved == ()  # it was looked at; nothing has changed
    pair.measures(a_0=80, a_1=40, a_2=40, a_3=40)
    pair.waits(60)
    assert pair.flags == {}


def test_too_few_consumers_are_flagged_and_cause_a_new_plan_only_periodically() -> None:
    driver = Driver(rules(most_consumers=2)).takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=60, a_1=60, a_2=60, a_3=60)
    driver.settles()
    assert driver.flags == {"too few consumers": "consumers 1, 2 are overloaded, and no more can be created now"}
    assert driver.waits(55) == ()
    assert driver.moved == ()
    driver.waits(5)
    assert driver.causes == [Cause.PERIODIC, Cause.NO_CHANGE]
    driver.measures(a_0=30, a_1=30, a_2=30, a_3=30)
    driver.waits(60)
    assert driver.flags == {}


def test_another_consumer_that_is_overloaded_is_a_reason_to_look() -> None:
    driver = Driver(rules(most_consumers=2)).takes_over({1: (A0, A1), 2: (A2,)})
    driver.measures(a_0=80, a_1=80, a_2=80)
    assert driver.waits(10) == ()
    assert driver.moved == ()
    driver.measures(a_0=80, a_1=80, a_2=98)
    assert driver.causes == [Cause.OVERLOAD, Cause.NO_CHANGE]


def test_a_new_partition_is_placed_when_it_is_first_measured(pair: Driver) -> None:
    assert pair.measures(a_0=30, a_1=30, a_2=40, a_3=40, a_4=10) == (pair.start(1, 1, a_4="recover"),)
    assert pair.causes == [Cause.UNASSIGNED, Cause.CHANGE]
    pair.settles()
    assert pair.held[1] == (A0, A1, A4)


# Every decision has its reasons.


def test_every_decision_is_noted_with_its_reasons(pair: Driver) -> None:
    pair.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    assert [(noted.kind, noted.subject, noted.words) for noted in pair.notes] == [
        ("decision", "group", "2 -> 3 consumers, 1 move of 0.4 capacities"),
        (
            "decision",
            "a-1",
            (
                "a-1 goes from consumer 1 to 3: consumer 1 was at 100 % of its capacity, above its trigger of "
                "95 %; a-1 at 40 % was the lightest that sufficed; consumer 3 is opened (40 % after)"
            ),
        ),
        ("decision", "consumer 3", "consumer 3 is opened for a-1, 40 % of its capacity"),
        ("consumer", "consumer 3", "creating it"),
    ]


def test_a_plan_without_changes_notes_nothing_else(pair: Driver) -> None:
    pair.waits(60)
    assert pair.causes == [Cause.PERIODIC, Cause.NO_CHANGE]
    assert pair.notes == ()


@pytest.mark.parametrize("least", [0, 1])
def test_a_group_without_partitions_needs_the_least_consumers_only(least: int) -> None:
    driver = Driver(rules({}, least_consumers=least)).takes_over({1: (), 2: ()})
    driver.measures(c_0=10)
    driver.waits(60)
    assert sorted(driver.phases.values()) == ["leaving"] * (2 - least) + ["ready"] * least
    assert driver.state.stage is Stage.SENTINEL


def test_a_first_measurement_without_a_held_partition_closes_no_consumer() -> None:
    driver = Driver().takes_over({1: (A0, A1), 2: (A2, A3)})
    assert driver.measures(a_0=10, a_1=10) == ()
    assert driver.waits(25) == ()
    assert driver.measures(a_0=40, a_1=40, a_2=40, a_3=40) == ()
    assert driver.phases == {1: "ready", 2: "ready"}


def test_a_partition_that_is_never_measured_does_not_freeze_scaling_for_ever() -> None:
    driver = Driver().takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=10, a_1=10)
    driver.waits(120)
    driver.settles()
    assert len(driver.phases.keys() - {c for c, phase in driver.phases.items() if phase == "leaving"}) == 1


def test_stale_speeds_are_flagged_in_the_middle_of_a_change_too(pair: Driver) -> None:
    pair.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    assert pair.state.stage is Stage.MANAGE
    pair.waits(31, measured=False)
    assert pair.state.stage is Stage.MANAGE
    assert list(pair.flags) == ["stale speeds"]
