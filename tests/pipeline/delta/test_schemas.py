"""Schema evolution: columns that are added, and the messages for batches and tables that are refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Array, DataType
from deltalake import DeltaTable, QueryBuilder, Schema
from tests.support.delta.lake import P0, P1, adopt, lake, parquet, schema

from restow.pipeline.delta import schemas
from restow.pipeline.delta.errors import DeltaTableError, SchemasDiffer
from restow.pipeline.delta.fitting import Fitting
from restow.pipeline.sinks import Span, TableRules

NARROW = schema(("id", "long"))
WIDE = schema(("id", "long"), ("name", "string"))


def struct(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": [strict(name, kind) for name, kind in fields]}


def strict(name: str, kind: Any, **metadata: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": False, "metadata": metadata}


def loose(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def test_every_created_column_is_nullable_at_every_depth() -> None:
    strictest = [
        strict("s", struct(("q", "long"))),
        strict("a", {"type": "array", "elementType": struct(("q", "date")), "containsNull": False}),
        strict("m", {"type": "map", "keyType": "string", "valueType": "decimal(9,2)", "valueContainsNull": False}),
    ]
    inner = {"type": "struct", "fields": [loose("q", "date")]}
    assert schemas.table_columns(schemas.as_json(strictest)) == [
        loose("s", {"type": "struct", "fields": [loose("q", "long")]}),
        loose("a", {"type": "array", "elementType": inner, "containsNull": True}),
        loose("m", {"type": "map", "keyType": "string", "valueType": "decimal(9,2)", "valueContainsNull": True}),
    ]


@pytest.mark.parametrize(
    ("table", "batch", "message"),
    [
        (
            [loose("id", "long")],
            [loose("id", "string")],
            "column id is long in the table and string in the batch; cast it in the transform, or name another table",
        ),
        (
            [loose("s", struct(("q", "long")))],
            [loose("s", struct(("q", "double")))],
            "column s.q is long in the table and double in the batch; cast it in the transform, or name another table",
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
            "columns n and N of the batch differ only in case; rename one of them",
        ),
        (
            [loose("id", "long")],
            [loose("id", "void")],
            "column id of the batch is void, which Delta does not support; cast it in the transform",
        ),
        (
            [strict("id", "long")],
            [loose("id", "long")],
            "column id may not be null in the table, but it is nullable or missing in the batch",
        ),
    ],
)
def test_a_misfit_is_reported_by_column(table: list[dict[str, Any]], batch: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(DeltaTableError) as error:
        schemas.fit(schemas.as_json(table), schemas.as_json(batch))
    assert str(error.value).partition(". The table has ")[0] == message


def test_a_batch_that_fits_adds_no_columns() -> None:
    assert schemas.fit(WIDE, NARROW) == ([], {})
    not_null = schemas.as_json([strict("id", "long")])
    assert schemas.fit(not_null, not_null) == ([], {})


def test_missing_fields_are_added_to_a_struct() -> None:
    table = schemas.as_json([loose("s", {"type": "struct", "fields": [loose("q", "long")]})])
    batch = schemas.as_json([loose("s", {"type": "struct", "fields": [loose("r", "date")]})])
    both = {"type": "struct", "fields": [loose("q", "long"), loose("r", "date")]}
    assert schemas.fit(table, batch) == ([loose("s", both)], {})


def test_a_new_column_is_added_and_is_null_in_older_rows(tmp_path: Path) -> None:
    table, other = lake(tmp_path, 1), lake(tmp_path, 2)
    table.register({P0: 0, P1: 0}, NARROW)
    narrow = parquet({"id": Array([1], DataType.int64())})
    wide = parquet({"id": Array([2], DataType.int64()), "name": Array(["b"], DataType.string())})
    assert table.commit([adopt(table, narrow, 1, keep=True)], NARROW, {P0: Span(0, 1)}) == ()
    assert other.commit([adopt(other, wide, 1)], WIDE, {P1: Span(0, 1)}) == ()
    assert table.commit([adopt(table, narrow, 1)], NARROW, {P0: Span(1, 2)}) == (), "the old schema still fits"
    rows = (
        QueryBuilder()
        .register("t", DeltaTable(tmp_path))
        .execute("SELECT id, name FROM t ORDER BY id, name")
        .read_all()
    )
    assert list(zip(rows["id"].to_pylist(), rows["name"].to_pylist(), strict=True)) == [(1, None), (1, None), (2, "b")]


def test_a_commit_between_the_comparison_and_the_added_columns_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, other = lake(tmp_path, 1), lake(tmp_path, 2)
    table.register({P0: 0}, NARROW)
    fit = Fitting.fit

    def other_commits_first(*arguments: Any, **more: Any) -> None:
        monkeypatch.undo()
        assert other.commit([], NARROW, {P0: Span(0, 2)}) == ()
        fit(*arguments, **more)

    monkeypatch.setattr(Fitting, "fit", other_commits_first)
    assert table.commit([], WIDE, {P0: Span(0, 3)}) == (P0,)
    assert table.positions([P0]) == {P0: 2}


def test_a_batch_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    table = lake(tmp_path)
    table.register({P0: 0}, NARROW)
    before = DeltaTable(tmp_path).version()
    texts = parquet({"id": Array(["x"], DataType.string())})
    with pytest.raises(DeltaTableError) as error:
        table.commit([adopt(table, texts, 1)], schema(("id", "string")), {P0: Span(0, 1)})
    assert str(error.value) == (
        f"the table {tmp_path}: column id is long in the table and string in the batch; "
        "cast it in the transform, or name another table. The table has (id long), the batch (id string)"
    )
    assert (DeltaTable(tmp_path).version(), table.positions([P0])) == (before, {P0: 0})


@pytest.mark.parametrize(
    ("have", "batch", "cast"),
    [
        ("long", "integer", "long"),
        ("double", "float", "double"),
        ("double", "short", "double"),
        ("decimal(12,2)", "integer", "decimal(12,2)"),
        ("decimal(12,3)", "decimal(9,2)", "decimal(12,3)"),
        (
            {"type": "array", "elementType": struct(("q", "long"), ("r", "date")), "containsNull": True},
            {"type": "array", "elementType": struct(("q", "byte")), "containsNull": True},
            "array<struct<`q`: long>>",
        ),
    ],
)
def test_a_narrower_type_of_the_batch_is_widened_to_the_table_s(have: Any, batch: Any, cast: str) -> None:
    found = schemas.fit(schemas.as_json([loose("a", have)]), schemas.as_json([loose("a", batch)]))
    assert found == ([], {"a": cast})


@pytest.mark.parametrize(
    ("have", "batch"),
    [("integer", "long"), ("float", "double"), ("double", "long"), ("decimal(11,2)", "integer"), ("string", "long")],
)
def test_the_table_s_own_types_stay(have: str, batch: str) -> None:
    with pytest.raises(SchemasDiffer):
        schemas.fit(schema(("a", have)), schema(("a", batch)))


def test_without_evolution_a_new_column_is_an_error_with_both_schemas(tmp_path: Path) -> None:
    table, none = lake(tmp_path), TableRules(may_add_columns=False)
    table.register({P0: 0}, NARROW, none)
    with pytest.raises(SchemasDiffer) as error:
        table.commit([], WIDE, {P0: Span(0, 1)}, rules=none)
    assert str(error.value) == (
        f'the table {tmp_path}: the batch has name, which the table lacks, and evolve is "none"; leave it out in the '
        'transform, or write evolve = "add columns". The table has (id long), the batch (id long, name string)'
    )
    assert DeltaTable(tmp_path).schema().to_json() == Schema.from_json(NARROW).to_json()


def test_files_with_a_type_that_became_too_narrow_are_written_again(tmp_path: Path) -> None:
    """Two consumers add a column at the same time, with different types."""
    table, other = lake(tmp_path, 1), lake(tmp_path, 2)
    table.register({P0: 0, P1: 0}, NARROW)
    small = parquet({"id": Array([1], DataType.int64()), "n": Array([7], DataType.int32())})
    files = [adopt(table, small, 1)]
    assert other.commit([], schema(("id", "long"), ("n", "long")), {P1: Span(0, 1)}) == ()
    with pytest.raises(DeltaTableError, match="wider types in the meantime; write it again"):
        table.commit(files, schema(("id", "long"), ("n", "integer")), {P0: Span(0, 1)})
    assert table.positions([P0, P1]) == {P0: 0, P1: 1}


@pytest.mark.parametrize(
    ("partition_by", "reason"),
    [
        (("id",), "it is partitioned by nothing, and partition_by asks for id; correct partition_by, or name another "),
        ((), None),
    ],
)
def test_partition_columns_are_those_of_the_table(
    tmp_path: Path, partition_by: tuple[str, ...], reason: str | None
) -> None:
    table = lake(tmp_path)
    table.register({P0: 0}, WIDE)
    if reason is None:
        table.register({P0: 0}, WIDE, TableRules(partition_by))
        return
    with pytest.raises(DeltaTableError, match=reason):
        table.register({P0: 0}, WIDE, TableRules(partition_by))


@pytest.mark.parametrize(
    ("columns", "partition_by", "reason"),
    [
        ((("id", "long"),), ("day",), "partition_by has day, but the rows have only id"),
        (
            (("id", "long"), ("at", "timestamp")),
            ("at",),
            "partition_by has at, which is timestamp; it must ",
        ),
        ((("id", "long"),), ("id",), "partition_by has all columns of the rows; at least one must be left"),
    ],
)
def test_a_table_can_t_be_partitioned_by(
    tmp_path: Path, columns: tuple[tuple[str, str], ...], partition_by: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(DeltaTableError, match=reason):
        lake(tmp_path).register({P0: 0}, schema(*columns), TableRules(partition_by))
    assert not (tmp_path / "_delta_log").exists()


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"configuration": {"delta.enableDeletionVectors": "true"}}, "it has delta.enableDeletionVectors = true"),
        (
            {"schema": [strict("id", "long", **{"delta.generationExpression": "1"})]},
            "column id has delta.generationExpression",
        ),
    ],
)
def test_a_table_with_unsupported_features_is_refused(tmp_path: Path, made: dict[str, Any], reason: str) -> None:
    columns = made.pop("schema", json.loads(NARROW)["fields"])
    DeltaTable.create(tmp_path, Schema.from_json(schemas.as_json(columns)), **made)
    with pytest.raises(DeltaTableError) as error:
        lake(tmp_path).positions([P0])
    assert str(error.value) == (
        f"the table {tmp_path}: {reason}, which restow does not support; let restow write to another table"
    )


def test_a_plain_table_of_another_program_is_written(tmp_path: Path) -> None:
    DeltaTable.create(tmp_path, Schema.from_json(WIDE), configuration={"delta.checkpointInterval": "7"})
    table = lake(tmp_path)
    table.register({P0: 0}, NARROW)
    assert table.commit([], NARROW, {P0: Span(0, 1)}) == ()
    assert DeltaTable(tmp_path).metadata().configuration == {"delta.checkpointInterval": "7"}
