"""Finds all bad records of a range that failed: halves down to about a thousand records, then one job in which every
record is a task of its own, whose error names the task.

A record is bad if it failed twice by itself: in that job, and alone. Pure: the Spark engine runs the jobs (`Runs`), in
a thread of its own while other tables go on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from restow.model import TopicPartition
from restow.pipeline.locating import Spans, halves, records_in
from restow.pipeline.sinks import Span

ONE_BY_ONE_FROM: Final = 1000
"""Records. A task takes some milliseconds, a job some tenths of a second: from here on halving saves nothing."""

BadOffsets = Mapping[TopicPartition, Mapping[int, str]]
"""Offsets of bad records, each with the error in words."""


class FailedTask(NamedTuple):
    number: int | None
    """Of the offsets of the range, counted from 0; None if the error doesn't name it."""
    reason: str


class Runs(Protocol):
    def fails(self, spans: Spans) -> str | None:
        """Runs the transform on these offsets, without a table. Returns the error, or None if there is none."""

    def fails_each(self, partition: TopicPartition, span: Span) -> FailedTask | None:
        """The same, with a task for every offset. Returns the first task that fails."""


class TooManyBad(Exception):
    """There are more bad records than may be left out."""

    def __init__(self, found: BadOffsets) -> None:
        super().__init__("too many bad records")
        self.found = found


@dataclass
class Search:
    runs: Runs
    most: int
    """How many records may be bad. TooManyBad is raised as soon as more are found."""
    found: dict[TopicPartition, dict[int, str]] = field(default_factory=dict)

    def search(self, spans: Spans) -> BadOffsets:
        """`spans` were seen to fail. Returns nothing if the failure can't be reproduced on single records."""
        self._search({p: span for p, span in sorted(spans.items()) if span.next > span.first})
        return self.found

    @property
    def count(self) -> int:
        return sum(map(len, self.found.values()))

    def _search(self, failed: Spans) -> None:
        if records_in(failed) <= ONE_BY_ONE_FROM:
            for partition, span in failed.items():
                self._one_by_one(partition, span)
            return
        first, second = halves(failed)
        before = self.count
        if self.runs.fails(first) is not None:
            self._search(first)
        # If the first half is right, the second one must fail: that needs no job.
        if self.count == before or self.runs.fails(second) is not None:
            self._search(second)

    def _one_by_one(self, partition: TopicPartition, span: Span) -> None:
        while span.first < span.next and (failed := self.runs.fails_each(partition, span)) is not None:
            at = None if failed.number is None else span.first + failed.number
            if at is None or at >= span.next or not self._is_bad(partition, at):
                self._halve(partition, span)  # the error is that of a later stage, which other records are in too
                return
            # Tasks run side by side: one before this may not have ended. If it is bad, the next cycle fails on it.
            span = Span(at + 1, span.next)

    def _halve(self, partition: TopicPartition, span: Span) -> None:
        """`span` was seen to fail."""
        if span.next - span.first == 1:
            self._is_bad(partition, span.first)
            return
        middle = (span.first + span.next) // 2
        for half in (Span(span.first, middle), Span(middle, span.next)):
            if half.next - half.first == 1 or self.runs.fails({partition: half}) is not None:
                self._halve(partition, half)

    def _is_bad(self, partition: TopicPartition, offset: int) -> bool:
        reason = self.runs.fails({partition: Span(offset, offset + 1)})
        if reason is None:
            return False
        self.found.setdefault(partition, {})[offset] = reason
        if self.count > self.most:
            raise TooManyBad(self.found)
        return True
