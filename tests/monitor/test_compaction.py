"""A compacted log: bytes that compaction hid are added from the number of records, and flagged as estimated."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from restow.model import TopicPartition
from restow.monitor.compaction import FRAME_BYTES, LEARNT_FROM, LEAST_SLACK, MOST_UNCERTAIN
from restow.monitor.meter import Meter, MeterSettings
from restow.monitor.sample import PartitionSample, Sample

P0 = TopicPartition("orders", 0)
WINDOW_S = 5
TOLD = 1e-6


@dataclass(frozen=True)
class Second:
    """What happened to a log in a second."""

    records: int
    record_bytes: int = 100
    removed_bytes: int = 0
    late_bytes: int = 0
    """Of what was written, so much came between the look at the size and the one at the offsets."""


@dataclass(frozen=True)
class Told:
    bytes_per_s: float
    estimated: bool


def told(seconds: Sequence[Second], window_s: float = WINDOW_S, *, compacted: bool = True) -> list[Told]:
    """Of each second's window, for a log that was empty at first."""
    meter = Meter(MeterSettings(window_s=window_s))
    offset = size = late = 0
    found = []
    for time_s, second in enumerate([Second(0), *seconds]):
        offset += second.records
        size += second.records * second.record_bytes + late - second.late_bytes - second.removed_bytes
        late = second.late_bytes
        measured = meter.take(Sample.of(float(time_s), {P0: PartitionSample(offset, size, compacted=compacted)}))
        if measured:
            assert measured.filtered_bytes_per_s[0] >= 0
            found.append(Told(round(float(measured.bytes_per_s[0]), 6), bool(measured.estimated[0])))
    return found


CALM = [Second(10)] * (LEARNT_FROM + WINDOW_S)
"""Long enough to be known, and for the window to hold none of what it was learnt from."""


def test_a_topic_that_is_not_compacted_is_measured_by_its_growth() -> None:
    assert told([*CALM, Second(10, removed_bytes=500)], compacted=False)[-1] == Told(900, False)


def test_growth_that_is_too_low_is_raised_to_what_the_records_take() -> None:
    *_, before, now = told([*CALM, Second(10, removed_bytes=500)])
    assert (before, now) == (Told(1000, False), Told(1000, True))


def test_a_log_that_shrinks_is_estimated_by_what_is_known_of_it() -> None:
    assert told([*CALM, Second(10, removed_bytes=4000), Second(10)])[-1] == Told(1000, True)


def test_growth_that_cannot_be_checked_yet_is_taken_as_an_estimate() -> None:
    assert told([Second(10)] * 2) == [Told(1000, True)] * 2
    assert told([Second(10), Second(10, removed_bytes=500)])[-1] == Told(750, True)


def test_larger_records_are_believed_at_once() -> None:
    assert told([*CALM, *[Second(10, 300)] * WINDOW_S])[-1].bytes_per_s == 3000


def test_smaller_records_are_believed_after_three_intervals_and_what_was_raised_is_withdrawn() -> None:
    found = told([*CALM, *[Second(10, 40)] * 8])[len(CALM) :]
    assert [one.bytes_per_s for one in found] == [1000, 1000, 640, 520, 400, 400, 400, 400]
    assert [one.estimated for one in found] == [True] * 7 + [False]


def test_a_log_that_does_not_grow_is_never_taken_for_smaller_records() -> None:
    assert told([*CALM, *[Second(10, removed_bytes=1000)] * 12])[-1] == Told(1000, True)


def test_what_is_known_is_given_up_when_nothing_bears_it_out_for_long() -> None:
    restless = [Second(10, record_bytes) for record_bytes in (40, 20, 10) * 20]
    assert told([*CALM, *restless])[-1].bytes_per_s == pytest.approx(233, abs=50)


def test_records_that_share_more_frames_at_a_higher_speed_are_no_compaction() -> None:
    alone, together = Second(1, 40 + FRAME_BYTES), Second(1000, 40)
    found = told([*[alone] * len(CALM), *[together] * 3], window_s=1)
    assert [one.bytes_per_s for one in found[-4:]] == [101, 40_000, 40_000, 40_000]


def test_a_burst_between_the_size_and_the_offsets_is_not_counted_twice() -> None:
    found = told([*CALM, Second(200, late_bytes=20_000), *[Second(10)] * 3])[len(CALM) :]
    assert found[0] == Told(4800, True)
    assert [one.bytes_per_s for one in found[1:]] == [4800, 4800, 4800]


REMOVED = st.integers(0, 100)
"""Per cent of the log's growth in a second."""


@st.composite
def compacted_seconds(draw: st.DrawFn, sizes: st.SearchStrategy[int]) -> list[Second]:
    """Calm ones first, from which a partition is known; then some of which compaction removed any share."""
    seconds = [Second(draw(st.integers(20, 40)), draw(sizes)) for _ in range(LEARNT_FROM + 1)]
    for _ in range(draw(st.integers(1, 20))):
        records, record_bytes, share = draw(st.integers(1, 60)), draw(sizes), draw(REMOVED)
        seconds.append(Second(records, record_bytes, records * record_bytes * share // 100))
        if draw(st.booleans()):
            seconds.append(Second(draw(st.integers(1, 60)), draw(sizes)))
    return seconds


def written(seconds: Sequence[Second], window_s: int) -> list[float]:
    """What was truly written, by second, over the window up to it."""
    each = [second.records * second.record_bytes for second in seconds]
    windows = [each[max(0, end - window_s) : end] for end in range(1, len(each) + 1)]
    return [sum(window) / len(window) for window in windows]


@given(compacted_seconds(st.just(1000)))
@settings(deadline=None, max_examples=examples(100))
@pytest.mark.slow
def test_with_records_of_one_size_nothing_is_made_up_and_what_is_not_flagged_is_right(seconds: list[Second]) -> None:
    for one, true in zip(told(seconds), written(seconds, WINDOW_S), strict=True):
        assert one.bytes_per_s <= true + TOLD
        if not one.estimated:
            assert one.bytes_per_s >= (1 - MOST_UNCERTAIN) * true - TOLD


@given(compacted_seconds(st.integers(950, 1050)))
@settings(deadline=None, max_examples=examples(100))
@pytest.mark.slow
def test_with_records_that_vary_a_little_no_more_is_made_up_than_they_vary(seconds: list[Second]) -> None:
    for one, true in zip(told(seconds), written(seconds, WINDOW_S), strict=True):
        assert one.bytes_per_s <= true * 1050 / 950 + TOLD


@given(st.lists(st.tuples(st.integers(20, 40), st.sampled_from([0, 0, 30, 70])), min_size=1, max_size=25))
@settings(deadline=None, max_examples=examples(100))
@pytest.mark.slow
def test_a_compaction_between_calm_seconds_costs_no_more_than_the_slack(parts: list[tuple[int, int]]) -> None:
    seconds = [Second(30)] * (LEARNT_FROM + 1)
    for records, share in parts:  # a calm second after each: no three in a row are too low by the same
        seconds += [Second(records, 100, records * share), Second(30)]
    for one, true, second in zip(told(seconds), written(seconds, WINDOW_S), seconds, strict=True):
        assert (1 - LEAST_SLACK) * true - TOLD <= one.bytes_per_s <= true + TOLD
        assert one.estimated or second.removed_bytes == 0
