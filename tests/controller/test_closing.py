"""A consumer is closed late: only if the others could have carried its partitions for minutes, and not after another
change, nor beyond the budget of moves."""

from typing import Any

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, Driver, create, delete, rules

from restow.controller import closing
from restow.controller.event_log import replay
from restow.controller.peaks import BUCKETS, Peaks
from restow.model import Assignment, Capacities, ConsumerId, Speeds, TopicPartition
from restow.packing import Problem

MINUTES: dict[str, Any] = {"close_after_s": 100.0, "look_every_s": 10.0}
BUSY: dict[str, Any] = {"a_0": 40.0, "a_1": 40.0, "a_2": 40.0, "a_3": 40.0}
CALM: dict[str, Any] = {"a_0": 20.0, "a_1": 20.0, "a_2": 10.0, "a_3": 10.0}


def two_of(**controller: Any) -> Driver:
    """Two consumers that need each other, and have been measured once."""
    driver = Driver(rules(**{**MINUTES, **controller})).takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(**BUSY)
    assert driver.is_calm
    return driver


# Hysteresis.


def test_a_pause_of_the_producers_costs_no_consumer() -> None:
    driver = two_of()
    driver.waits(200)
    driver.measures(a_0=0, a_1=0, a_2=0, a_3=0)
    assert driver.waits(60) == ()
    driver.measures(**BUSY)
    assert driver.waits(200) == ()
    assert driver.moved == () or {moved.cause.value for moved in driver.moved} == {"periodic", "no change"}
    assert driver.phases == {1: "ready", 2: "ready"}


def test_a_consumer_is_closed_when_the_others_could_have_carried_its_partitions_for_as_long_as_set() -> None:
    driver = two_of()
    driver.measures(**CALM)
    assert driver.waits(95) == ()
    latest_s = 100 / BUCKETS + 10 + 5
    assert driver.waits(latest_s) == (driver.stop(2, 1, A2, A3),)
    assert any("2 -> 1 consumers, which could have carried the load of the last 100 s" in line for line in driver.words)
    assert driver.settles()[-1] == delete(2)


def test_a_moment_of_load_within_the_minutes_counts() -> None:
    driver = two_of()
    driver.measures(**CALM)
    driver.waits(80)
    driver.measures(**BUSY)
    driver.measures(**CALM)
    assert driver.waits(95) == ()


def test_a_new_controller_closes_nothing_before_it_knows_the_minutes() -> None:
    driver = Driver(rules(**MINUTES)).takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(**CALM)
    assert driver.waits(95) == ()
    assert driver.waits(30) == (driver.stop(2, 1, A2, A3),)


def test_it_says_how_long_it_knows_the_speeds() -> None:
    driver = two_of()
    driver.waits(40)
    words = "no consumer is closed yet: speeds are known for 40 s, and close_after_s is 100"
    assert closing.waits_for(driver.state) == words


def test_overload_is_met_at_once_all_the_same() -> None:
    driver = two_of()
    assert driver.measures(a_0=60, a_1=60, a_2=60, a_3=60) == (create(3), create(4))


def test_a_lower_upper_limit_closes_at_once() -> None:
    driver = Driver(rules(most_consumers=1, **MINUTES)).takes_over({1: (A0, A1), 2: (A2, A3)})
    [stop] = driver.measures(**BUSY)
    assert stop in (driver.stop(2, 1, A2, A3), driver.stop(1, 1, A0, A1))


def test_no_new_consumer_takes_the_place_of_one_that_is_there() -> None:
    """To the packer consumers are alike if nothing that moves is written."""
    current = Assignment({A0: ConsumerId(1), A1: ConsumerId(2)})
    problem = Problem(Speeds({A0: 0.0, A1: 50.0, A2: 0.0}), current, Capacities(100.0))
    planned = Assignment({A0: ConsumerId(2), A1: ConsumerId(2), A2: ConsumerId(3)})
    kept = closing.with_present_consumers(problem, planned)
    assert kept == Assignment({A0: ConsumerId(1), A1: ConsumerId(2), A2: ConsumerId(1)})
    assert closing.with_present_consumers(problem, kept) is kept


# Cool-downs.


def test_no_consumer_is_closed_for_a_time_after_one_was_opened() -> None:
    driver = Driver(rules(look_every_s=10.0, cool_down_after_opening_s=200.0)).takes_over({1: (A0, A1)})
    assert driver.measures(a_0=60, a_1=60) == (create(2),)
    driver.is_ready(2)
    driver.settles()
    driver.measures(a_0=20, a_1=20)
    assert driver.waits(190) == ()
    assert closing.waits_for(driver.state) == "no consumer is closed for another 10 s: one was opened 190 s ago"
    assert len(driver.waits(25)) == 1


def test_no_other_consumer_is_closed_for_a_time_after_one_was_closed() -> None:
    partitions = (A0, A1, A2)
    driver = Driver(rules(look_every_s=10.0, cool_down_after_closing_s=60.0, least_consumers=2))
    driver.takes_over({number: (each,) for number, each in enumerate(partitions, start=1)})
    driver.measures(a_0=30, a_1=30, a_2=30)
    driver.settles()
    assert sorted(driver.phases.values()) == ["leaving", "ready", "ready"]
    [gone] = [number for number, phase in driver.phases.items() if phase == "leaving"]
    driver.goes(gone)
    assert closing.waits_for(driver.state) == "no consumer is closed for another 60 s: one was closed 0 s ago"


