"""The storing half of a cycle: each target is read, transformed and written by one Spark job, and taken by one commit.
Targets of different tables run side by side.

`CycleRunner` owns the Spark engine, the open sinks, the cycles in flight and the backoff of each target. The pipeline
(pipeline.py) decides which offsets to read. The plan of a cycle is on the volume before the cycle starts; a cycle
with unknown outcome is settled before anything more is stored in its table. A target that fails is retried with backoff
while the others continue.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from restow.backoff import Backoff, News, Retries
from restow.consumer.events import RefusedPartitions
from restow.consumer.patience import patience_s
from restow.consumer.pipeline import Plans, ShouldEnd
from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline.crash_memory import CrashMemory
from restow.pipeline.dead_letters import BadRecords
from restow.pipeline.formats.errors import NewSchema
from restow.pipeline.in_flight import InFlight
from restow.pipeline.outputs import Outputs
from restow.pipeline.sinks import OpenDeadLetters, OpenSink, OpenSinks, Sink
from restow.pipeline.spark.engine import Engine, StoreResult
from restow.pipeline.spark.worker import Patience
from restow.pipeline.start_offsets import gap_refusal
from restow.pipeline.targets import Target, TargetCycle, by_target, target_of
from restow.protocol.field_types import BrokenTransforms
from restow.protocol.messages.reports import Failure, Gap, Rejected
from restow.protocol.topic_service import TopicService

log = logging.getLogger(__name__)

RETRY: Final = Backoff(first_s=0.5, longest_s=30.0)
OWN_NAMES: Final = re.compile(r"[\w.-]*\d[\w.-]*")
"""Words with digits in an error: the names of a cycle's own files, offsets and values, which differ from cycle to
cycle."""
FIRST_GUESS_BYTES: Final = 1000.0
"""The size of a record, until one of its topic was read."""

ExpectedS = Callable[[float], float | None]
"""How long a cycle of so many bytes takes; None if that is unknown."""


def unknown(size: float) -> float | None:  # noqa: ARG001  an ExpectedS
    return None


@dataclass
class CycleResult:
    """What a cycle has stored so far."""

    at: dict[TopicPartition, int]
    """The next offset of each partition."""
    stored: dict[TopicPartition, int] = field(default_factory=dict)
    """The same, for the partitions of which the cycle stored something."""
    records: int = 0
    bytes_by_topic: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    is_disturbed: bool = False
    """A target failed, was cancelled or refused, or was settled from an earlier cycle."""
    is_cancelled: bool = False
    write_s: float = 0.0
    """Spark's jobs: reading, transforms, and files written. Of tables side by side, the slowest counts."""
    commit_s: float = 0.0
    """The same tables' commits."""
    commits_s: list[float] = field(default_factory=list)
    """Of every table."""
    dropped: list[RefusedPartitions] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(self.bytes_by_topic.values())


