"""All bad records of a range are found, in few jobs, wherever they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.model import TopicPartition
from restow.pipeline.locating import Spans
from restow.pipeline.searching import FailedTask, Search, TooManyBad
from restow.pipeline.sinks import Span

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
Bad = Mapping[TopicPartition, set[int]]


@dataclass
class Scripted:
    """Jobs that fail if their offsets have a bad one."""

    bad: Bad
    names_tasks: bool = True
    jobs: list[int] = field(default_factory=list)
    """How many offsets each had."""
    tasks: int = 0

    def fails(self, spans: Spans) -> str | None:
        self.jobs.append(sum(span.next - span.first for span in spans.values()))
        bad = [o for p, span in spans.items() for o in sorted(self.bad.get(p, ())) if span.first <= o < span.next]
        return f"bad {bad[0]}" if bad else None

    def fails_each(self, partition: TopicPartition, span: Span) -> FailedTask | None:
        bad = [offset for offset in sorted(self.bad.get(partition, ())) if span.first <= offset < span.next]
        self.tasks += (bad[0] if bad else span.next) - span.first
        return FailedTask(bad[0] - span.first if self.names_tasks else None, f"bad {bad[0]}") if bad else None


def found(runs: Scripted, spans: Spans, most: int = 10**6) -> dict[TopicPartition, set[int]]:
    return {p: set(offsets) for p, offsets in Search(runs, most).search(spans).items()}


BAD = st.fixed_dictionaries(
    {A0: st.sets(st.integers(100, 2599), max_size=8), A1: st.sets(st.integers(0, 1999), max_size=8)}
)


@given(BAD, st.booleans())
def test_every_bad_record_is_found_and_no_other(bad: Bad, names_tasks: bool) -> None:
    runs = Scripted(bad, names_tasks)
    expected = {partition: offsets for partition, offsets in bad.items() if offsets}
    assert found(runs, {A0: Span(100, 2600), A1: Span(0, 2000)}) == expected


def test_one_bad_record_of_two_hundred_thousand_takes_few_jobs_and_at_most_a_thousand_tasks() -> None:
    runs = Scripted({A0: {123_456}})
    assert found(runs, {A0: Span(0, 200_000)}) == {A0: {123_456}}
    assert len(runs.jobs) <= 16
    assert runs.tasks <= 1000


def test_a_record_is_bad_only_if_it_fails_alone_too() -> None:
    class Flaky(Scripted):
        def fails(self, spans: Spans) -> str | None:
            return None if sum(span.next - span.first for span in spans.values()) == 1 else super().fails(spans)

    assert found(Flaky({A0: {5}}), {A0: Span(0, 10)}) == {}


def test_the_error_of_a_later_stage_names_a_task_that_is_no_record_and_halving_finds_it() -> None:
    class Shuffled(Scripted):
        def fails_each(self, partition: TopicPartition, span: Span) -> FailedTask | None:
            failed = super().fails_each(partition, span)
            return failed and FailedTask(0, failed.reason)

    assert found(Shuffled({A0: {5, 77}}), {A0: Span(0, 100)}) == {A0: {5, 77}}


def test_a_search_ends_when_there_are_too_many() -> None:
    runs = Scripted({A0: set(range(1000))})
    with pytest.raises(TooManyBad) as raised:
        found(runs, {A0: Span(0, 1000)}, most=20)
    assert raised.value.found == {A0: {offset: f"bad {offset}" for offset in range(21)}}
    assert len(runs.jobs) == 21
