"""Spark at work: a session in its own thread, what it reads and counts, and what becomes of it in a sink.

`spark.py` decides what is read; this does it, and tells how it ended.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pyspark.sql import DataFrame, SparkSession

from restow.consumer.pipeline import ShouldEnd
from restow.consumer.planning import Range, tasks
from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline.sinks import Batch, Sink
from restow.pipeline.spark.counting import Counted, Counts
from restow.pipeline.spark.failures import told
from restow.pipeline.spark.reading import Reader
from restow.pipeline.spark.session import Resources, parallelism, start_session
from restow.pipeline.spark.transforms import rows_of
from restow.pipeline.spark.warm_up import TARGET, Scratch, records_for
from restow.pipeline.spark.worker import Worker
from restow.pipeline.start_offsets import Target
from restow.pipeline.table import Span
from restow.settings import Settings

T = TypeVar("T")

BYTES_OF_A_TASK: Final = 4_000_000.0
"""A task has costs of its own, and makes a file of its own."""


class SparkEnded(RestowError):
    """The session is gone: it ran out of memory, or its cluster did away with it. A new process starts a new one."""


@dataclass(frozen=True, slots=True)
class Work:
    """One cycle for one target."""

    target: Target
    ranges: Mapping[TopicPartition, Range]
    bytes: float
    """About what they have."""
    sink: Sink
    staging: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    replaced: tuple[TopicPartition, ...] = ()
    """What the sink refused; then nothing was stored."""
    counted: Mapping[str, Counted] = field(default_factory=dict)


class Engine:
    def __init__(self, settings: Settings, resources: Resources, say: Callable[[str], None]) -> None:
        self._settings, self._resources, self._say = settings, resources, say
        self._worker = Worker()
        self._dropped = threading.Event()
        self._session: SparkSession | None = None
        self._kafka: Reader | None = None

    def start(self, should_end: ShouldEnd) -> None:
        """The session is up and has done its first work, so that the next is quick."""
        self._worker.do_until(self._start, should_end)

    def close(self) -> None:
        if self._session is not None and not self._worker.is_busy:
            self._worker.do(self._session.stop)
        self._worker.close()

    def schema_of(self, target: Target) -> str:
        """Of the rows that become of its records. Raises TransformTrouble."""

        def schema() -> str:
            return self._rows(self._reader().empty(), target).schema.json()

        return self._worker.do(schema)

    def run(self, work: Work, should_end: ShouldEnd, patience_s: float) -> Done | None:
        """Nothing: it was dropped, since somebody waited for its end for too long. Raises RestowError where it failed,
        and SparkEnded where there is no session any more."""
        self._dropped.clear()
        try:
            return self._worker.do_while(lambda: self._do(work), should_end, patience_s, self._drop)
        except RestowError:
            raise
        except Exception as error:  # noqa: BLE001  Spark, a person's function in it, or a store: all are told alike
            if self._dropped.is_set():
                return None
            self._must_be_alive(error)
            what = f"what the transform {work.target.transform} makes" if work.target.transform else "the records"
            raise RestowError(f"{what} can't be written to {work.sink.name}: {told(error)}") from None

    def aside(self, work: Callable[[], T], should_end: ShouldEnd) -> T:
        """What is done between two jobs of Spark, and may take a while."""
        return self._worker.do_while(work, should_end, 0.0, lambda: None)

    # In the worker's thread.

    def _start(self) -> None:
        self._session = start_session(self._settings, self._resources, self._say)
        self._kafka = Reader(self._settings, self._session)
        try:
            self._do(Work(TARGET, records_for(self._settings), 0.0, Scratch()))
        except Exception as error:  # noqa: BLE001  it is only to be quick later
            self._must_be_alive(error)
            self._say(f"Spark's first work failed, so that its next may be slow: {told(error)}")

    def _do(self, work: Work) -> Done:
        ranges = {partition: taken for partition, taken in work.ranges.items() if taken.records}
        spans = {partition: Span(taken.position, taken.next) for partition, taken in work.ranges.items()}
        if not ranges:
            rows = self._rows(self._reader().empty(), work.target)
            return Done(work.sink.store(Batch(rows, spans, 0, work.staging)))
        counts = Counts({partition.topic for partition in ranges})
        records = counts.on(self._reader().frame(ranges, self._pieces(work)))
        count = sum(taken.records for taken in ranges.values())
        replaced = work.sink.store(Batch(self._rows(records, work.target), spans, count, work.staging))
        return Done(replaced, {} if replaced else counts.counted())

    def _rows(self, records: DataFrame, target: Target) -> DataFrame:
        return rows_of(records, target.transform or None, target.lineage)

    def _pieces(self, work: Work) -> int:
        return tasks(work.bytes, parallelism(self._running()), BYTES_OF_A_TASK)

    def _reader(self) -> Reader:
        self._running()
        assert self._kafka is not None
        return self._kafka

    def _running(self) -> SparkSession:
        if self._session is None:
            self._start()
        assert self._session is not None
        return self._session

    # In the process's own thread, while the worker is at work.

    def _drop(self) -> None:
        """Called until the work has failed: it may be about to begin a job, which no call before could cancel."""
        if self._session is not None:
            self._dropped.set()
            self._session.sparkContext.cancelAllJobs()

    def _must_be_alive(self, error: Exception) -> None:
        try:
            is_alive = self._session is not None and not self._session.sparkContext._jsc.sc().isStopped()
        except Exception:  # noqa: BLE001  a JVM that is gone answers with whatever its socket makes of it
            is_alive = False
        if not is_alive:
            raise SparkEnded(f"Spark has ended: {told(error)}; its memory may be too small ([consumer] memory_mb)")
