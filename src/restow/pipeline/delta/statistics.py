"""What Delta's readers skip files by: rows, and the least, greatest and missing values of columns, from the footer of a
Parquet file that Spark wrote. `writing.py` asks for each file.
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
"""As Delta's own default has it: beyond that nobody filters."""
LONGEST_TEXT: Final = 32
"""A longer text would have to be cut, and its end raised; it is left out."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Statistics(NamedTuple):
    rows: int
    text: str
    """As Delta's log has it."""


def statistics_of(footer: bytes, schema: StructType) -> Statistics:
    """Of a file with rows of this schema. Columns that are parts of others have none."""
    groups = row_groups(footer)
    rows = sum(group.rows for group in groups)
    least, greatest, nulls = {}, {}, {}
    for field in schema.fields[:MOST_COLUMNS]:
        chunks = [chunk for group in groups for chunk in group.chunks if chunk.path == (field.name,)]
        if chunks and all(chunk.nulls is not None for chunk in chunks):
            nulls[field.name] = sum(chunk.nulls or 0 for chunk in chunks)
        if bounds := _bounds(chunks, field.dataType):
            least[field.name], greatest[field.name] = bounds
    told = {"numRecords": rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}
    return Statistics(rows, json.dumps(told))


def _bounds(chunks: list[Chunk], kind: DataType) -> tuple[Any, Any] | None:
    """As JSON has them. None where one of the chunks has none, or they can't be said without loss."""
    read = READERS.get(type(kind))
    if read is None or not chunks:
        return None
    found = [read(bound) for chunk in chunks for bound in (chunk.least, chunk.greatest) if bound is not None]
    if len(found) < 2 * len(chunks) or None in found:
        return None
    return min(found), max(found)


def _integer(value: bytes) -> int:
    return int.from_bytes(value, "little", signed=True)


def _day(value: bytes) -> str | None:
    return _told(timedelta(days=_integer(value)), lambda moment: moment.date().isoformat())


def _moment(value: bytes) -> str | None:
    since = timedelta(microseconds=_integer(value))
    return _told(since, lambda moment: f"{moment.isoformat(timespec='microseconds').removesuffix('+00:00')}Z")


def _told(since_epoch: timedelta, told: Callable[[datetime], str]) -> str | None:
    """Nothing of what is before the year 1 or after 9999, which Spark has and Python has not."""
    try:
        return told(EPOCH + since_epoch)
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
    DateType: _day,
    TimestampType: _moment,
}
"""By the type of the column in Spark. Others have no order, or one that JSON can't say."""