class CycleRunner:
    def __init__(
        self,
        engine: Engine,
        open_sink: OpenSink,
        open_letters: OpenDeadLetters,
        plans: Plans,
        most_patience_s: float,
        redact: Callable[[str], str],
    ) -> None:
        """`most_patience_s`: how long a waiting command or shutdown lets a Spark job run at most, before the job is
        cancelled. `redact` removes secrets from a text."""
        self._engine, self._most_patience_s, self._redact = engine, most_patience_s, redact
        self._cancelled_in_a_row = 0
        self._sinks = OpenSinks(open_sink)
        self._in_flight = InFlight(plans, self._sinks)
        self._outputs = Outputs()
        self._retries = Retries(RETRY)
        self._failures: dict[Target, str] = {}
        self._bad = BadRecords(engine, open_letters, redact)
        self._crashes = CrashMemory(plans)
        self._news = News()
        self._record_bytes: dict[str, float] = {}
        self.missed_records = 0

    def warm_up(self, should_end: ShouldEnd) -> None:
        self._engine.start(should_end)
        if not should_end():
            lost = self._engine.aside(self._in_flight.recover, should_end)
            self._crashes.begin(lost, time.time())

    def rehearse(self, should_end: ShouldEnd) -> frozenset[TopicPartition]:
        return self._engine.rehearse(should_end)

    def broken_transforms(self, targets: Iterable[Target], should_end: ShouldEnd) -> BrokenTransforms:
        return self._engine.broken_transforms(targets, should_end)

    def dump_threads(self) -> None:
        self._engine.dump_threads()

    def close(self) -> None:
        self._engine.close()
        self._sinks.keep(())
        self._bad.keep(())

    def open(self, target: Target) -> list[tuple[Target, Sink, str]]:
        """The targets of a definition, each with its sink and the schema of its rows: the target itself, or one for
        each table that its transform returns. Raises TransformError."""
        schemas = self._engine.schemas_of(target)
        targets = self._outputs.open(target, schemas)
        return [(each, self._sinks.of(each.table), schemas[each.table]) for each in targets]

    def opened(self, positions: Mapping[Target, Mapping[TopicPartition, int]]) -> dict[TopicPartition, int]:
        """Records the positions at which a definition's targets opened their partitions. Returns each partition's
        position: the least of them."""
        for target, found in positions.items():
            self._outputs.move(target, found)
        partitions = {partition for found in positions.values() for partition in found}
        return {p: min(found[p] for found in positions.values() if p in found) for p in sorted(partitions)}

    def open_rejects(self, target: Target, offsets: Mapping[TopicPartition, int]) -> None:
        """Learns which records of these partitions, opened at these offsets, are rejected already, so that cycles leave
        them out. Raises RestowError."""
        self._bad.opened(target, self._sinks.of(target.table), offsets)

    def keep(self, targets: Iterable[Target]) -> None:
        """Closes the sinks of all other targets, and forgets their failures."""
        kept = {each for target in targets for each in self._outputs.of(target)}
        self._sinks.keep(target.table for target in kept)
        self._bad.keep(kept)
        self._retries.keep(kept)
        self._failures = {target: reason for target, reason in self._failures.items() if target in kept}

    def failures(self, topics: Mapping[str, TopicService]) -> tuple[Failure, ...]:
        """The topics among these that can't be stored now."""
        reasons = {
            topic: [reason for each in self._outputs.of(target_of(service)) if (reason := self._failures.get(each))]
            for topic, service in topics.items()
        }
        return tuple(Failure(topic, "; ".join(found)) for topic, found in sorted(reasons.items()) if found)

    @property
    def is_searching(self) -> bool:
        return self._bad.has_searches

    def record_bytes(self, topic: str) -> float:
        """The mean size of a record in the last cycle that read the topic."""
        return self._record_bytes.get(topic, FIRST_GUESS_BYTES)

    def may_store(self, target: Target) -> bool:
        is_free = not self._is_waiting(target) and not self._in_flight.is_uncertain(target)
        return is_free and not self._bad.is_searching(target)

    def readable(
        self, at: Mapping[TopicPartition, int], topics: Mapping[str, TopicService]
    ) -> dict[TopicPartition, int]:
        """Where each partition is read from now: the least position of its tables that can be written. Partitions
        without such a table are left out."""
        storable: dict[str, list[Target]] = {}
        for topic in {partition.topic for partition in at}:
            targets = self._outputs.of(target_of(topics[topic]))
            storable[topic] = [target for target in targets if self.may_store(target)]
        return {
            p: min(self._outputs.position(target, p, position) for target in storable[p.topic])
            for p, position in at.items()
            if storable[p.topic]
        }

    def store(
        self,
        ranges: Mapping[TopicPartition, Range],
        topics: Mapping[str, TopicService],
        result: CycleResult,
        should_end: ShouldEnd,
        expected_s: ExpectedS = unknown,
    ) -> None:
        ranges = self._crashes.carefully(_without_refused_gaps(ranges, topics, result), topics, self._outputs.of)
        cycles = self._target_cycles(ranges, topics, result.at)
        if cycles:
            self._in_flight.begin(cycles)
        patience = self._patience(expected_s(sum(cycle.bytes for cycle in cycles)))
        for lot in _lots(cycles):
            if result.stored and should_end():
                break  # the next cycle takes the other targets
            self._store(lot, result, should_end, patience)
        self.settle(result, should_end)

    def settle(self, result: CycleResult, should_end: ShouldEnd) -> None:
        """Asks the sinks about cycles with unknown outcome, except where a target's backoff has not passed, and looks
        at searches for bad records."""
        for cycle, error in self._bad.ended():
            self._failed(cycle, error, should_end)
        for cycle in self._in_flight.uncertain():
            if self._is_waiting(cycle.target):
                continue
            result.is_disturbed = True
            try:
                is_stored = self._engine.aside(partial(self._settle, cycle), should_end)
            except RestowError as error:
                self._failed(cycle, error, should_end)
                continue
            if is_stored:
                self._has_stored(cycle, result)

    def _settle(self, cycle: TargetCycle) -> bool:
        """In Spark's thread."""
        self._bad.settle(cycle)
        return self._in_flight.settle(cycle)

    def end(self) -> None:
        """Called when the group's offsets are committed: the plan is done."""
        self._in_flight.end()

    def _target_cycles(
        self,
        ranges: Mapping[TopicPartition, Range],
        topics: Mapping[str, TopicService],
        at: Mapping[TopicPartition, int],
    ) -> list[TargetCycle]:
        cycles = []
        for defined, partitions in by_target(ranges, topics).items():
            for target in self._outputs.of(defined):
                lacked = self._outputs.lacked(target, {p: ranges[p] for p in partitions}, at)
                taken = self._bad.cut(target, lacked)
                if taken and (target == defined or self.may_store(target)):
                    sink, size = self._sinks.of(target.table), self._estimated_bytes(taken)
                    cycle = TargetCycle(target, taken, size, sink, sink.staging(), len(at))
                    cycles.append(self._bad.leaving_out(cycle, self._crashes.killers(target)))
        return cycles

    def _patience(self, expected_s: float | None) -> Patience:
        def patience(elapsed_s: float) -> float:
            rest_s = None if expected_s is None else expected_s - elapsed_s
            return patience_s(rest_s, self._cancelled_in_a_row, self._most_patience_s)

        return patience

    def _store(
        self, lot: Sequence[TargetCycle], result: CycleResult, should_end: ShouldEnd, patience: Patience
    ) -> None:
        for gap in (gap for cycle in lot for gap in _gaps(cycle.ranges)):
            if self._news.is_new(gap.partition, str(gap)):  # a retried cycle finds the same gap
                log.warning("%s", gap)
        outcomes = self._engine.run_all(lot, should_end, patience)
        for cycle, outcome in zip(lot, outcomes, strict=True):
            match outcome:
                case StoreResult():
                    self._has_run(cycle, outcome, result, should_end)
                case None:
                    self._was_cancelled(cycle, result)
                case NewSchema():
                    result.is_disturbed = True
                    log.info("%s; they are read again", outcome)
                    self._in_flight.mark_uncertain(cycle)
                case RestowError():
                    result.is_disturbed = True
                    if not self._bad.begin_search(cycle, outcome):
                        self._failed(cycle, outcome, should_end)
                    self._in_flight.mark_uncertain(cycle)
        if done := [outcome for outcome in outcomes if isinstance(outcome, StoreResult)]:
            self._cancelled_in_a_row = 0
            slowest = max(done, key=lambda each: each.write_s + each.commit_s)
            result.write_s += slowest.write_s
            result.commit_s += slowest.commit_s

    def _was_cancelled(self, cycle: TargetCycle, result: CycleResult) -> None:
        result.is_disturbed = result.is_cancelled = True
        self._cancelled_in_a_row += 1
        log.info("cancelled a cycle for %s before its commit: a command or the shutdown waits", cycle.sink.name)
        self._in_flight.mark_uncertain(cycle)

    def _has_run(self, cycle: TargetCycle, done: StoreResult, result: CycleResult, should_end: ShouldEnd) -> None:
        result.rows += done.rows
        result.commits_s.append(done.commit_s)
        self._failures.pop(cycle.target, None)
        if self._retries.succeeded(cycle.target):
            log.info("%s is written again", cycle.sink.name)
        if done.replaced:
            result.is_disturbed = True
            result.dropped += [_replaced(cycle.sink.name, p, cycle.ranges[p].position) for p in done.replaced]
            self._in_flight.mark_uncertain(cycle)
            return
        self._has_stored(cycle, result)
        if self._outputs.is_first(cycle.target):
            self._count(done, result)
        self._engine.aside(cycle.sink.maintain, should_end)

    def _is_waiting(self, target: Target) -> bool:
        return self._retries.is_waiting(target, time.monotonic())

    def _failed(self, cycle: TargetCycle, error: RestowError, should_end: ShouldEnd) -> None:
        """Explained and logged once until the target works again or fails for another reason."""
        if self._retries.failed(cycle.target, time.monotonic(), OWN_NAMES.sub("", str(error))):
            self._failures[cycle.target] = self._redact(self._engine.explain(cycle, error, should_end))
            log.warning("%s; it is retried with backoff, and other tables continue", self._failures[cycle.target])

    def _has_stored(self, cycle: TargetCycle, result: CycleResult) -> None:
        self._crashes.stored(cycle.target.table, cycle.ranges)
        result.rejected += self._bad.stored(cycle)
        target, held = cycle.target, {p: t for p, t in cycle.ranges.items() if p in result.at}
        fitting = {p: t for p, t in held.items() if self._outputs.position(target, p, result.at[p]) == t.position}
        stored = {p: taken.next for p, taken in fitting.items()}
        if target.is_output:
            self._outputs.move(target, stored)
            least = {p: self._outputs.least(target, p, result.at[p]) for p in stored}
            stored = {p: position for p, position in least.items() if position > result.at[p]}
        result.at |= stored
        result.stored |= stored
        if self._outputs.is_first(target):
            result.gaps += _gaps(cycle.ranges)
            self.missed_records += sum(taken.missed for taken in cycle.ranges.values())

    def _count(self, done: StoreResult, result: CycleResult) -> None:
        for topic, read in done.read.items():
            result.records += read.records
            result.bytes_by_topic[topic] = result.bytes_by_topic.get(topic, 0) + read.bytes
            if read.records:
                self._record_bytes[topic] = max(1.0, read.bytes / read.records)

    def _estimated_bytes(self, ranges: Mapping[TopicPartition, Range]) -> float:
        return sum(taken.records * self.record_bytes(partition.topic) for partition, taken in ranges.items())


