"""Bad records of a consumer's targets: looks for them, has cycles leave them out, and counts them. cycle.py owns it.

A cycle that failed on data is searched in the background (spark/trials.py) while other targets go on. Then its target
goes on with what the search covered, without the bad records, which the same cycle rejects or skips.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from threading import Event
from typing import Final, NamedTuple

from restow.backoff import Backoff, Retries
from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline.bad_records import Findings, LeftOut, Rate, too_many
from restow.pipeline.delta.errors import SchemasDiffer
from restow.pipeline.formats.frames import BadRecord
from restow.pipeline.searching import BadOffsets, TooManyBad
from restow.pipeline.sinks import OpenDeadLetters, OpenTables, Sink, Span
from restow.pipeline.spark.engine import Engine
from restow.pipeline.spark.failures import JobFailed
from restow.pipeline.targets import Target, TargetCycle
from restow.pipeline.transforms import TransformRaised
from restow.protocol.messages.reports import Rejected
from restow.text import counted

log = logging.getLogger(__name__)

AFTER_TOO_MANY: Final = Backoff(first_s=60.0, longest_s=600.0)
"""Looking for bad records again costs as much as it did. Corrected code comes with a new process."""
MOST_NAMED: Final = 5
"""Bad records of a cycle that the log names."""


class TooMany(RestowError):
    """There are more bad records than may be left out."""


class Searching(NamedTuple):
    cycle: TargetCycle
    error: RestowError
    most: int
    result: "Future[BadOffsets]"
    stop: Event
    begun_s: float


class BadRecords:
    def __init__(self, engine: Engine, open_letters: OpenDeadLetters, redact: Callable[[str], str]) -> None:
        self._engine, self._redact = engine, redact
        self._letters = OpenTables(open_letters)
        self._left_out = LeftOut()
        self._rate = Rate()
        self._too_many = Retries(AFTER_TOO_MANY)
        self._searching: dict[Target, Searching] = {}

    def keep(self, targets: Iterable[Target]) -> None:
        """Closes the dead-letter tables of all other targets, and ends their searches."""
        kept = set(targets)
        self._letters.keep(target.on_bad.letters for target in kept)
        self._left_out.keep(kept)
        self._too_many.keep(kept)
        for target in set(self._searching) - kept:
            self._searching.pop(target).stop.set()

    def opened(self, target: Target, sink: Sink, offsets: Mapping[TopicPartition, int]) -> None:
        """Replaces open claims on the partitions, in both tables, and learns what is rejected already."""
        claims = sink.take_over(offsets)
        rejected: Mapping[TopicPartition, frozenset[int]] = {}
        if claims:
            letters = self._letters.of(target.on_bad.letters)
            letters.fence(claims)
            rejected = letters.rejected({p: offsets[p] for p in claims})
            count = sum(map(len, rejected.values()))
            log.info("%s: %s rejected before a crash, left out now", letters.name, counted(count, "record"))
        self._left_out.opened(target, offsets, rejected)

    def settle(self, cycle: TargetCycle) -> None:
        """Before a cycle of unknown outcome is settled: its rejects may be stored, or on the way to the store."""
        if cycle.bad and cycle.letters is not None:
            self.opened(cycle.target, cycle.sink, {p: taken.position for p, taken in cycle.ranges.items()})

    def cut(self, target: Target, ranges: Mapping[TopicPartition, Range]) -> dict[TopicPartition, Range]:
        return self._left_out.cut(target, ranges)

    def leaving_out(self, cycle: TargetCycle, killers: BadOffsets) -> TargetCycle:
        """`killers` are records that ended the process, which no search can find."""
        target, ranges = cycle.target, cycle.ranges
        bad, rejected = self._left_out.bad(target, ranges), self._left_out.rejected_in(target, ranges)
        for partition in sorted(killers.keys() & ranges.keys()):
            if new := self._left_out.new_in(target, partition, ranges[partition], killers[partition]):
                bad[partition] = {**bad.get(partition, {}), **new}
        if not bad and not rejected:
            return cycle
        letters = self._letters.of(cycle.target.on_bad.letters) if bad and cycle.target.rejects else None
        return replace(cycle, bad=bad, rejected=rejected, letters=letters)

    @property
    def has_searches(self) -> bool:
        return bool(self._searching)

    def is_searching(self, target: Target) -> bool:
        return target in self._searching or self._too_many.is_waiting(target, time.monotonic())

    def begin_search(self, cycle: TargetCycle, error: RestowError) -> bool:
        """Returns False if the error is no record's, or bad records must stop the target."""
        is_of_data = isinstance(error, BadRecord | TransformRaised | SchemasDiffer) or (
            isinstance(error, JobFailed) and error.is_of_data
        )
        if not cycle.target.may_leave_out or not is_of_data or not any(r.records for r in cycle.ranges.values()):
            return False
        most, stop = self._rate.left(cycle.target, cycle.target.on_bad.most_per_min, time.monotonic()), Event()
        if isinstance(error, SchemasDiffer):
            result = _all_bad(cycle, str(error), most)
        else:
            log.info("%s; looking for the records that cause it, while other tables continue", self._redact(str(error)))
            result = self._engine.search(cycle, most, stop.is_set)
        self._searching[cycle.target] = Searching(cycle, error, most, result, stop, time.monotonic())
        return True

    def ended(self) -> list[tuple[TargetCycle, RestowError]]:
        """Takes in the searches that have ended. Returns the cycles that stay failed, each with the reason."""
        failed: list[tuple[TargetCycle, RestowError]] = []
        for target, searching in list(self._searching.items()):
            if searching.result.done():
                del self._searching[target]
                if reason := self._take(searching):
                    failed.append((searching.cycle, reason))
        return failed

    def stored(self, cycle: TargetCycle) -> list[Rejected]:
        """The cycle is stored. Returns what it left out, by topic."""
        self._left_out.stored(cycle.target, cycle.ranges)
        counts: dict[str, int] = {}
        for partition, bad in cycle.bad.items():
            counts[partition.topic] = counts.get(partition.topic, 0) + len(bad)
        self._rate.add(cycle.target, sum(counts.values()), time.monotonic())
        self._too_many.succeeded(cycle.target)
        if counts:
            self._log(cycle)
        if cycle.letters is not None:
            cycle.letters.maintain()
            return [Rejected(topic, rejected=count) for topic, count in sorted(counts.items())]
        return [Rejected(topic, skipped=count) for topic, count in sorted(counts.items())]

    def _take(self, searching: Searching) -> RestowError | None:
        target = searching.cycle.target
        try:
            bad = searching.result.result()
        except TooManyBad as error:
            self._too_many.failed(target, time.monotonic(), "")
            return TooMany(too_many(error.found, target.on_bad.most_per_min, searching.cycle.sink.name))
        except RestowError:
            return searching.error
        count, took_s = sum(map(len, bad.values())), time.monotonic() - searching.begun_s
        log.info("%s: found %s within %.0f s", searching.cycle.sink.name, counted(count, "bad record"), took_s)
        spans = {p: Span(taken.first, taken.next) for p, taken in searching.cycle.ranges.items()}
        self._left_out.findings[target] = Findings(spans, bad)
        return None

    def _log(self, cycle: TargetCycle) -> None:
        named = [(p, offset, reason) for p, bad in sorted(cycle.bad.items()) for offset, reason in sorted(bad.items())]
        what = "skipped" if cycle.letters is None else f"rejected into {cycle.letters.name}"
        for partition, offset, reason in named[:MOST_NAMED]:
            log.warning("%s at offset %d is %s: %s", partition, offset, what, self._redact(reason))
        if len(named) > MOST_NAMED:
            log.warning("%d more records of the cycle are %s", len(named) - MOST_NAMED, what)


def _all_bad(cycle: TargetCycle, reason: str, most: int) -> "Future[BadOffsets]":
    """The result that a search would have, without one: if rows don't fit the table, every record of the cycle is
    bad."""
    found, result = dict[TopicPartition, dict[int, str]](), Future[BadOffsets]()
    count = sum(taken.records for taken in cycle.ranges.values())
    for partition, taken in cycle.ranges.items():
        last = taken.next if count <= most else min(taken.next, taken.first + 1)
        found[partition] = dict.fromkeys(range(taken.first, last), reason)
    if count <= most:
        result.set_result(found)
    else:
        result.set_exception(TooManyBad({p: bad for p, bad in found.items() if bad}))
    return result
