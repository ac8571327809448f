"""The audit tells what is lost and what is doubled, and how long each row took."""

import json
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType
from deltalake.transaction import AddAction

from restow.demo.audit import quantile
from restow.pipeline.audit import Stored, absent_from, last_offsets, latencies_s, stored_in

COLUMNS = {"id": "string", "_timestamp": "timestamp", "_partition": "integer", "_offset": "long"}
SCHEMA = Schema([Field(name, PrimitiveType(kind)) for name, kind in COLUMNS.items()])
AT = "2026-03-01 12:00:00+00"


def add(table: Path, name: str, ids: list[str], partition: int = 0, first: int = 0) -> None:
    """A file with these rows, committed."""
    rows = ", ".join(
        f"('{each}', TIMESTAMPTZ '{AT}', {partition}, {offset}::BIGINT)" for offset, each in enumerate(ids, first)
    )
    with duckdb.connect() as database:
        database.execute(
            f"COPY (SELECT * FROM (VALUES {rows}) AS t({', '.join(COLUMNS)})) TO '{table / name}' (FORMAT parquet)"
        )
    size = (table / name).stat().st_size
    action = AddAction(name, size, {}, 0, True, json.dumps({"numRecords": len(ids)}))
    DeltaTable(str(table)).create_write_transaction([action], "append", SCHEMA)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    DeltaTable.create(str(tmp_path / "orders"), SCHEMA)
    return tmp_path / "orders"


def test_what_is_in_a_table_is_counted(table: Path) -> None:
    assert stored_in(table) == Stored(0, 0)
    add(table, "one.parquet", ["a", "b"])
    add(table, "two.parquet", ["b", "c"])
    found = stored_in(table)
    assert found == Stored(rows=4, ids=3)
    assert found.doubled == 1


def test_an_id_that_is_not_there_is_absent_whatever_else_is(table: Path) -> None:
    assert absent_from(table, "orders", 3) == 3
    add(table, "one.parquet", ["orders-0", "orders-2", "orders-2", "clicks-1", "orders-7"])
    assert absent_from(table, "orders", 3) == 1
    add(table, "two.parquet", ["orders-1"])
    assert absent_from(table, "orders", 3) == 0


def test_the_last_offset_of_each_partition_is_told(table: Path) -> None:
    assert last_offsets(table) == {}
    add(table, "one.parquet", ["a", "b"], partition=3, first=7)
    add(table, "two.parquet", ["c"], partition=1)
    add(table, "three.parquet", ["d"], partition=3, first=9)
    assert last_offsets(table) == {1: 0, 3: 9}


def test_files_that_were_never_committed_count_for_nothing(table: Path) -> None:
    add(table, "one.parquet", ["a"])
    (table / "orphan.parquet").write_bytes((table / "one.parquet").read_bytes())
    assert stored_in(table) == Stored(1, 1)


def test_a_table_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert stored_in(tmp_path / "nowhere") == Stored(0, 0)
    assert absent_from(tmp_path / "nowhere", "orders", 2) == 2
    assert latencies_s(tmp_path / "nowhere") == []


def test_a_rows_latency_is_from_its_record_to_its_commit(table: Path) -> None:
    add(table, "one.parquet", ["a", "b"])
    entry = table / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in entry.read_text().splitlines()]
    [committed] = [action["commitInfo"]["timestamp"] / 1000 for action in actions if "commitInfo" in action]
    written = 1772366400.0  # 2026-03-01 12:00 in UTC
    assert latencies_s(table) == [pytest.approx(committed - written, abs=0.001)] * 2


@pytest.mark.parametrize(("share", "value"), [(0.5, 2.0), (0.99, 4.0), (0.25, 1.0), (1.0, 4.0)])
def test_a_quantile_is_one_of_the_values(share: float, value: float) -> None:
    assert quantile((1.0, 2.0, 3.0, 4.0), share) == value
    assert quantile((), share) == 0.0
