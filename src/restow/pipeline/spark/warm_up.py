"""Warms up a Spark session: a small cycle, run before the consumer reports ready, so that the JVM has its classes
loaded.

It reads a few records of restow's own controller topic, which every consumer may read, and of some partitions that the
group consumes, and writes files that it removes. Each partition has a Kafka client of its own: the first ones cost a
cold JVM 40 ms and more, and a partition that moves to this consumer would wait for them. build_archive.py runs it too,
to learn which classes a session needs.
"""

import tempfile
from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, functions

from restow.consumer.planning import Range
from restow.kafka.offsets import LogOffsets
from restow.model import TopicPartition
from restow.pipeline.sinks import Batch, NullSink, Stored
from restow.pipeline.spark.writing import write_files
from restow.pipeline.targets import Target, TargetCycle
from restow.settings import Settings

MOST_RECORDS: Final = 100
OTHERS: Final = 6
"""Partitions of consumed topics that are read too."""
OTHERS_RECORDS: Final = 5
TARGET: Final = Target("", f"{__name__}:parsed", lineage=True)


def warm_up_cycle(settings: Settings, offsets: LogOffsets) -> TargetCycle:
    own, named = [TopicPartition(settings.topics.controller, 0)], (n for n in settings.consume if not n.startswith("^"))
    ranges = newest_records(offsets, own, MOST_RECORDS)
    ranges |= newest_records(offsets, offsets.partitions(named)[:OTHERS], OTHERS_RECORDS)
    return TargetCycle(TARGET, ranges, 0.0, ScratchSink())


def parsed(records: DataFrame) -> DataFrame:
    """A typical transform: it parses JSON, filters, and names columns."""
    message = functions.from_json(functions.col("value").cast("string"), "type string, version int, at timestamp")
    has_type = functions.col("message.type").isNotNull()
    return records.select(message.alias("message"), "key").filter(has_type).select("message.*", "key")


class ScratchSink(NullSink):
    """Writes files as for a table, and removes them."""

    name = "the warm-up"

    def store(self, batch: Batch) -> Stored:
        with tempfile.TemporaryDirectory(prefix="restow-warm-up-") as root:
            write_files(batch.rows, root, "files")
        return Stored()


def newest_records(offsets: LogOffsets, partitions: Sequence[TopicPartition], most: int) -> dict[TopicPartition, Range]:
    """So many of each partition; empty ranges where there are no records yet."""
    (firsts, _), (ends, _) = offsets.first(partitions), offsets.last_stable(partitions)
    found = {}
    for partition in (each for each in partitions if each in firsts and each in ends):
        first = max(firsts[partition], ends[partition] - most)
        found[partition] = Range(first, first, ends[partition])
    return found
