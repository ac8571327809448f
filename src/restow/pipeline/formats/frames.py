"""Parsed records as a DataFrame: for each record either its columns, or an error.

    parsed(records, parser)    the fields of the values, Kafka's own columns, and `_error`
    accepted(frame)            the same without `_error`; a record that has one fails the job

Kafka's own columns begin with an underscore, so that fields may have their names: `_key`, `_value`, `_headers`,
`_topic`, `_partition`, `_offset`, `_timestamp`. `_error` says why a value doesn't parse, and is null where it does. A
record without a value, a tombstone, is no error: its fields are null.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from restow.errors import RestowError
from restow.model import TopicPartition

KAFKA: Final = ("key", "value", "headers", "topic", "partition", "offset", "timestamp")
PARSED: Final = "_parsed"
ERROR: Final = "_error"
BAD_RECORD: Final = "restow can't parse "
"""What the error of a job begins with if a record doesn't parse: its place and the reason follow."""
FOUND: Final = re.compile(re.escape(BAD_RECORD) + r"(\S+)-(\d+) at offset (\d+): ([^\n]*)")


@dataclass(frozen=True, slots=True)
class Parser:
    """How values become columns. Its expressions are over `value` and, once it is computed, `_parsed`."""

    struct: Column
    """The parsed value; null if it doesn't parse."""
    columns: Mapping[str, str]
    """The fields of the struct, each with the name of its column."""
    error: Column
    """Why a value that isn't null doesn't parse; null if it does."""
    once: Column = field(init=False)
    """The struct as `_parsed`, of which every other column is made."""
    selected: tuple[Column, ...] = field(init=False)
    """The columns of the parsed frame, made once: each is a call to the JVM."""

    def __post_init__(self) -> None:
        # Without more to depend on than the value, the struct would be computed again for each filter on its fields.
        once = sql.when(sql.monotonically_increasing_id() >= 0, self.struct).alias(PARSED)
        object.__setattr__(self, "once", once)
        fields = (sql.col(PARSED)[key].alias(name) for key, name in self.columns.items())
        own = (sql.col(name).alias(f"_{name}") for name in KAFKA)
        error = sql.when(sql.col("value").isNull(), sql.lit(None)).otherwise(self.error).cast("string").alias(ERROR)
        object.__setattr__(self, "selected", (*fields, *own, error))


class BadRecord(RestowError):
    """A record doesn't parse."""

    def __init__(self, partition: TopicPartition, offset: int, reason: str) -> None:
        super().__init__(f"{partition} at offset {offset} doesn't parse: {reason}")
        self.partition, self.offset, self.reason = partition, offset, reason


def parsed(records: DataFrame, parser: Parser) -> DataFrame:
    return records.select(*KAFKA, parser.once).select(*parser.selected)


def accepted(frame: DataFrame) -> DataFrame:
    """The error of the job names the record: `bad_record` reads it."""
    place = sql.format_string(f"{BAD_RECORD}%s-%d at offset %d: %s", "_topic", "_partition", "_offset", ERROR)
    is_right = sql.when(sql.col(ERROR).isNull(), True).otherwise(sql.raise_error(place).cast("boolean"))
    return frame.filter(is_right).drop(ERROR)


def bad_record(error: BaseException) -> BadRecord | None:
    """The record because of which a job failed; None if it failed for another reason."""
    found = FOUND.search(str(error))
    if found is None:
        return None
    topic, partition, offset, reason = found.groups()
    return BadRecord(TopicPartition(topic, int(partition)), int(offset), reason.split(" SQLSTATE:")[0].strip())
