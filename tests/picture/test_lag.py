"""Seconds behind, from the history of end offsets."""

import pytest

from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.picture.lag import LagTracker, OffsetHistory
from restow.picture.picture import Lag
from restow.protocol.messages import ConsumerReport, Offsets, StartConsumingEvent, StopConsumingEvent

A, B = TopicPartition("a", 0), TopicPartition("a", 1)


def history(*ends: int, every_s: float = 1.0, **limits: float) -> OffsetHistory:
    """Samples of partition A from second 100 on."""
    found = OffsetHistory(**limits)  # type: ignore[arg-type]
    for index, end in enumerate(ends):
        found.add(100 + index * every_s, {A: end})
    return found


def test_a_partition_that_is_caught_up_is_0_behind() -> None:
    assert history(10, 20, 30).age_s(A, 30, now_s=102.5) == 0


def test_the_age_is_that_of_the_record_at_the_position() -> None:
    ends = history(10, 20, 30, 40)
    assert ends.age_s(A, 29, now_s=103) == pytest.approx(1.0)
    assert ends.age_s(A, 24, now_s=103) == pytest.approx(1.5)
    assert ends.age_s(A, 10, now_s=103) == pytest.approx(2.9)


def test_it_grows_while_producers_are_silent() -> None:
    ends = history(10, 20, 20, 20, 20)
    assert ends.age_s(A, 19, now_s=104) == pytest.approx(3.0)
    assert ends.age_s(A, 19, now_s=204) == pytest.approx(103.0)


def test_a_record_from_before_the_history_has_no_age() -> None:
    assert history(10, 20).age_s(A, 9, now_s=101) is None


def test_a_partition_that_is_not_in_the_history_has_no_age() -> None:
    assert history(10, 20).age_s(B, 0, now_s=101) is None


def test_a_partition_that_appeared_later_has_an_age_from_then_on() -> None:
    ends = history(10, 20)
    ends.add(102, {A: 30, B: 5})
    ends.add(103, {A: 40, B: 15})
    assert ends.age_s(B, 9, now_s=103) == pytest.approx(0.5)
    assert ends.age_s(B, 4, now_s=103) is None
    assert ends.age_s(A, 10, now_s=103) == pytest.approx(2.9)


def test_samples_older_than_the_history_are_dropped() -> None:
    ends = history(*range(0, 1000, 10), longest_s=20)
    assert ends.age_s(A, 985, now_s=199) is not None
    assert ends.age_s(A, 700, now_s=199) is None


def test_a_large_group_keeps_fewer_samples() -> None:
    ends = history(*range(0, 1000, 10), most_offsets=10)
    assert ends.age_s(A, 940, now_s=199) is not None
    assert ends.age_s(A, 890, now_s=199) is None


def test_a_sample_out_of_order_is_ignored() -> None:
    ends = history(10, 20, 30)
    ends.add(101.5, {A: 5})
    assert ends.end(A) == 30


OFFSETS: Offsets = SortedMapping({A: 15, B: 4})


def tracker() -> LagTracker:
    """A grows by 10 a second from second 100 to 102 and ends at 30; B has 4 records."""
    found = LagTracker()
    for second, end in ((100.0, 10), (101.0, 20), (102.0, 30)):
        found.measured(second, {A: end, B: 4})
    return found


def report(lag: Offsets, next_offsets: Offsets) -> ConsumerReport:
    return ConsumerReport(ConsumerId(1), 7, lag, SortedMapping(), 0.0, 0.0, False, 0.0, 0.0, next_offsets=next_offsets)


def test_a_partition_without_a_known_position_has_no_lag() -> None:
    assert tracker().lags(102) == {}


def test_the_lag_is_the_end_minus_what_is_stored() -> None:
    lags = tracker()
    lags.heard(report(SortedMapping({A: 999, B: 999}), OFFSETS))
    assert lags.lags(102) == {A: Lag(15, 1.4), B: Lag(0, 0.0)}


def test_it_grows_while_no_consumer_reads_the_partition() -> None:
    lags = tracker()
    lags.heard(StopConsumingEvent(ConsumerId(1), 7, 3, 1, SortedMapping({A: 15, B: None})))
    lags.measured(110, {A: 50, B: 4})
    assert lags.lags(112) == {A: Lag(35, 11.4)}


def test_a_consumer_that_reports_lags_only_is_placed_by_them() -> None:
    lags = tracker()
    lags.heard(report(SortedMapping({A: 15, B: 0}), SortedMapping()))
    assert lags.lags(102) == {A: Lag(15, 1.4), B: Lag(0, 0.0)}


def test_what_is_older_than_the_history_has_no_age() -> None:
    lags = tracker()
    lags.heard(StartConsumingEvent(ConsumerId(1), 7, 3, 1, SortedMapping({A: 2})))
    assert lags.lags(102) == {A: Lag(28, None)}
