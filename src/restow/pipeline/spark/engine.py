"""The Spark engine: a session in its own thread that runs target cycles, each as one Spark job.

cycle.py decides what is read and stored, and calls this. `restow check` calls it too.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from pyspark.sql import DataFrame, SparkSession

from restow.consumer.pipeline import ShouldEnd
from restow.consumer.planning import Range, tasks
from restow.errors import RestowError
from restow.kafka.offsets import LogOffsets
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.formats.errors import NewSchema, RegistryUnavailable
from restow.pipeline.formats.frames import bad_record
from restow.pipeline.formats.framing import unknown_id
from restow.pipeline.outputs import Outputs
from restow.pipeline.searching import BadOffsets
from restow.pipeline.secrets import Secrets
from restow.pipeline.sinks import Batch, DeadLetters, NullSink
from restow.pipeline.spark.bad_records import letters as dead_letters
from restow.pipeline.spark.bad_records import unparsed, without
from restow.pipeline.spark.counting import ReadCount, ReadCounter
from restow.pipeline.spark.diagnosis import explain
from restow.pipeline.spark.failures import JobFailed, summary
from restow.pipeline.spark.garbage import GarbageWatch
from restow.pipeline.spark.jvm import garbage_collectors, signal_jvm
from restow.pipeline.spark.parse_once import WORTH_FROM_RECORDS, parsed_once
from restow.pipeline.spark.reading import RangeReader
from restow.pipeline.spark.rehearsal import rehearsal
from restow.pipeline.spark.rows import RowMaker
from restow.pipeline.spark.session import Resources, heap_bytes, parallelism, start_session
from restow.pipeline.spark.trials import TrialRuns
from restow.pipeline.spark.warm_up import warm_up_cycle
from restow.pipeline.spark.worker import Patience, Worker, no_patience
from restow.pipeline.targets import Target, TargetCycle
from restow.pipeline.transforms import broken_of
from restow.protocol.field_types import BrokenTransforms
from restow.settings import Settings
from restow.waiting import waiting

log = logging.getLogger(__name__)

T = TypeVar("T")

BYTES_PER_TASK: Final = 4_000_000.0
"""Every task has fixed costs and writes a file of its own."""


SIDE_BY_SIDE: Final = 4
"""How many tables are written at once. Where a store answers slowly, as object stores do, their waits overlap; Spark
runs no more tasks at once than there are cores."""


class SparkEnded(RestowError):
    """The session is gone: out of memory, or removed by its cluster. Only a new process starts a new session."""


@dataclass(frozen=True, slots=True)
class StoreResult:
    replaced: tuple[TopicPartition, ...] = ()
    """The partitions that the sink refused; if there are any, nothing was stored."""
    read: Mapping[str, ReadCount] = field(default_factory=dict)
    """By topic."""
    rows: int = 0
    """What was stored in the table."""
    write_s: float = 0.0
    """How long it took to read, transform and write the files."""
    commit_s: float = 0.0


Outcome = StoreResult | RestowError | None
"""None if the job was cancelled."""


class Engine:
    def __init__(self, settings: Settings, resources: Resources, code: str | None = None) -> None:
        """`code` is the digest of the transforms' modules, for dead letters."""
        self._settings, self._resources, self._code = settings, resources, code
        self._secrets = Secrets(settings, os.environ)
        self._maker = RowMaker(settings, self._running)
        self._worker = Worker(SIDE_BY_SIDE)
        self._searcher = Worker()
        self._is_closed = threading.Event()
        self._describing = threading.Lock()
        """Rows are described by one thread at a time: the reader has one set of options, and transforms are user code
        that need not be thread-safe. Only jobs and commits run side by side."""
        self._described: dict[Target, dict[str, str]] = {}
        """Schemas of rows: written by Spark's threads, each entry once."""
        self._is_cancelled = threading.Event()
        self._starting: Future[None] | None = None
        self._session: SparkSession | None = None
        self._kafka: RangeReader | None = None
        self._garbage: GarbageWatch | None = None
        self._offsets: LogOffsets | None = None

    def begin(self) -> None:
        """Starts the session in the background: the JVM needs seconds, in which the caller reaches the brokers."""
        self._starting = self._worker.submit(self._start)

    def start(self, should_end: ShouldEnd) -> None:
        """Returns when the session is up and warm, or `should_end` came first."""
        if self._starting is None:
            self.begin()
        assert self._starting is not None
        self._worker.wait_for(self._starting, should_end)

    def dump_threads(self) -> None:
        """Has the JVM write the stacks of its threads to our stderr, whatever it is doing."""
        signal_jvm(signal.SIGQUIT)

    def close(self) -> None:
        self._is_closed.set()
        if self._session is not None and not self._worker.is_busy:
            self._worker.run(self._session.stop)
        elif self._worker.is_busy:
            signal_jvm(signal.SIGKILL)  # it may hang, and would outlive this process
        self._worker.close()
        self._searcher.close()

    def schemas_of(self, target: Target) -> dict[str, str]:
        """The schema of the rows of each table, as JSON. Raises TransformError."""
        if (known := self._described.get(target)) is not None:
            return known
        return self._worker.run(partial(self._describe, target))

    def broken_transforms(self, targets: Iterable[Target], should_end: ShouldEnd) -> BrokenTransforms:
        """The transforms that can't describe their rows, each with the error; none if `should_end` came first."""
        by_transform = {target.transform: target for target in targets}

        def broken() -> BrokenTransforms:
            return broken_of(by_transform, lambda name: self._try(by_transform[name]), self._secrets.redact)

        return self._worker.run_until(broken, should_end) or SortedMapping()

    def run(self, cycle: TargetCycle, should_end: ShouldEnd, patience: Patience) -> StoreResult | None:
        """Returns None if the job was cancelled, because `should_end` was true for longer than `patience`. Raises
        RestowError if it failed, and SparkEnded if the session is gone."""
        [outcome] = self.run_all([cycle], should_end, patience)
        if isinstance(outcome, RestowError):
            raise outcome
        return outcome

    def run_all(self, cycles: Sequence[TargetCycle], should_end: ShouldEnd, patience: Patience) -> list[Outcome]:
        """Runs cycles of different tables side by side. Raises SparkEnded if the session is gone."""
        self._is_cancelled.clear()
        self.aside(partial(self._prepare, cycles), should_end)
        works = [partial(self._store_unless_cancelled, cycle) for cycle in cycles]
        ended = self._worker.run_all_patiently(works, should_end, patience, self._cancel)
        return [self._outcome(cycle, each) for cycle, each in zip(cycles, ended, strict=True)]

    def rehearse(self, should_end: ShouldEnd) -> frozenset[TopicPartition]:
        """Runs cycles that store nothing, so that the first ones that do are fast (rehearsal.py). Returns the
        partitions that were read. When `should_end` comes it does not wait: the running cycle ends beside the next
        real one. Raises SparkEnded if the session is gone, so that a spare without Spark is restarted."""
        is_over = threading.Event()
        read = self._worker.run_until(partial(self._rehearse, is_over), should_end)
        is_over.set()
        if read is None and self._session is not None:
            self._session.sparkContext.cancelAllJobs()
        return read or frozenset()

    def _outcome(self, cycle: TargetCycle, ended: "Future[StoreResult | None]") -> Outcome:
        error = ended.exception()
        if error is None:
            return ended.result()
        if isinstance(error, RestowError):
            return error
        if not isinstance(error, Exception):
            raise error
        # Raised by Spark, by the user's transform inside it, or by the store.
        if self._is_cancelled.is_set():
            return None
        self._check_alive(error)
        return bad_record(error) or JobFailed(cycle, error)

    def explain(self, cycle: TargetCycle, error: RestowError, should_end: ShouldEnd) -> str:
        """Why a cycle failed, with the record that causes it if it is one."""
        return explain(self, cycle, error, should_end)

    def search(self, cycle: TargetCycle, most: int, should_stop: Callable[[], bool]) -> "Future[BadOffsets]":
        """Begins to look for the records on which a failed cycle fails, in a thread of its own. The result raises
        TooManyBad if there are more than `most`, and SearchEnded if `should_stop` came first or errors came up that no
        record causes."""
        ranges = {partition: taken for partition, taken in cycle.ranges.items() if taken.records}
        suspect = replace(cycle, ranges=ranges, sink=NullSink(), staging="", letters=None)
        runs = TrialRuns(self, suspect, lambda: should_stop() or self._is_closed.is_set())
        return self._searcher.submit(lambda: runs.search(most))

    def aside(self, work: Callable[[], T], should_end: ShouldEnd) -> T:
        """Runs other work in Spark's thread, between two jobs, while this thread polls for commands."""
        return self._worker.run_patiently(work, should_end, no_patience, lambda: None)

    def in_session(self, work: "Callable[[SparkSession, Callable[[DataFrame, Target], DataFrame]], T]") -> T:
        """Runs work in Spark's thread. It gets the session, and what makes a target's rows of records."""
        return self._worker.run(lambda: work(self._running(), self._maker.rows))

    # In the worker's thread.

    def _start(self) -> None:
        with waiting("Spark to start"):
            self._start_and_warm_up()

    def _start_and_warm_up(self) -> None:
        self._session = start_session(self._settings, self._resources)
        heap = heap_bytes(self._session)
        self._kafka = RangeReader(self._settings, self._session, heap)
        if heap is not None:
            self._garbage = GarbageWatch(garbage_collectors(self._session), heap, time.monotonic())
        try:
            cycle = warm_up_cycle(self._settings, self._log_offsets())
            self._prepare([cycle])  # as before each cycle, so that code is warm which the first ones run
            self._store(cycle)
        except Exception as error:  # noqa: BLE001  a session that isn't warm works as well
            self._check_alive(error)
            log.warning("Spark's warm-up failed, so that the first cycle may be slow: %s", summary(error))

    def _rehearse(self, is_over: threading.Event) -> frozenset[TopicPartition]:
        self._running()
        read: set[TopicPartition] = set()
        for cycle in self._rehearsal():
            if is_over.is_set():
                break
            try:
                self._store(cycle)
            except Exception as error:  # noqa: BLE001  a consumer that hasn't rehearsed works as well
                if not is_over.is_set():
                    self._check_alive(error)
                log.debug("a rehearsal failed: %s", self._secrets.redact(summary(error)))
            else:
                read.update(partition for partition, taken in cycle.ranges.items() if taken.records)
        return frozenset(read)

    def _rehearsal(self) -> list[TargetCycle]:
        """A transform that returns several tables has a cycle for each."""
        found = []
        for cycle in rehearsal(self._settings, self._log_offsets()):
            tables = self._described.get(cycle.target, {cycle.target.table: ""})
            found += [replace(cycle, target=each) for each in Outputs().open(cycle.target, tables)]
        return found

    def _log_offsets(self) -> LogOffsets:
        if self._offsets is None:
            self._offsets = LogOffsets(self._settings.kafka)
        return self._offsets

    def _prepare(self, cycles: Sequence[TargetCycle]) -> None:
        ranges = [taken for cycle in cycles for taken in cycle.ranges.values() if taken.records]
        self._reader().choose_codegen(ranges)
        if self._garbage is not None:
            self._garbage.look(time.monotonic())

    def _store_unless_cancelled(self, cycle: TargetCycle) -> StoreResult | None:
        if self._is_cancelled.is_set():
            return None
        return self._store_parsed(cycle)

    def _store_parsed(self, cycle: TargetCycle, *, one_by_one: bool = False) -> StoreResult:
        """Raises NewSchema if records have a schema id that wasn't known. Without files it runs again at once."""
        while True:
            try:
                return self._store(cycle, one_by_one=one_by_one)
            except Exception as error:
                number = unknown_id(error) if cycle.target.parsing.registry else None
                if number is None or self._is_cancelled.is_set():
                    raise
                with self._describing:
                    self._maker.schemas.learn(cycle.target.parsing, number)
            if cycle.staging:  # which has files of the job that failed
                raise NewSchema(cycle.target.parsing.subject, number)

    def try_records(self, cycle: TargetCycle, *, one_by_one: bool = False) -> None:
        """Runs a cycle without a table, in this thread. Raises RestowError if it fails."""
        try:
            self._store_parsed(cycle, one_by_one=one_by_one)
        except RestowError:
            raise
        except Exception as error:  # noqa: BLE001  raised by Spark, or by the user's transform inside it
            self._check_alive(error)
            raise bad_record(error) or JobFailed(cycle, error) from None

    def unparsed(self, cycle: TargetCycle, most: int) -> BadOffsets:
        """The records of a cycle that don't parse; of many, so many."""
        with self._describing:
            self._maker.activate_session()
            parser = self._maker.schemas.parser(cycle.target.parsing)
            records = without(self._reader().frame(cycle.ranges, self._tasks(cycle), cycle.held), cycle.left_out)
        return unparsed(records, parser, most)

    def _reject(self, cycle: TargetCycle, letters: DeadLetters) -> Collection[TopicPartition]:
        """Stores the cycle's bad records in the dead-letter table. Returns the partitions that another consumer
        claimed or stored."""
        claims, lost = cycle.sink.claim({p: cycle.ranges[p].position for p in cycle.bad})
        if lost:
            return lost
        ranges = {p: Range(min(bad), min(bad), max(bad) + 1) for p, bad in cycle.bad.items()}
        with self._describing:
            records = self._reader().frame(ranges, self._tasks(cycle), cycle.held)
            rows = dead_letters(records, cycle.bad, self._settings.group.name, self._code)
        return letters.store(rows, claims)

    def _store(self, cycle: TargetCycle, *, one_by_one: bool = False) -> StoreResult:
        ranges = {partition: taken for partition, taken in cycle.ranges.items() if taken.records}
        if not ranges:
            with self._describing:
                rows = self._maker.rows(self._reader().empty(), cycle.target)
            stored = cycle.sink.store(Batch(rows, cycle.spans, 0, cycle.staging, cycle.target.rules))
            return StoreResult(stored.replaced, commit_s=stored.commit_s)
        counter = ReadCounter({partition.topic for partition in ranges})
        count = sum(taken.records for taken in ranges.values())
        with self._describing:
            frame = self._reader().frame(ranges, self._tasks(cycle), cycle.held, one_by_one=one_by_one)
            records = without(counter.observe(frame), cycle.left_out)
            rows = self._maker.rows(records, cycle.target)
            if count >= WORTH_FROM_RECORDS:
                rows = parsed_once(rows)
        reject = partial(self._reject, cycle, cycle.letters) if cycle.letters is not None and cycle.bad else None
        begun_s = time.monotonic()
        is_empty = cycle.leaves_all_out
        batch = Batch(rows, cycle.spans, 0 if is_empty else count, cycle.staging, cycle.target.rules, reject)
        stored = cycle.sink.store(batch)
        write_s = time.monotonic() - begun_s - stored.commit_s
        counts = {} if stored.replaced or is_empty else counter.counts()
        return StoreResult(stored.replaced, counts, stored.rows, write_s, stored.commit_s)

    def _try(self, target: Target) -> None:
        """Raises TransformError. A registry that doesn't answer is no fault of the transform."""
        with suppress(RegistryUnavailable):
            self._describe(target)

    def _describe(self, target: Target) -> dict[str, str]:
        """The schemas are kept, so that a partition which moves here later doesn't wait for them; those of a registry
        may change."""
        found = self._maker.all_rows(self._reader().empty(), target)
        schemas = {table: rows.schema.json() for table, rows in found.items()}
        if not target.parsing.registry:
            self._described[target] = schemas
        return schemas

    def _tasks(self, cycle: TargetCycle) -> int:
        return tasks(cycle.bytes, parallelism(self._running()), BYTES_PER_TASK)

    def _reader(self) -> RangeReader:
        self._running()
        assert self._kafka is not None
        return self._kafka

    def _running(self) -> SparkSession:
        if self._session is None and self._starting is not None:
            self._starting.result()
        elif self._session is None:
            self._start()
        assert self._session is not None
        return self._session

    # In the caller's thread, while the worker runs.

    def _cancel(self) -> None:
        """Called repeatedly until the job has failed: a job that is about to start can't be cancelled yet."""
        if self._session is not None:
            self._is_cancelled.set()
            self._session.sparkContext.cancelAllJobs()

    def _check_alive(self, error: Exception) -> None:
        """Raises SparkEnded if the session is gone."""
        try:
            is_alive = self._session is not None and not self._session.sparkContext._jsc.sc().isStopped()
        except Exception:  # noqa: BLE001  a call to a dead JVM raises whatever its socket raises
            is_alive = False
        if not is_alive:
            reason = self._secrets.redact(summary(error))
            raise SparkEnded(f"Spark has ended: {reason}; its memory may be too small ([consumer] memory_mb)")
