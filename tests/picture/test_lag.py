"""Lag in records and seconds, from the history of end offsets and from record timestamps."""

from collections.abc import Mapping

import pytest

from restow.model import ConsumerId, FirstUnread, SortedMapping, TopicPartition
from restow.picture.lag import LOOK_AGAIN_S, MOST_LOOKUPS, Clock, LagTracker
from restow.picture.offset_history import OffsetHistory
from restow.picture.picture import Lag
from restow.protocol.field_types import Offsets
from restow.protocol.messages.consumer_events import StartConsumingEvent, StopConsumingEvent
from restow.protocol.messages.reports import ConsumerReport

A, B = TopicPartition("a", 0), TopicPartition("a", 1)
NOON = 1_772_366_400.0
"""The wall clock at second 0."""


def at(second: float) -> Clock:
    return Clock(second, NOON + second)


def wanted(lags: LagTracker, second: float) -> dict[TopicPartition, int]:
    return lags.unexplained(lags.lags(at(second)), at(second), lambda _: True)


OFFSETS: Offsets = SortedMapping({A: 15, B: 4})


def tracker() -> LagTracker:
    """A grows by 10 a second from second 100 to 102 and ends at 30; B has 4 records."""
    found = LagTracker()
    for second, end in ((100.0, 10), (101.0, 20), (102.0, 30)):
        found.measured(second, {A: end, B: 4}, second + NOON)
    return found


def report(lag: Offsets, next_offsets: Offsets) -> ConsumerReport:
    return ConsumerReport(ConsumerId(1), 7, lag, SortedMapping(), 0.0, 0.0, False, 0.0, 0.0, next_offsets=next_offsets)


def test_a_partition_without_a_known_position_has_no_lag() -> None:
    assert tracker().lags(at(102)) == {}


def test_the_lag_is_the_end_minus_what_is_stored() -> None:
    lags = tracker()
    lags.heard(report(SortedMapping({A: 999, B: 999}), OFFSETS))
    assert lags.lags(at(102)) == {A: Lag(15, 1.4), B: Lag(0, 0.0)}


def test_it_grows_while_no_consumer_reads_the_partition() -> None:
    lags = tracker()
    lags.heard(StopConsumingEvent(ConsumerId(1), 7, 3, 1, SortedMapping({A: 15, B: None})))
    lags.measured(110, {A: 50, B: 4}, 110 + NOON)
    assert lags.lags(at(112)) == {A: Lag(35, 11.4)}


def test_a_consumer_that_reports_lags_only_is_placed_by_them() -> None:
    lags = tracker()
    lags.heard(report(SortedMapping({A: 15, B: 0}), SortedMapping()))
    assert lags.lags(at(102)) == {A: Lag(15, 1.4), B: Lag(0, 0.0)}


def test_what_is_older_than_the_history_has_no_age() -> None:
    lags = tracker()
    lags.heard(StartConsumingEvent(ConsumerId(1), 7, 3, 1, SortedMapping({A: 2})))
    assert lags.lags(at(102)) == {A: Lag(28, None)}


def behind(position: int) -> LagTracker:
    """A from second 100 to 102, ends 1,000 to 1,020; the position is older than that."""
    found = LagTracker()
    for second, end in ((100.0, 1000), (101.0, 1010), (102.0, 1020)):
        found.measured(second, {A: end}, second + NOON)
    found.heard(StartConsumingEvent(ConsumerId(1), 7, 3, 1, SortedMapping({A: position})))
    return found


def answered(lags: LagTracker, second: float, found: Mapping[TopicPartition, FirstUnread]) -> None:
    lags.looked_up(wanted(lags, second), found, at(second))


def test_beyond_the_history_the_records_timestamp_counts_and_is_marked() -> None:
    lags = behind(400)
    assert wanted(lags, 102) == {A: 400}
    answered(lags, 102, {A: FirstUnread(400, NOON - 498)})
    assert lags.lags(at(102)) == {A: Lag(620, 600.0, "record timestamp")}


def test_it_grows_with_the_wall_clock_and_is_not_looked_up_again() -> None:
    lags = behind(400)
    answered(lags, 102, {A: FirstUnread(400, NOON - 498)})
    assert lags.lags(at(5102)) == {A: Lag(620, 5600.0, "record timestamp")}
    assert wanted(lags, 5102) == {}


def test_between_two_lookups_it_is_interpolated() -> None:
    lags = behind(400)
    answered(lags, 102, {A: FirstUnread(400, NOON - 498)})
    lags.heard(StartConsumingEvent(ConsumerId(1), 7, 3, 1, SortedMapping({A: 700})))
    lag = lags.lags(at(102))[A]
    assert (lag.records, lag.source) == (320, "record timestamp")
    assert lag.seconds == pytest.approx((600 + 2) / 2), "half of the way from the record to the history's beginning"


