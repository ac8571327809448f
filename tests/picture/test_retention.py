"""The margin to retention, and the flag that is raised before unread records are deleted."""

import pytest
from tests.support.picture_driver import pair

from restow.model import Retention, TopicPartition
from restow.picture.picture import Lag
from restow.picture.retention import FLAG, Margin, Writing, margin

HOUR, DAY = 3600.0, 86400.0
A = [TopicPartition("a", number) for number in range(4)]


def test_the_margin_is_the_retention_minus_the_age_of_the_oldest_unread_record() -> None:
    assert margin(Retention(7 * DAY), Lag(10, DAY), None) == Margin(6 * DAY, 7 * DAY)


def test_what_is_older_than_its_retention_may_be_deleted_at_any_moment() -> None:
    assert margin(Retention(DAY), Lag(10, 2 * DAY), None) == Margin(0.0, DAY)


@pytest.mark.parametrize(
    ("retention", "lag"),
    [
        (Retention(DAY), Lag(0, 0.0)),  # caught up
        (Retention(), Lag(10, DAY)),  # kept for ever, or only compacted
        (Retention(DAY), Lag(10, None)),  # age unknown
    ],
)
def test_there_may_be_no_margin(retention: Retention, lag: Lag) -> None:
    assert margin(retention, lag, Writing(100, 1)) is None


def test_new_records_push_out_old_ones_where_bytes_are_limited() -> None:
    """A partition keeps 10,000 bytes; 40 records of 100 bytes are unread, and 50 bytes/s come in."""
    assert margin(Retention(bytes=10_000), Lag(40, 80.0), Writing(50, 0.5)) == Margin(120.0, 200.0)
    assert margin(Retention(bytes=10_000), Lag(400, 800.0), Writing(50, 0.5)) == Margin(0.0, 200.0)


def test_a_silent_producer_pushes_out_nothing() -> None:
    assert margin(Retention(bytes=10_000), Lag(40, 80.0), Writing(0, 0)) is None
    assert margin(Retention(bytes=10_000), Lag(40, 80.0), None) is None


def test_the_smaller_of_both_margins_counts() -> None:
    assert margin(Retention(100.0, 10_000), Lag(40, 80.0), Writing(50, 0.5)) == Margin(20.0, 100.0)
    assert margin(Retention(DAY, 10_000), Lag(40, 80.0), Writing(50, 0.5)) == Margin(120.0, 200.0)


def test_a_margin_is_small_below_the_setting_or_half_of_a_short_retention() -> None:
    assert Margin(HOUR - 1, DAY).is_small(HOUR)
    assert not Margin(HOUR, DAY).is_small(HOUR)
    assert not Margin(400, 600).is_small(HOUR), "a topic that keeps ten minutes never has an hour"
    assert Margin(299, 600).is_small(HOUR)
    assert not Margin(0, DAY).is_small(0)


def test_the_picture_has_each_partitions_margin_and_raises_no_flag_while_there_is_time() -> None:
    picture = pair().picture({A[0]: Lag(10, HOUR), A[1]: Lag(0, 0.0)}, {"a": Retention(DAY)})
    assert picture.partitions[A[0]].retention_margin_s == 23 * HOUR
    assert picture.partitions[A[1]].retention_margin_s is None
    assert FLAG not in picture.overview.flags


def test_the_flag_names_the_worst_partitions_how_long_and_what_to_do() -> None:
    lags = {each: Lag(10, DAY - 60 * (4 - index)) for index, each in enumerate(A)}
    driver = pair()
    flag = driver.picture(lags, {"a": Retention(DAY)}).overview.flags[FLAG]
    assert flag.since == driver.time
    assert flag.words == (
        "Kafka will delete unread records: a-3 in 60 s (its lag does not shrink), a-2 in 2 min 0 s (its lag does not "
        "shrink), a-1 in 3 min 0 s (its lag does not shrink) and 1 partition more; let the consumers catch up, with "
        "more of them or a higher capacity, or raise retention.ms or retention.bytes of the topic until they have"
    )


def test_the_flag_says_where_no_consumer_reads_and_where_it_is_too_late() -> None:
    driver = pair()
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40, b_0=1)
    unread = TopicPartition("b", 0)
    flag = driver.picture({unread: Lag(10, 2 * DAY)}, {"b": Retention(DAY)}).overview.flags[FLAG]
    assert "b-0 at any moment (no consumer reads it);" in flag.words


def test_the_flag_keeps_the_time_at_which_it_was_raised() -> None:
    since = "2026-03-01T11:00:00.000Z"
    flag = pair().picture({A[0]: Lag(10, DAY)}, {"a": Retention(DAY)}, since).overview.flags[FLAG]
    assert flag.since == since
