"""Partitioned tables without Spark: odd values, compaction and vacuum, as other engines read them."""

import os
from pathlib import Path
from typing import Final
from urllib.parse import quote

import polars as pl
import pytest
from arro3.core import Array, DataType
from deltalake import DeltaTable, QueryBuilder
from tests.support.delta.lake import P0, adopt, lake, on_disk, parquet, schema, visible

from restow.pipeline.delta.compaction import compact
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import WrittenFile
from restow.pipeline.delta.vacuum import vacuum
from restow.pipeline.sinks import Span, TableRules

COLUMNS: Final = schema(("id", "long"), ("day", "date"), ("country", "string"))
RULES: Final = TableRules(("day", "country"))
COUNTRIES: Final = ("AT", "a b", "50%/x=1", "Österreich", None)


def written(table: DeltaSink, number: int, country: str | None) -> WrittenFile:
    """As Spark writes it: in a directory for each value."""
    file = adopt(table, parquet({"id": Array([number], DataType.int64())}), 1)
    staging, name = file.path.rsplit("/", 1)
    value = "__HIVE_DEFAULT_PARTITION__" if country is None else quote(country, safe=" Ö")
    path = f"{staging}/day=2026-03-0{1 + number % 2}/country={value}/{name}"
    (Path(table.uri) / path).parent.mkdir(parents=True)
    (Path(table.uri) / file.path).rename(Path(table.uri) / path)
    partition = (("day", f"2026-03-0{1 + number % 2}"), ("country", country))
    return WrittenFile(path, file.size_bytes, 1, partition=partition)


@pytest.fixture
def table(tmp_path: Path) -> DeltaSink:
    table = lake(tmp_path / "orders")
    table.register({P0: 0}, COLUMNS, RULES)
    for number in range(20):
        file = written(table, number, COUNTRIES[number % 5])
        assert table.commit([file], COLUMNS, {P0: Span(number, number + 1)}, rules=RULES) == ()
    return table


EXPECTED: Final = [(number, f"2026-03-0{1 + number % 2}", COUNTRIES[number % 5]) for number in range(20)]


def assert_engines_read(root: str) -> None:
    """delta-rs with DataFusion, and Polars, which each read the log and the files."""
    rows = pl.read_delta(root).sort("id").iter_rows(named=True)
    assert [(each["id"], str(each["day"]), each["country"]) for each in rows] == EXPECTED
    query = "SELECT id, cast(day AS varchar) AS day, country FROM t ORDER BY id"
    found = QueryBuilder().register("t", DeltaTable(root)).execute(query).read_all()
    assert list(zip(*(found[name].to_pylist() for name in ("id", "day", "country")), strict=True)) == EXPECTED


def test_partitions_are_read_by_other_engines_and_stay_apart_in_compaction(table: DeltaSink) -> None:
    assert_engines_read(table.uri)
    compact(Ledger(table.uri), 2**20, run=1)
    assert len(visible(Path(table.uri))) == 10, "one file for each day and country"
    assert_engines_read(table.uri)
    assert table.commit([], COLUMNS, {P0: Span(20, 21)}, rules=RULES) == ()


def test_vacuum_deletes_replaced_files_of_partitions_and_nothing_else(table: DeltaSink) -> None:
    root = Path(table.uri)
    abandoned = written(table, 0, "a b")
    compact(Ledger(table.uri), 2**20, run=1)
    for file in root.rglob("*.parquet"):
        os.utime(file, ns=(0, 0))
    ledger = Ledger(table.uri)
    vacuum(ledger, 0.0)
    assert not (root / abandoned.path).exists()
    assert on_disk(root) >= visible(root)
    assert_engines_read(table.uri)