def _lots(cycles: Iterable[TargetCycle]) -> list[list[TargetCycle]]:
    """Cycles that can run side by side. A table takes its cycles one after the other, in the order of their stamps."""
    lots: list[list[TargetCycle]] = []
    for cycle in cycles:
        lot = next((lot for lot in lots if all(each.target.table != cycle.target.table for each in lot)), None)
        if lot is None:
            lots.append([cycle])
        else:
            lot.append(cycle)
    return lots


def _without_refused_gaps(
    ranges: Mapping[TopicPartition, Range], topics: Mapping[str, TopicService], result: CycleResult
) -> dict[TopicPartition, Range]:
    refused = {
        gap.partition: RefusedPartitions((gap.partition,), "gap", gap_refusal(gap))
        for gap in _gaps(ranges)
        if topics[gap.partition.topic].on_gap == "stop"
    }
    result.dropped += refused.values()
    return {partition: taken for partition, taken in ranges.items() if partition not in refused}


def _gaps(ranges: Mapping[TopicPartition, Range]) -> list[Gap]:
    return [Gap(partition, taken.position, taken.first) for partition, taken in ranges.items() if taken.missed]


def _replaced(sink: str, partition: TopicPartition, wanted: int) -> RefusedPartitions:
    reason = f"{partition} should continue at {wanted}, but {sink} has it elsewhere: another consumer took it over"
    return RefusedPartitions((partition,), "replaced", reason)
