"""The record on which a transform fails is found, in few attempts, wherever it is."""

from collections.abc import Callable

import pytest

from restow.model import TopicPartition
from restow.pipeline.locating import Spans, locate, named
from restow.pipeline.sinks import Span

A0, A1, A2 = (TopicPartition("a", number) for number in range(3))
SPANS = {A0: Span(10, 20), A1: Span(0, 0), A2: Span(5, 105)}

At = set[tuple[TopicPartition, int]]


def offsets(spans: Spans) -> At:
    return {(partition, offset) for partition, span in spans.items() for offset in range(*span)}


def fails_on(bad: At) -> tuple[Callable[[Spans], bool], list[Spans]]:
    tried: list[Spans] = []

    def fails(spans: Spans) -> bool:
        tried.append(spans)
        return not bad.isdisjoint(offsets(spans))

    return fails, tried


@pytest.mark.parametrize("bad", sorted(offsets(SPANS)))
def test_the_one_bad_record_is_found_in_few_attempts(bad: tuple[TopicPartition, int]) -> None:
    fails, tried = fails_on({bad})
    assert locate(SPANS, fails) == {bad[0]: Span(bad[1], bad[1] + 1)}
    assert len(tried) <= 8, "110 records are halved 7 times, and the last one is confirmed"
    assert sum(len(offsets(spans)) for spans in tried) <= 2 * 110


def test_of_several_the_first_is_found() -> None:
    fails, _ = fails_on({(A2, 60), (A0, 17), (A2, 5)})
    assert locate(SPANS, fails) == {A0: Span(17, 18)}


def test_a_transform_that_fails_on_records_only_together_leaves_what_was_seen_to_fail() -> None:
    def fails(spans: Spans) -> bool:
        return {(A2, 5), (A2, 60)} <= offsets(spans)

    assert locate(SPANS, fails) == {A0: Span(10, 20), A2: Span(5, 105)}


def test_without_time_the_smallest_part_that_failed_is_left() -> None:
    fails, tried = fails_on({(A0, 17)})
    assert locate(SPANS, lambda spans: fails(spans) if len(tried) < 2 else None) == {A0: Span(10, 20), A2: Span(5, 22)}
    assert locate(SPANS, lambda _: None) == {A0: Span(10, 20), A2: Span(5, 105)}


def test_a_single_record_needs_no_attempt() -> None:
    fails, tried = fails_on(set())
    assert locate({A0: Span(3, 4)}, fails) == {A0: Span(3, 4)}
    assert tried == []


def test_records_are_named_by_partition_and_offset() -> None:
    assert named({A0: Span(17, 18)}) == "a-0 at offset 17"
    assert named({A0: Span(10, 20)}) == "a-0 from offset 10 to 19"
    assert named(SPANS | {A1: Span(1, 2)}) == "a-0 from offset 10 to 19, a-1 at offset 1 and a-2 from offset 5 to 104"
