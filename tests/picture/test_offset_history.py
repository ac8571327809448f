"""When a record was appended, from the history of end offsets."""

import pytest

from restow.model import TopicPartition
from restow.picture.offset_history import OffsetHistory

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


def test_samples_of_an_earlier_process_come_before_the_first() -> None:
    earlier, ends = history(10, 20, 30), OffsetHistory()
    ends.add(102, {A: 30})
    ends.add(103, {A: 40})
    assert ends.age_s(A, 15, now_s=103) is None
    ends.restore(earlier.samples)
    assert ends.age_s(A, 15, now_s=103) == pytest.approx(2.4)
    assert [sample.time_s for sample in ends.samples] == [100, 101, 102, 103]


def test_restored_samples_are_limited_too() -> None:
    ends = history(*range(0, 100, 10), longest_s=20)
    ends.restore(OffsetHistory().samples)
    older = OffsetHistory()
    for second in range(50, 100):
        older.add(second, {A: 0})
    ends.restore(older.samples)
    assert [ends.samples[0].time_s, ends.samples[-1].time_s] == [90, 109]


def test_the_beginning_is_the_first_sample_of_the_partition() -> None:
    ends = history(10, 20)
    ends.add(102, {A: 30, B: 5})
    assert ends.begin(A) == (100, 10)
    assert ends.begin(B) == (102, 5)
    assert ends.begin(TopicPartition("b", 0)) is None
