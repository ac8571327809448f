"""`restow check`: runs the transforms of restow.toml on a sample of the newest records, and stores nothing."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from restow.consumer.planning import Range
from restow.kafka.offsets import LogOffsets
from restow.model import TopicPartition
from restow.pipeline.sinks import Batch, NullSink
from restow.pipeline.spark.engine import Engine
from restow.pipeline.spark.session import Resources
from restow.pipeline.targets import TargetCycle, target_of
from restow.protocol.messages import TopicService
from restow.settings import Settings
from restow.text import counted

RECORDS_OF_A_PARTITION: Final = 20
PARTITIONS_OF_A_TOPIC: Final = 10


@dataclass(frozen=True, slots=True)
class TransformSample:
    """What a transform made of the sampled records."""

    records: int
    rows: int
    columns: tuple[str, ...]

    def __str__(self) -> str:
        columns = ", ".join(self.columns)
        if not self.records:
            return f"no records yet; its rows have {columns}"
        return f"{counted(self.records, 'record')} became {counted(self.rows, 'row')} of {columns}"


class CollectingSink(NullSink):
    """Computes all rows and counts them."""

    name = "the check"

    def __init__(self) -> None:
        self.rows = 0
        self.columns: tuple[str, ...] = ()

    def store(self, batch: Batch) -> tuple[TopicPartition, ...]:
        self.columns = tuple(batch.rows.columns)
        self.rows = len(batch.rows.collect())
        return ()


class Checker:
    def __init__(self, settings: Settings) -> None:
        self._log_offsets = LogOffsets(settings.kafka)
        self._engine = Engine(settings, Resources("restow-check", cores=1.0))

    def close(self) -> None:
        self._engine.close()

    def run(self, service: TopicService, partitions: Iterable[TopicPartition]) -> TransformSample:
        """Runs the transform on the newest records of some partitions, or on an empty frame if there are none. Raises
        RestowError."""
        sink = CollectingSink()
        cycle = TargetCycle(target_of(service), self._newest(partitions), 0.0, sink)
        done = self._engine.run(cycle, lambda: False, patience_s=0.0)
        records = sum(read.records for read in done.read.values()) if done else 0
        return TransformSample(records, sink.rows, sink.columns)

    def _newest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Range]:
        wanted = sorted(partitions)[:PARTITIONS_OF_A_TOPIC]
        firsts, first_error = self._log_offsets.first(wanted)
        ends, end_error = self._log_offsets.last_stable(wanted)
        if error := first_error or end_error:
            raise error
        starts = {p: max(firsts[p], ends[p] - RECORDS_OF_A_PARTITION) for p in wanted}
        return {p: Range(starts[p], starts[p], ends[p]) for p in wanted}
