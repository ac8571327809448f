"""Partitioned tables, evolving schemas and several tables of one topic, with a real broker and a real Spark."""

from collections.abc import Iterable
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable
from tests.support.delta.lake import schema
from tests.support.spark.live import Lake, Reading, opened, reading

from restow.model import SortedMapping, TopicPartition
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import Writer
from restow.pipeline.spark.writing import write_files
from restow.protocol.field_types import RECOVER
from restow.protocol.topic_service import TopicService
from restow.settings import Table as TableSettings

pytestmark = pytest.mark.spark

DDL = "id string, n long, at timestamp, country string"


def reader_of(lake: Lake, topic: str, **given: Any) -> Reading:
    return reading(lake.pipeline(), {topic: service_of(lake, **given)}, {TopicPartition(topic, 0): RECOVER})


def service_of(lake: Lake, **given: Any) -> TopicService:
    file = lake.directory / "schema.ddl"
    file.write_text(DDL)
    return TopicService(**{"table": lake.table(), "format": "json", "schema": str(file), **given})


def lines(*records: tuple[str, int, str, str | None]) -> Iterable[str]:
    for name, number, at, country in records:
        value = "null" if country is None else f'"{country}"'
        yield f'{{"id": "{name}", "n": {number}, "at": "{at}", "country": {value}}}'


def test_a_table_is_partitioned_by_day_and_country_as_other_engines_read_it(lake: Lake) -> None:
    topic = lake.topic("partitioned", 1)
    reader = reader_of(lake, topic, partition_by=("day(at)", "month(at)", "hour(at)", "country"))
    lake.produce(
        topic,
        lines(
            ("a", 1, "2026-03-01T23:59:00Z", "AT"),
            ("b", 2, "2026-03-02T00:01:00Z", "AT"),
            ("c", 3, "2026-03-02T00:02:00Z", "a/b c%"),
            ("d", 4, "2026-03-02T00:03:00Z", None),
        ),
    )
    reader.until(4)
    rows = pl.read_delta(lake.table()).sort("_offset").select("id", "n", "at_day", "at_month", "at_hour", "country")
    assert [(*row[:2], str(row[2]), *row[3:]) for row in rows.rows()] == [
        ("a", 1, "2026-03-01", "2026-03", "2026-03-01-23", "AT"),
        ("b", 2, "2026-03-02", "2026-03", "2026-03-02-00", "AT"),
        ("c", 3, "2026-03-02", "2026-03", "2026-03-02-00", "a/b c%"),
        ("d", 4, "2026-03-02", "2026-03", "2026-03-02-00", None),
    ]
    table = DeltaTable(lake.table())
    assert table.metadata().partition_columns == ["at_day", "at_month", "at_hour", "country"]
    assert len(table.file_uris()) == 4
    assert table.get_add_actions(flatten=True)["num_records"].to_pylist() == [1, 1, 1, 1]

    names = lake.topic("joined", 1)
    joined = reader_of(
        lake,
        names,
        table=lake.table("joined"),
        transform="transforms_on_spark:countries",
        options=SortedMapping({"names": lake.table()}),
    )
    lake.produce(names, lines(("c", 0, "2026-03-02T00:02:00Z", None), ("x", 0, "2026-03-02T00:02:00Z", None)))
    joined.until(2)
    assert sorted(lake.rows("id, of", "joined")) == [("c", "a/b c%"), ("x", None)], "a partitioned table is joined"


def test_a_partition_column_that_is_missing_or_no_time_is_refused(lake: Lake) -> None:
    topic = lake.topic("missing", 1)
    for entry, reason in (
        ("day(n)", "partition_by has day(n), but n is bigint; it must be a date or timestamp"),
        ("region", "partition_by has region, but the rows have only id, n, at, country, _topic, _partition, _offset"),
    ):
        service = service_of(lake, partition_by=(entry,))
        [refused] = opened(lake.pipeline(), {topic: service}, {TopicPartition(topic, 0): RECOVER}).refused
        assert (refused.kind, refused.reason.startswith(reason)) == ("transform", True), refused.reason


def test_new_columns_are_added_narrow_types_are_widened_and_the_rest_is_an_error_with_both_schemas(lake: Lake) -> None:
    topic = lake.topic("evolving", 1)
    reader_of(lake, topic, sql="select id, n from records", lineage=False)
    lake.produce(topic, lines(("a", 1, "2026-03-01T23:59:00Z", "AT")))
    later = reader_of(lake, topic, sql="select id, cast(n as int) as n, country from records", lineage=False)
    later.until(1)
    assert lake.rows("id, n, country") == [("a", 1, "AT")]
    assert DeltaTable(lake.table()).schema().to_json() == (
        '{"type":"struct","fields":[{"name":"id","type":"string","nullable":true,"metadata":{}},{"name":"n","type":"long",'
        '"nullable":true,"metadata":{}},{"name":"country","type":"string","nullable":true,"metadata":{}}]}'
    )
    for sql, evolve, reason in (
        ("select id, 'x' as n from records", "add columns", "column n is long in the table and string in the batch"),
        ("select id, at from records", "none", 'the batch has at, which the table lacks, and evolve is "none"'),
    ):
        service = service_of(lake, sql=sql, lineage=False, evolve=evolve)
        [refused] = opened(lake.pipeline(), {topic: service}, {TopicPartition(topic, 0): RECOVER}).refused
        assert refused.kind == "table"
        assert refused.reason.startswith(f"the table {lake.table()}: {reason}")
        assert "The table has (id string, n long, country string), the batch (id string, " in refused.reason


def test_each_of_several_tables_gets_what_it_lacks(lake: Lake) -> None:
    topic = lake.topic("several", 1)

    def reader(first: str, second: str) -> Reading:
        return reader_of(lake, topic, **several(lake, first, second))

    reading_both = reader("first", "second")
    lake.write(topic, {0: 4})
    cycles = reading_both.until(4)
    assert (sum(each.records for each in cycles), sum(each.rows for each in cycles)) == (4, 8), "each counts once"

    def offsets(name: str) -> list[int]:
        return sorted(offset for (offset,) in lake.rows("_offset", name))

    assert (offsets("first"), offsets("second")) == ([0, 1, 2, 3], [0, 1, 2, 3])
    # As after a crash between the commits: one table has less.
    behind = DeltaSink(lake.table("behind"), Writer(lake.prefix, 2, 7), TableSettings(), write_files)
    behind.register({TopicPartition(topic, 0): 2}, schema(("value", "binary")))
    lake.write(topic, {0: 2})
    reader("behind", "first").until(6)
    assert (offsets("first"), offsets("behind")) == ([0, 1, 2, 3, 4, 5], [2, 3, 4, 5])

    wrong = service_of(lake, **{**several(lake, "first", "second"), "table": lake.table("own")})
    [refused] = opened(lake.pipeline(), {topic: wrong}, {TopicPartition(topic, 0): RECOVER}).refused
    assert "leave table out, or return one DataFrame" in refused.reason


def several(lake: Lake, first: str, second: str) -> dict[str, Any]:
    tables = SortedMapping({"first": lake.table(first), "second": lake.table(second)})
    nothing = dict.fromkeys(("table", "format", "schema"))
    return {**nothing, "transform": "transforms_on_spark:both", "options": tables}
