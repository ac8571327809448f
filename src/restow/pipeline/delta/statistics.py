"""Column statistics for Delta's data skipping: row, minimum, maximum and null counts from a Parquet file's footer.

spark/writing.py calls it for every file that Spark wrote.
"""

import json
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Final, NamedTuple

from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from restow.pipeline.delta.footers import Chunk, row_groups

MOST_COLUMNS: Final = 32
"""Delta's own default."""
LONGEST_TEXT: Final = 32
"""Longer texts have no bounds: a truncated maximum would have to be rounded up."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Statistics(NamedTuple):
    rows: int
    json: str
    """As in Delta's log."""


def statistics_of(footer: bytes, schema: StructType) -> Statistics:
    """Statistics of a file whose rows have this schema. Nested fields have none."""
    groups = row_groups(footer)
    rows = sum(group.rows for group in groups)
    minimum, maximum, nulls = {}, {}, {}
    for field in schema.fields[:MOST_COLUMNS]:
        chunks = [chunk for group in groups for chunk in group.chunks if chunk.path == (field.name,)]
        if chunks and all(chunk.nulls is not None for chunk in chunks):
            nulls[field.name] = sum(chunk.nulls or 0 for chunk in chunks)
        if bounds := _bounds(chunks, field.dataType):
            minimum[field.name], maximum[field.name] = bounds
    stats = {"numRecords": rows, "minValues": minimum, "maxValues": maximum, "nullCount": nulls}
    return Statistics(rows, json.dumps(stats))


def _bounds(chunks: list[Chunk], kind: DataType) -> tuple[Any, Any] | None:
    """Minimum and maximum as JSON values; None if a chunk has none, or JSON can't represent them."""
    read = READERS.get(type(kind))
    if read is None or not chunks:
        return None
    found = [read(bound) for chunk in chunks for bound in (chunk.minimum, chunk.maximum) if bound is not None]
    if len(found) < 2 * len(chunks) or None in found:
        return None
    return min(found), max(found)


def _integer(value: bytes) -> int:
    return int.from_bytes(value, "little", signed=True)


def _date(value: bytes) -> str | None:
    return _formatted(timedelta(days=_integer(value)), lambda moment: moment.date().isoformat())


def _timestamp(value: bytes) -> str | None:
    since = timedelta(microseconds=_integer(value))
    return _formatted(since, lambda moment: f"{moment.isoformat(timespec='microseconds').removesuffix('+00:00')}Z")


def _formatted(since_epoch: timedelta, text: Callable[[datetime], str]) -> str | None:
    """Returns None before the year 1 and after 9999, which Spark has and Python has not."""
    try:
        return text(EPOCH + since_epoch)
    except OverflowError:
        return None


def _number(value: bytes) -> float | None:
    [number] = struct.unpack("<f" if len(value) == 4 else "<d", value)
    return number if isfinite(number) else None


def _text(value: bytes) -> str | None:
    text = value.decode()
    return text if len(text) <= LONGEST_TEXT else None


READERS: Final[dict[type[DataType], Callable[[bytes], Any]]] = {
    **dict.fromkeys((ByteType, ShortType, IntegerType, LongType), _integer),
    **dict.fromkeys((FloatType, DoubleType), _number),
    StringType: _text,
    DateType: _date,
    TimestampType: _timestamp,
}
"""By the column's Spark type. Other types have no order, or values that JSON can't represent."""
