"""Bad records on Spark: leaves them out of a frame, finds records that don't parse, and makes the rows of dead letters.

engine.py calls it. searching.py decides which jobs look for a record on which a transform fails.
"""

from collections.abc import Collection, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from restow.model import TopicPartition
from restow.pipeline.delta.rejects import REJECTED
from restow.pipeline.formats.frames import ERROR, Parser, parsed
from restow.pipeline.searching import BadOffsets

Offsets = Mapping[TopicPartition, Collection[int]]


def without(records: DataFrame, offsets: Offsets) -> DataFrame:
    """The records but for those at these offsets."""
    for (topic, partition), left_out in sorted(offsets.items()):
        numbers = ", ".join(str(offset) for offset in sorted(left_out))
        records = records.filter(f"NOT (offset IN ({numbers}) AND partition = {partition} AND topic = '{topic}')")
    return records


def unparsed(records: DataFrame, parser: Parser, most: int) -> dict[TopicPartition, dict[int, str]]:
    """The records that don't parse, each with the reason; of many some. It runs a job."""
    rows = parsed(records, parser).filter(f"{ERROR} IS NOT NULL").select("_topic", "_partition", "_offset", ERROR)
    found: dict[TopicPartition, dict[int, str]] = {}
    collected: Any = rows.limit(most)._jdf  # few rows: Python's own collect() opens a socket for them
    for row in collected.collectAsList():
        partition = TopicPartition(row.getString(0), row.getInt(1))
        found.setdefault(partition, {})[row.getLong(2)] = f"it doesn't parse: {row.getString(3)}"
    return found


def letters(records: DataFrame, bad: BadOffsets, group: str, code: str | None) -> DataFrame:
    """The rows of these records in their dead-letter table; delta/rejects.py has the columns."""
    reasons = [(p.topic, p.partition, offset, reason) for p, of in bad.items() for offset, reason in of.items()]
    session = records.sparkSession
    errors = session.createDataFrame(reasons, "topic string, partition int, offset bigint, error string")
    return records.join(sql.broadcast(errors), ["topic", "partition", "offset"], how="inner").select(
        sql.lit(REJECTED).alias("state"),
        sql.lit(group).alias("consumer_group"),
        *("topic", "partition", "offset", "timestamp", "key", "value", "headers", "error"),
        sql.lit(code).cast("string").alias("code"),
        sql.current_timestamp().alias("at"),
        sql.lit(None).cast("bigint").alias("retry"),
    )
