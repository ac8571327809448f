"""Where a cycle's rows go. A sink is small: it stores a batch, it tells positions if it knows them, and it refuses a
late batch if it can. `spark.py` knows no more of one.

A lake table knows its positions and refuses. `Nowhere` does neither: records are read, transformed and counted, and
their position is the group's committed offset. A sink that can't refuse says so to its group's controller with
`refuses_late_writes = false`: then no partition is moved before its last consumer is really gone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame

from restow.model import TopicPartition
from restow.pipeline.spark.writing import write_files
from restow.pipeline.table import Span, Table


@dataclass(frozen=True, slots=True)
class Batch:
    """What a cycle has for one sink."""

    rows: DataFrame
    """Described, and not worked out yet."""
    spans: Mapping[TopicPartition, Span]
    records: int
    """Offsets that are read for it; none, where all of them were deleted: then the spans alone are stored."""
    staging: str = ""
    """As the sink gave it: where this batch is to be written before it is stored."""


class Sink(Protocol):
    @property
    def name(self) -> str:
        """For people."""

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The next offset of those that it knows."""

    def begin(self, offsets: Mapping[TopicPartition, int], schema: str) -> None:
        """From now on it knows these; of those that it knew already it has its own opinion."""

    def staging(self) -> str:
        """A place for a batch that is about to come; nothing where none is needed. To be asked for anew each time."""

    def store(self, batch: Batch) -> tuple[TopicPartition, ...]:
        """All of it: (); or nothing: the partitions that somebody else has stored meanwhile."""

    def settle(self, staging: str, spans: Mapping[TopicPartition, Span]) -> bool:
        """Whether a batch was stored of which it was not told that it is. If it was not, it never will be, and nothing
        is left of it."""

    def tidy(self) -> None:
        """What is due, in little time."""

    def close(self) -> None: ...


class TableSink:
    def __init__(self, table: Table) -> None:
        self._table = table
        self.name = f"the table {table.uri}"

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._table.positions(partitions)

    def begin(self, offsets: Mapping[TopicPartition, int], schema: str) -> None:
        self._table.begin(offsets, schema)

    def staging(self) -> str:
        return self._table.staging()

    def store(self, batch: Batch) -> tuple[TopicPartition, ...]:
        files = write_files(batch.rows, self._table.uri, batch.staging) if batch.records else []
        return self._table.commit(files, batch.rows.schema.json(), batch.spans, batch.staging)

    def settle(self, staging: str, spans: Mapping[TopicPartition, Span]) -> bool:
        return self._table.settle(staging, spans)

    def tidy(self) -> None:
        self._table.tidy()

    def close(self) -> None:
        self._table.close()


class Nowhere:
    name = "no table"

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:  # noqa: ARG002
        return {}

    def begin(self, offsets: Mapping[TopicPartition, int], schema: str) -> None:
        pass

    def store(self, batch: Batch) -> tuple[TopicPartition, ...]:
        if batch.records:
            batch.rows.write.format("noop").mode("overwrite").save()
        return ()

    def staging(self) -> str:
        return ""

    def settle(self, staging: str, spans: Mapping[TopicPartition, Span]) -> bool:  # noqa: ARG002
        return False

    def tidy(self) -> None:
        pass

    def close(self) -> None:
        pass
