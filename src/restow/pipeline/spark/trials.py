"""Runs the jobs of a search for bad records (searching.py), without a table, in the thread of the search."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Final, Protocol

from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline.formats.frames import BadRecord
from restow.pipeline.locating import Spans
from restow.pipeline.searching import BadOffsets, FailedTask, Search, TooManyBad
from restow.pipeline.sinks import Span
from restow.pipeline.spark.failures import JobFailed, call_sites
from restow.pipeline.targets import TargetCycle
from restow.pipeline.transforms import TransformRaised

TRIES: Final = 5
"""Of a job that failed for another reason than a record, such as a command that cancelled all jobs."""
PAUSE_S: Final = 0.5


class SearchEnded(RestowError):
    """No record was found to be bad: the search was stopped, or something else than a record is to blame."""


class Trials(Protocol):
    def try_records(self, cycle: TargetCycle, *, one_by_one: bool = False) -> None: ...

    def unparsed(self, cycle: TargetCycle, most: int) -> BadOffsets: ...


class TrialRuns:
    """Implements Runs."""

    def __init__(self, engine: Trials, cycle: TargetCycle, should_stop: Callable[[], bool]) -> None:
        """`cycle` has no table."""
        self._engine, self._cycle, self._should_stop = engine, cycle, should_stop

    def search(self, most: int) -> BadOffsets:
        """All bad records of the cycle. Raises TooManyBad, SearchEnded."""
        found = {p: dict(bad) for p, bad in self._cycle.bad.items()}
        known = sum(map(len, found.values()))
        if self._cycle.target.parsing.format:
            _add(found, self._unparsed(most))
            self._cycle = replace(self._cycle, bad=found)
        spans = {p: Span(taken.first, taken.next) for p, taken in self._cycle.ranges.items()}
        count = sum(map(len, found.values()))
        if self._cycle.target.maker and self.fails(spans) is not None:
            _add(found, Search(self, most - count).search(spans))
        if sum(map(len, found.values())) == known:
            raise SearchEnded("no record was found that fails alone")
        return found

    def fails(self, spans: Spans) -> str | None:
        is_one_record = sum(span.next - span.first for span in spans.values()) == 1
        with call_sites() if is_one_record else nullcontext():  # which slow down all tables
            failed = self._failed(self._on(spans), one_by_one=False)
        return None if failed is None else failed.reason

    def fails_each(self, partition: TopicPartition, span: Span) -> FailedTask | None:
        return self._failed(self._on({partition: span}), one_by_one=True)

    def _on(self, spans: Spans) -> TargetCycle:
        return replace(self._cycle, ranges={p: Range(span.first, span.first, span.next) for p, span in spans.items()})

    def _unparsed(self, most: int) -> BadOffsets:
        found = self._engine.unparsed(self._cycle, most + 1)
        if sum(map(len, found.values())) > most:
            raise TooManyBad(found)
        return found

    def _failed(self, cycle: TargetCycle, *, one_by_one: bool) -> FailedTask | None:
        last: RestowError | None = None
        for _ in range(TRIES):
            if self._should_stop():
                raise SearchEnded("the search was stopped")
            try:
                self._engine.try_records(cycle, one_by_one=one_by_one)
            except TransformRaised as error:
                return FailedTask(None, error.reason)
            except JobFailed as error:
                if error.is_of_data:
                    return FailedTask(error.task, error.reason)
                last = error
            except BadRecord as error:  # which was hidden behind others
                return FailedTask(None, str(error))
            else:
                return None
            time.sleep(PAUSE_S)
        raise SearchEnded(str(last))


def _add(found: dict[TopicPartition, dict[int, str]], more: BadOffsets) -> None:
    for partition, bad in more.items():
        found.setdefault(partition, {}).update(bad)
