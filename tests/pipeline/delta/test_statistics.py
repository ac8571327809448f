"""Statistics from Parquet footers, compared with those of DuckDB, which wrote the files."""

import json
from pathlib import Path

import duckdb
import pytest
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from restow.pipeline.delta.footers import TRAILER_BYTES, footer_bytes, row_groups
from restow.pipeline.delta.statistics import MOST_COLUMNS, Statistics, statistics_of


def write(file: Path, query: str, group_rows: int = 2048) -> None:
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        engine.execute(f"COPY ({query}) TO '{file}' (FORMAT parquet, ROW_GROUP_SIZE {group_rows})")


def footer(file: Path) -> bytes:
    data = file.read_bytes()
    length = footer_bytes(data[-TRAILER_BYTES:])
    return data[-TRAILER_BYTES - length : -TRAILER_BYTES]


def stats_of(file: Path, **columns: DataType) -> dict[str, object]:
    schema = StructType([StructField(name, kind) for name, kind in columns.items()])
    found = statistics_of(footer(file), schema)
    stats: dict[str, object] = json.loads(found.json)
    assert stats["numRecords"] == found.rows
    return stats


def test_every_column_of_every_row_group_is_found_with_its_nulls(tmp_path: Path) -> None:
    file = tmp_path / "wide.parquet"
    names = [f"column {number}" for number in range(40)]  # more than Thrift's short lists hold
    columns = ", ".join(f'CASE WHEN i % {number + 2} = 0 THEN i END AS "{name}"' for number, name in enumerate(names))
    write(file, f"SELECT {columns}, {{'inner': i}} AS outer FROM range(5000) t(i)")
    with duckdb.connect() as engine:
        judged = engine.execute(
            "SELECT row_group_id, row_group_num_rows, path_in_schema, stats_null_count "
            f"FROM parquet_metadata('{file}') ORDER BY row_group_id, column_id"
        ).fetchall()
    found = row_groups(footer(file))
    assert len(found) == 3
    assert [
        (number, group.rows, ", ".join(chunk.path), chunk.nulls)
        for number, group in enumerate(found)
        for chunk in group.chunks
    ] == judged


def test_bounds_cover_all_row_groups_in_the_form_of_deltas_log(tmp_path: Path) -> None:
    file = tmp_path / "bounds.parquet"
    write(
        file,
        "SELECT (i % 200 - 100)::TINYINT AS b, (i - 2500)::SMALLINT AS s, (i - 2500)::INTEGER AS i, i - 2500 AS l, "
        "(i / 4)::FLOAT AS f, -i / 8 AS d, chr(65 + (i // 2000)::INT) AS t, 'ä' || i::VARCHAR AS u, "
        "DATE '1969-12-31' + (i // 1000)::INT AS day, "
        "TIMESTAMPTZ '1970-01-01 00:00:00.5+00' - INTERVAL 1 SECOND * i AS at, "
        "CASE WHEN i >= 100 THEN i END AS n FROM range(5000) t(i)",
    )
    kinds: dict[str, DataType] = {
        "b": ByteType(),
        "s": ShortType(),
        "i": IntegerType(),
        "l": LongType(),
        "f": FloatType(),
        "d": DoubleType(),
        "t": StringType(),
        "u": StringType(),
        "day": DateType(),
        "at": TimestampType(),
        "n": LongType(),
    }
    assert stats_of(file, **kinds) == {
        "numRecords": 5000,
        "minValues": {
            "b": -100,
            "s": -2500,
            "i": -2500,
            "l": -2500,
            "f": 0.0,
            "d": -624.875,
            "t": "A",
            "u": "ä0",
            "day": "1969-12-31",
            "at": "1969-12-31T22:36:41.500000Z",
            "n": 100,
        },
        "maxValues": {
            "b": 99,
            "s": 2499,
            "i": 2499,
            "l": 2499,
            "f": 1249.75,
            "d": 0.0,
            "t": "C",
            "u": "ä999",
            "day": "1970-01-04",
            "at": "1970-01-01T00:00:00.500000Z",
            "n": 4999,
        },
        "nullCount": dict.fromkeys(kinds, 0) | {"n": 100},
    }


def test_values_that_json_cannot_represent_have_no_bounds(tmp_path: Path) -> None:
    file = tmp_path / "unsaid.parquet"
    write(
        file,
        "SELECT 'infinity'::DOUBLE AS endless, repeat('x', 33) AS long, 1.23::DECIMAL(9, 2) AS price, true AS flag, "
        "'\\x01'::BLOB AS raw, DATE '12026-01-01' AS late, NULL::INTEGER AS nothing",
    )
    kinds: dict[str, DataType] = {
        "endless": DoubleType(),
        "long": StringType(),
        "price": DecimalType(9, 2),
        "flag": BooleanType(),
        "raw": BinaryType(),
        "late": DateType(),
        "nothing": IntegerType(),
    }
    nulls = dict.fromkeys(kinds, 0) | {"nothing": 1}
    assert stats_of(file, **kinds) == {"numRecords": 1, "minValues": {}, "maxValues": {}, "nullCount": nulls}


def test_columns_beyond_the_limit_and_nested_fields_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "many.parquet"
    names = [f"c{number}" for number in range(MOST_COLUMNS + 1)]
    write(file, f"SELECT {{'c0': 7}} AS a, {', '.join(f'1 AS {name}' for name in names)}")
    stats = stats_of(file, **dict.fromkeys(names, IntegerType()))
    assert stats["minValues"] == stats["maxValues"] == dict.fromkeys(names[:-1], 1)


def test_a_file_without_rows_has_empty_statistics(tmp_path: Path) -> None:
    file = tmp_path / "empty.parquet"
    write(file, "SELECT i FROM range(5) t(i) WHERE i > 7")
    schema = StructType([StructField("i", LongType())])
    assert statistics_of(footer(file), schema) == Statistics(
        0, '{"numRecords": 0, "minValues": {}, "maxValues": {}, "nullCount": {}}'
    )


def test_a_file_that_is_not_parquet_is_refused() -> None:
    with pytest.raises(ValueError, match="a Parquet file ends with b'PAR1', not with b'xxxxxxxx'"):
        footer_bytes(b"xxxxxxxx")
