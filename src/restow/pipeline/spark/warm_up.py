"""The first work of a session, of no use but that the next is quick: the JVM has loaded what a cycle needs.

`engine.py` does it before a consumer says that it is ready, on a few records of restow's own controller topic, which
every consumer may read; `archiving.py` has it done to learn which classes a session needs.
"""

import tempfile
from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql import DataFrame, functions

from restow.consumer.planning import Range
from restow.kafka.offsets import LogOffsets
from restow.model import TopicPartition
from restow.pipeline.sinks import Batch
from restow.pipeline.spark.writing import write_files
from restow.pipeline.start_offsets import Target
from restow.pipeline.table import Span
from restow.settings import Settings

MOST_RECORDS: Final = 100
TARGET: Final = Target("", f"{__name__}:parsed", lineage=True)


def parsed(records: DataFrame) -> DataFrame:
    """What many transforms do: JSON is parsed, something is left out, columns are named."""
    message = functions.from_json(functions.col("value").cast("string"), "type string, version int, at timestamp")
    is_something = functions.col("message.type").isNotNull()
    return records.select(message.alias("message"), "key").filter(is_something).select("message.*", "key")


def records_for(settings: Settings) -> dict[TopicPartition, Range]:
    """A few of the controller topic's, which it has as soon as there was a controller."""
    partition, offsets = TopicPartition(settings.topics.controller, 0), LogOffsets(settings.kafka)
    (firsts, _), (ends, _) = offsets.first([partition]), offsets.last_stable([partition])
    if partition not in firsts or partition not in ends:
        return {}
    end = ends[partition]
    first = max(firsts[partition], end - MOST_RECORDS)
    return {partition: Range(first, first, end)}


class Forgetful:
    """A sink that knows nothing and keeps nothing."""

    name = "a rehearsal"

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:  # noqa: ARG002
        return {}

    def begin(self, offsets: Mapping[TopicPartition, int], schema: str) -> None:
        pass

    def staging(self) -> str:
        return ""

    def settle(self, staging: str, spans: Mapping[TopicPartition, Span]) -> bool:  # noqa: ARG002
        return False

    def tidy(self) -> None:
        pass

    def close(self) -> None:
        pass


class Scratch(Forgetful):
    """Files are written as for a table, and removed."""

    def store(self, batch: Batch) -> tuple[TopicPartition, ...]:
        with tempfile.TemporaryDirectory(prefix="restow-rehearsal-") as root:
            write_files(batch.rows, root, "files")
        return ()


class Tally(Forgetful):
    """Rows are worked out whole, and counted. `restow check` looks at them."""

    name = "a trial"

    def __init__(self) -> None:
        self.rows = 0
        self.columns: tuple[str, ...] = ()

    def store(self, batch: Batch) -> tuple[TopicPartition, ...]:
        self.columns = tuple(batch.rows.columns)
        self.rows = len(batch.rows.collect())
        return ()
