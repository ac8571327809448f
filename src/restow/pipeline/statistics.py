"""What Delta's readers skip files by: rows, and the least, greatest and missing values of columns, from the footer of a
Parquet file that Spark wrote. `writing.py` asks for each file.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, NamedTuple

from pyspark.sql.types import DateType, NumericType, StringType, StructType, TimestampType

MOST_COLUMNS: Final = 32
"""As Delta's own default has it: beyond that nobody filters."""
LONGEST_TEXT: Final = 32
"""A longer text would have to be cut, and its end raised; it is left out."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Footer(NamedTuple):
    rows: int
    stats: str


class Seen(NamedTuple):
    """Of one column in one piece of a file."""

    column: str
    nulls: int | None
    least: Any
    greatest: Any


def read_footer(jvm: Any, status: Any, configuration: Any, schema: StructType) -> Footer:
    """`status` is Hadoop's of the file."""
    parquet = jvm.org.apache.parquet.hadoop
    reader = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromStatus(status, configuration))
    try:
        blocks = list(reader.getFooter().getBlocks())
        rows = sum(int(block.getRowCount()) for block in blocks)
        return Footer(rows, _as_json(rows, [seen for block in blocks for seen in _seen(block, schema)]))
    finally:
        reader.close()


def _seen(block: Any, schema: StructType) -> Iterator[Seen]:
    """Of columns that are no part of another."""
    wanted = {field.name: field.dataType for field in schema.fields[:MOST_COLUMNS]}
    for chunk in block.getColumns():
        column = str(chunk.getPath().toDotString())
        if column in wanted and (found := chunk.getStatistics()) is not None and not found.isEmpty():
            nulls = int(found.getNumNulls()) if found.isNumNullsSet() else None
            has = found.hasNonNullValue() and isinstance(
                wanted[column], NumericType | StringType | DateType | TimestampType
            )
            bounds = (found.genericGetMin(), found.genericGetMax()) if has else (None, None)
            yield Seen(column, nulls, *(_plain(value, wanted[column]) for value in bounds))


def _plain(value: Any, kind: Any) -> Any:
    """As JSON has it; nothing for what can't be said there, or not without loss."""
    if value is None:
        return None
    match kind:
        case DateType():
            return (date(1970, 1, 1) + timedelta(days=int(value))).isoformat()
        case TimestampType():
            return (EPOCH + timedelta(microseconds=int(value))).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        case StringType():
            text = str(value.toStringUsingUTF8())
            return text if len(text) <= LONGEST_TEXT else None
        case _:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return value if is_number and value == value and abs(value) != float("inf") else None


def _as_json(rows: int, seen: Iterable[Seen]) -> str:
    """A bound counts if every piece of the file has one, or is known to have nothing but nulls."""
    by_column: dict[str, list[Seen]] = {}
    for one in seen:
        by_column.setdefault(one.column, []).append(one)
    least, greatest, nulls = {}, {}, {}
    for column, pieces in by_column.items():
        if all(piece.nulls is not None for piece in pieces):
            nulls[column] = sum(piece.nulls or 0 for piece in pieces)
        if all(piece.least is not None for piece in pieces):
            least[column] = min(piece.least for piece in pieces)
        if all(piece.greatest is not None for piece in pieces):
            greatest[column] = max(piece.greatest for piece in pieces)
    return json.dumps({"numRecords": rows, "minValues": least, "maxValues": greatest, "nullCount": nulls})