# The budget of moves.


def test_closing_a_consumer_waits_while_the_budget_of_moves_is_spent() -> None:
    driver = two_of(most_moves_per_h=3)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    driver.is_ready(3)
    driver.settles()
    assert closing.moves_in_last_hour(driver.state) == 1
    driver.measures(a_0=35, a_1=35, a_2=35, a_3=35)
    driver.waits(150)
    assert driver.settles()[-1] == delete(1)
    driver.goes(1)
    assert closing.moves_in_last_hour(driver.state) == 2
    driver.measures(**CALM)
    assert driver.waits(150) == ()
    words = "a consumer could be closed by 2 moves; 2 of 3 moves per hour are made"
    assert driver.flags == {"moves postponed": words}
    [stop, *_] = driver.waits(3500)
    assert stop == driver.stop(2, 1, A2, A3)
    assert driver.flags == {}


def test_moves_for_an_overloaded_consumer_are_never_refused() -> None:
    driver = two_of(most_moves_per_h=1)
    assert driver.measures(a_0=90, a_1=40, a_2=90, a_3=40) == (create(3), create(4)) or driver.state.target is not None
    for consumer in sorted(driver.state.awaited()):
        driver.is_ready(consumer)
    driver.settles()
    assert closing.moves_in_last_hour(driver.state) == 2
    assert driver.flags == {}


def test_a_closing_that_takes_more_than_the_whole_budget_says_so() -> None:
    driver = two_of(most_moves_per_h=1)
    driver.measures(**CALM)
    driver.waits(150)
    assert driver.flags == {
        "moves postponed": "a consumer could be closed by 2 moves; 0 of 1 moves per hour are made, and closing one "
        "takes more than that: raise most_moves_per_h"
    }


# The history of speeds.


def at(**speeds: float) -> Speeds:
    return Speeds({TopicPartition.parse(name.replace("_", "-")): speed for name, speed in speeds.items()})


@pytest.mark.parametrize(("is_fine", "longer_s", "buckets"), [(False, 121, BUCKETS + 2), (True, 106, 22)])
def test_peaks_are_the_highest_speeds_of_the_window_and_of_little_more(
    is_fine: bool, longer_s: int, buckets: int
) -> None:
    peaks = Peaks()
    for second in range(1, 1001):
        peaks = peaks.measured(at(a_0=float(second % 300), a_1=1.0), float(second), 100.0, is_fine=is_fine)
        oldest = max(1, second - 100)
        inside = [other % 300 for other in range(oldest, second + 1)]
        longer = [other % 300 for other in range(max(1, second - longer_s), second + 1)]
        assert max(inside) <= peaks.highest()[A0] <= max(longer)
        assert len(peaks.buckets) <= buckets
    assert peaks.since_s == 1.0


def test_a_large_group_has_few_buckets() -> None:
    many = Speeds({TopicPartition("a", number): 1.0 for number in range(5000)})
    peaks = Peaks()
    for second in range(0, 300, 5):
        peaks = peaks.measured(many, float(second), 100.0)
    assert len(peaks.buckets) <= BUCKETS + 2


def test_typical_speeds_leave_out_pauses_and_the_noise_of_single_partitions() -> None:
    peaks = Peaks()
    for second, speeds in enumerate((at(a_0=30.0, a_1=10.0), at(a_0=10.0, a_1=30.0), at(a_0=0.0, a_1=0.0))):
        peaks = peaks.measured(speeds, 5.0 * second, 100.0)
    assert peaks.highest() == {A0: 30.0, A1: 30.0}
    assert peaks.typical() == {A0: 20.0, A1: 20.0}
    assert Peaks().measured(at(a_0=0.0), 0.0, 100.0).typical() == {A0: 0.0}


def test_partitions_that_were_never_fast_together_don_t_keep_a_consumer() -> None:
    driver = two_of()
    for turn in range(16):
        fast, slow = (45.0, 5.0) if turn % 2 else (5.0, 45.0)
        driver.ticks(5.0)
        driver.measures(a_0=fast, a_1=slow, a_2=2.0, a_3=2.0)
        driver.waits(10)
    assert not driver.is_calm, "the four have had 54 at any time, and 94 of 100 if each were at its highest"


def test_older_buckets_keep_only_what_was_faster_than_later() -> None:
    peaks = Peaks()
    for second in range(0, 200, 5):
        peaks = peaks.measured(at(a_0=50.0, a_1=200.0 - second), float(second), 100.0, is_fine=False)
    assert sum(A0 in bucket.highest for bucket in peaks.buckets) == 1
    assert all(A1 in bucket.highest for bucket in peaks.buckets)


def test_without_a_window_nothing_is_remembered() -> None:
    assert Peaks().measured(at(a_0=1.0), 5.0, 0.0) == Peaks()


def test_a_gap_longer_than_the_window_begins_it_anew() -> None:
    peaks = Peaks().measured(at(a_0=90.0), 0.0, 100.0).measured(at(a_0=1.0), 500.0, 100.0)
    assert peaks.highest() == {A0: 1.0}
    assert peaks.since_s == 500.0


@pytest.mark.parametrize("seconds", [0.0, 100.0])
def test_the_history_is_in_the_event_log(seconds: float) -> None:
    driver = two_of(close_after_s=seconds)
    driver.waits(30)
    steps = list(replay(driver.log))
    assert all(step.agrees for step in steps)
    assert steps[-1].after == driver.state