def test_a_moved_position_is_looked_up_again_after_a_while() -> None:
    lags = behind(400)
    answered(lags, 102, {A: FirstUnread(400, NOON - 498)})
    lags.heard(StartConsumingEvent(ConsumerId(1), 7, 3, 1, SortedMapping({A: 700})))
    assert wanted(lags, 103) == {}
    assert wanted(lags, 102 + LOOK_AGAIN_S) == {A: 700}


def test_a_position_that_went_back_is_looked_up_at_once() -> None:
    lags = behind(400)
    answered(lags, 102, {A: FirstUnread(400, NOON - 498)})
    lags.heard(StartConsumingEvent(ConsumerId(1), 7, 3, 1, SortedMapping({A: 300})))
    assert lags.lags(at(103)) == {A: Lag(720, None)}
    assert wanted(lags, 103) == {A: 300}


def test_a_timestamp_in_the_future_is_at_least_as_old_as_the_history() -> None:
    lags = behind(400)
    answered(lags, 102, {A: FirstUnread(400, NOON + 9999)})
    assert lags.lags(at(102)) == {A: Lag(620, 2.0, "record timestamp")}
    assert lags.lags(at(112)) == {A: Lag(620, 12.0, "record timestamp")}


def test_a_record_without_a_timestamp_has_no_age_and_is_read_once() -> None:
    lags = behind(400)
    answered(lags, 102, {A: FirstUnread(400)})
    assert lags.lags(at(102)) == {A: Lag(620, None)}
    assert wanted(lags, 9999) == {}


def test_a_gap_without_records_is_no_lag() -> None:
    """Compaction, an aborted transaction or retention has removed what was there."""
    lags = behind(400)
    answered(lags, 102, {A: FirstUnread(900, NOON + 42)})
    assert lags.lags(at(102)) == {A: Lag(120, 60.0, "record timestamp")}


def test_markers_of_transactions_are_no_lag() -> None:
    lags = tracker()
    lags.heard(report(SortedMapping({A: 0}), SortedMapping({A: 29})))
    assert wanted(lags, 103) == {}, "the consumer may not have seen the last record yet"
    assert wanted(lags, 120) == {A: 29}
    answered(lags, 120, {A: FirstUnread(30, is_end=True)})
    assert lags.lags(at(120)) == {A: Lag(0, 0.0)}
    lags.measured(121, {A: 32}, 121 + NOON)
    assert lags.lags(at(122))[A].records == 2


def test_a_partition_that_had_only_markers_is_looked_up_again_when_it_has_more() -> None:
    lags = behind(999)
    answered(lags, 102, {A: FirstUnread(1000, is_end=True)})
    for second in range(103, 900):
        lags.measured(second, {A: 1020}, second + NOON)
    assert lags.lags(at(900)) == {A: Lag(20, None)}
    assert wanted(lags, 900) == {A: 999}


def test_few_are_looked_up_at_once_those_of_which_nothing_is_known_first() -> None:
    lags, many = LagTracker(), [TopicPartition("many", number) for number in range(2 * MOST_LOOKUPS)]
    lags.measured(100, dict.fromkeys(many, 50), 100 + NOON)
    lags.committed(dict.fromkeys(many, 10))
    first = wanted(lags, 100)
    assert first == dict.fromkeys(many[:MOST_LOOKUPS], 10)
    lags.looked_up(first, {each: FirstUnread(10, NOON) for each in first}, at(100))
    lags.heard(StartConsumingEvent(ConsumerId(1), 7, 3, 1, SortedMapping({many[0]: 20})))
    assert wanted(lags, 200) == dict.fromkeys(many[MOST_LOOKUPS:], 10)


def test_topics_that_the_group_no_longer_consumes_are_not_looked_up() -> None:
    lags = behind(400)
    assert lags.unexplained(lags.lags(at(102)), at(102), lambda partition: partition == B) == {}


def test_a_committed_offset_counts_until_a_consumer_says_more() -> None:
    lags = tracker()
    lags.committed({A: 25, B: 1})
    assert lags.lags(at(102))[A] == Lag(5, 0.4)
    lags.heard(report(SortedMapping({A: 1}), SortedMapping({A: 29})))
    lags.committed({A: 25})
    assert lags.lags(at(102))[A].records == 1


def test_a_new_controller_goes_on_with_the_history_of_the_one_before() -> None:
    """The monitor's clock differs from the controller's by any amount."""
    earlier, lags = OffsetHistory(), LagTracker()
    for second, end in ((95, 0), (96, 10), (97, 20)):
        earlier.add(second + 5000, {A: end})
    assert not lags.restored(earlier.samples), "no measurement has shown the difference of the clocks"
    lags.measured(98, {A: 30}, 98 + 5000)
    assert lags.restored(earlier.samples)
    lags.committed({A: 14})
    assert lags.lags(at(98)) == {A: Lag(16, 1.5)}
