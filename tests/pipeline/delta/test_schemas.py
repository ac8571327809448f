"""Whether a batch fits a table: columns that are added, and lines that say why one doesn't."""

import json
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Array, DataType
from deltalake import DeltaTable, QueryBuilder, Schema
from tests.support.delta.lake import P0, P1, adopt, lake, parquet, schema

from restow.pipeline.delta import schemas
from restow.pipeline.table import Span, TableTrouble

NARROW = schema(("id", "long"))
WIDE = schema(("id", "long"), ("name", "string"))


def struct(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": [strict(name, kind) for name, kind in fields]}


def strict(name: str, kind: Any, **metadata: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": False, "metadata": metadata}


def loose(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def test_every_column_that_is_made_may_be_null_at_every_depth() -> None:
    strictest = [
        strict("s", struct(("q", "long"))),
        strict("a", {"type": "array", "elementType": struct(("q", "date")), "containsNull": False}),
        strict("m", {"type": "map", "keyType": "string", "valueType": "decimal(9,2)", "valueContainsNull": False}),
    ]
    inner = {"type": "struct", "fields": [loose("q", "date")]}
    assert schemas.made_of(schemas.as_json(strictest)) == [
        loose("s", {"type": "struct", "fields": [loose("q", "long")]}),
        loose("a", {"type": "array", "elementType": inner, "containsNull": True}),
        loose("m", {"type": "map", "keyType": "string", "valueType": "decimal(9,2)", "valueContainsNull": True}),
    ]


@pytest.mark.parametrize(
    ("table", "batch", "told"),
    [
        (
            [loose("id", "long")],
            [loose("id", "string")],
            "column id is long in the table and string in the batch; cast it in the transform, or name another table",
        ),
        (
            [loose("s", struct(("q", "long")))],
            [loose("s", struct(("q", "integer")))],
            "column s.q is long in the table and integer in the batch; cast it in the transform, or name another table",
        ),
        (
            [loose("a", {"type": "array", "elementType": struct(("q", "long")), "containsNull": True})],
            [loose("a", {"type": "array", "elementType": struct(("q", "long"), ("r", "long")), "containsNull": True})],
            (
                "column a is array<struct<q: long>> in the table and array<struct<q: long, r: long>> in the batch; "
                "cast it in the transform, or name another table"
            ),
        ),
        ([loose("Id", "long")], [loose("id", "long")], "column id is called Id in the table; give it that name"),
        (
            [loose("id", "long")],
            [loose("n", "long"), loose("N", "long")],
            "columns n and N of the batch have one name to a table",
        ),
        (
            [loose("id", "long")],
            [loose("id", "void")],
            "column id of the batch is void, which no table has; cast it in the transform",
        ),
        (
            [strict("id", "long")],
            [loose("id", "long")],
            "column id may not be null in the table, and nothing says that it isn't in the batch",
        ),
    ],
)
def test_what_does_not_fit_is_told_by_column(
    table: list[dict[str, Any]], batch: list[dict[str, Any]], told: str
) -> None:
    with pytest.raises(TableTrouble) as trouble:
        schemas.lacking(schemas.as_json(table), schemas.as_json(batch))
    assert str(trouble.value) == told


def test_what_fits_needs_nothing() -> None:
    assert schemas.lacking(WIDE, NARROW) == []
    assert schemas.lacking(schemas.as_json([strict("id", "long")]), schemas.as_json([strict("id", "long")])) == []


def test_fields_that_a_struct_lacks_are_added_to_those_it_has() -> None:
    table = schemas.as_json([loose("s", {"type": "struct", "fields": [loose("q", "long")]})])
    batch = schemas.as_json([loose("s", {"type": "struct", "fields": [loose("r", "date")]})])
    both = {"type": "struct", "fields": [loose("q", "long"), loose("r", "date")]}
    assert schemas.lacking(table, batch) == [loose("s", both)]


def test_a_batch_with_a_new_column_widens_the_table_and_older_rows_have_none(tmp_path: Path) -> None:
    table, other = lake(tmp_path, 1), lake(tmp_path, 2)
    table.begin({P0: 0, P1: 0}, NARROW)
    narrow = parquet({"id": Array([1], DataType.int64())})
    wide = parquet({"id": Array([2], DataType.int64()), "name": Array(["b"], DataType.string())})
    assert table.commit([adopt(table, narrow, 1, keep=True)], NARROW, {P0: Span(0, 1)}) == ()
    assert other.commit([adopt(other, wide, 1)], WIDE, {P1: Span(0, 1)}) == ()
    assert table.commit([adopt(table, narrow, 1)], NARROW, {P0: Span(1, 2)}) == (), "who knows less goes on"
    rows = (
        QueryBuilder()
        .register("t", DeltaTable(tmp_path))
        .execute("SELECT id, name FROM t ORDER BY id, name")
        .read_all()
    )
    assert list(zip(rows["id"].to_pylist(), rows["name"].to_pylist(), strict=True)) == [(1, None), (1, None), (2, "b")]


def test_a_batch_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    table = lake(tmp_path)
    table.begin({P0: 0}, NARROW)
    before = DeltaTable(tmp_path).version()
    texts = parquet({"id": Array(["x"], DataType.string())})
    with pytest.raises(TableTrouble) as told:
        table.commit([adopt(table, texts, 1)], schema(("id", "string")), {P0: Span(0, 1)})
    assert str(told.value) == (
        f"the table {tmp_path}: column id is long in the table and string in the batch; "
        "cast it in the transform, or name another table"
    )
    assert (DeltaTable(tmp_path).version(), table.positions([P0])) == (before, {P0: 0})


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ({"partition_by": ["id"]}, "it is partitioned by id"),
        ({"configuration": {"delta.enableDeletionVectors": "true"}}, "it has delta.enableDeletionVectors = true"),
        (
            {"schema": [strict("id", "long", **{"delta.generationExpression": "1"})]},
            "column id has delta.generationExpression",
        ),
    ],
)
def test_a_table_that_demands_what_nobody_looks_after_is_refused(
    tmp_path: Path, made: dict[str, Any], told: str
) -> None:
    columns = made.pop("schema", json.loads(NARROW)["fields"])
    DeltaTable.create(tmp_path, Schema.from_json(schemas.as_json(columns)), **made)
    with pytest.raises(TableTrouble) as trouble:
        lake(tmp_path).positions([P0])
    assert str(trouble.value) == (
        f"the table {tmp_path}: {told}, which restow does not look after; let it write to another table"
    )


def test_a_plain_table_that_somebody_else_made_is_written(tmp_path: Path) -> None:
    DeltaTable.create(tmp_path, Schema.from_json(WIDE), configuration={"delta.checkpointInterval": "7"})
    table = lake(tmp_path)
    table.begin({P0: 0}, NARROW)
    assert table.commit([], NARROW, {P0: Span(0, 1)}) == ()
    assert DeltaTable(tmp_path).metadata().configuration == {"delta.checkpointInterval": "7"}
