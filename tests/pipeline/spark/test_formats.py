"""Formats, queries and contexts with a real broker, a real Spark and a real schema registry."""

import io
import json
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from typing import Any

import duckdb
import fastavro
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.pipeline.formats.test_protobuf import new
from tests.support.paths import ROOT
from tests.support.registry import SchemaRegistry
from tests.support.spark.live import CYCLE, QUICK, Borrowed, Lake, Reading, opened, reading

from restow.cli.consume import service_of
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.check import Verdict, check
from restow.pipeline.delta.rejects import RejectTable
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import Writer
from restow.pipeline.formats.protobuf import compiled
from restow.pipeline.pipeline import SparkPipeline
from restow.pipeline.run_once import run_once
from restow.pipeline.spark.check import SparkTrial
from restow.pipeline.spark.session import Resources
from restow.pipeline.spark.writing import write_files
from restow.protocol.field_types import RECOVER
from restow.protocol.topic_service import TopicService
from restow.settings import Settings, read_settings

DDL = "id string, n bigint"
LINES = ('{"id": "a", "n": 1}', '{"id": "b", "n": 2, "more": true}', None, "{}")


def rows(lake: Lake, columns: str, table: str | None = None) -> list[tuple[Any, ...]]:
    """In the order of offsets. Older files may lack columns."""
    files = DeltaTable(table or lake.table()).file_uris()
    with duckdb.connect() as engine:
        query = f"SELECT {columns} FROM read_parquet($files, union_by_name = true) ORDER BY _offset, {columns}"
        return engine.execute(query, {"files": files}).fetchall()


def schema_file(lake: Lake, name: str, text: str) -> str:
    file = lake.directory / name
    file.write_text(text)
    return str(file)


def json_schema(lake: Lake) -> str:
    properties = {"id": {"type": "string"}, "n": {"type": "integer"}}
    return schema_file(lake, "schema.json", json.dumps({"type": "object", "properties": properties}))


def reader_of(lake: Lake, topic: str, **definition: Any) -> Reading:
    service = TopicService(table=lake.table(), **{"on_bad_record": "stop", **definition}).for_topic(topic)
    return reading(lake.pipeline(), {topic: service}, {TopicPartition(topic, 0): RECOVER})


def failure(reader: Reading) -> str:
    """A record with a new schema id ends its cycle without one."""
    for _ in range(10):
        for failed in reader.cycle().failures:
            return failed.reason
    raise AssertionError("no cycle failed")


def test_json_becomes_columns_and_a_record_that_does_not_fit_stops_its_table_until_it_is_mended(lake: Lake) -> None:
    topic = lake.topic("json", 1)
    lake.produce(topic, LINES)
    reader = reader_of(lake, topic, format="json", schema=json_schema(lake))
    reader.until(4)
    assert rows(lake, "id, n, _offset") == [("a", 1, 0), ("b", 2, 1), (None, None, 2), (None, None, 3)]
    lake.produce(topic, ['{"id": "c", "n": 3}', '{"id": "d", "n": "many"}'])
    assert failure(reader) == (f"{topic}-0 at offset 5 doesn't parse: it is not a JSON object that fits the schema")
    assert tuple(reader.at.values()) == (4,), "nothing of the cycle is stored"
    wider = schema_file(lake, "wider.ddl", "id string, n string")
    assert (
        "column n"
        in opened(
            lake.pipeline(consumer=2),
            {topic: TopicService(table=lake.table(), format="json", schema=wider)},
            {TopicPartition(topic, 0): RECOVER},
        )
        .refused[0]
        .reason
    ), "the table has it as a number"


def test_a_query_makes_rows_that_lead_back_to_their_records(lake: Lake) -> None:
    topic = lake.topic("sql", 1)
    lake.produce(topic, LINES)
    query = """
        with numbered as (select id, n * 2 as twice from records where n is not null)
        select upper(id) as id, twice, explode(array('x', 'y')) as copy from (select * from numbered)
    """
    reader = reader_of(lake, topic, format="json", schema=schema_file(lake, "schema.ddl", DDL), sql=query)
    reader.until(4)
    assert rows(lake, "id, twice, copy, _offset") == [
        ("A", 2, "x", 0),
        ("A", 2, "y", 0),
        ("B", 4, "x", 1),
        ("B", 4, "y", 1),
    ]
    wrong = TopicService(table=lake.table("wrong"), sql="select nothing from records")
    [refused] = opened(lake.pipeline(), {topic: wrong}, {TopicPartition(topic, 0): RECOVER}).refused
    assert refused.kind == "transform"
    assert refused.reason.startswith("the query in sql failed: AnalysisException: [UNRESOLVED_COLUMN")


def test_a_transform_gets_its_options_and_a_table_that_is_read_again_when_it_changes(lake: Lake) -> None:
    topic, names = lake.topic("context", 1), lake.table("names")
    write_deltalake(names, table_of(id=["a", "b"], name=["Ada", "Barbara"]))
    options: Any = SortedMapping({"least": 0, "names": names})
    reader = reader_of(
        lake,
        topic,
        format="json",
        schema=schema_file(lake, "schema.ddl", DDL),
        transform="transforms_on_spark:joined",
        options=options,
    )
    lake.produce(topic, ['{"id": "a", "n": 1}', '{"id": "a", "n": 0}', '{"id": "c", "n": 1}'])
    reader.until(3)
    write_deltalake(names, table_of(id=["c"], name=["Edsger"]), mode="append")
    lake.produce(topic, ['{"id": "c", "n": 1}'])
    reader.until(4)
    assert rows(lake, "_offset, id, name") == [(0, "a", "Ada"), (2, "c", None), (3, "c", "Edsger")]


def table_of(**columns: list[str]) -> Any:
    return pa.table(columns)


@pytest.mark.parametrize(("format_", "value"), [("text", "grüß"), ("bytes", "grüß".encode())])
def test_text_and_bytes_are_a_column_called_value(lake: Lake, format_: str, value: object) -> None:
    topic = lake.topic(format_, 1)
    lake.produce(topic, ["grüß", None])
    reader = reader_of(lake, topic, format=format_)
    reader.until(2)
    assert rows(lake, "_offset, value") == [(0, value), (1, None)]
    lake.produce(topic, [b"\xff"])
    if format_ == "text":
        assert failure(reader) == f"{topic}-0 at offset 2 doesn't parse: it is not UTF-8 text"
    else:
        reader.until(3)


def avro(schema: dict[str, Any], number: int | None, **record: object) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, record)
    return (b"" if number is None else framed(number)) + body.getvalue()


def framed(number: int) -> bytes:
    return b"\0" + struct.pack(">I", number)


def order(*fields: tuple[str, object, object]) -> dict[str, Any]:
    added = [{"name": name, "type": kind, "default": default} for name, kind, default in fields]
    return {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}, *added]}


def test_avro_of_several_versions_is_read_by_the_newest_also_one_that_comes_in_the_middle_of_a_run(
    lake: Lake, registry: SchemaRegistry
) -> None:
    topic = lake.topic("avro", 1)
    first, second = order(), order(("n", ["null", "long"], None))
    third = order(("n", ["null", "long"], None), ("currency", "string", "EUR"))
    ids = [registry.register(f"{topic}-value", json.dumps(schema)) for schema in (first, second)]
    lake.produce(topic, [avro(first, ids[0], id="a"), avro(second, ids[1], id="b", n=2), None])
    reader = reader_of(lake, topic, format="avro", registry=registry.url)
    reader.until(3)
    assert rows(lake, "id, n, _offset") == [("a", None, 0), ("b", 2, 1), (None, None, 2)]
    newest = registry.register(f"{topic}-value", json.dumps(third))
    lake.produce(topic, [avro(first, ids[0], id="c"), avro(third, newest, id="d", n=4, currency="SEK")])
    reader.until(5)
    assert rows(lake, "id, n, currency, _offset")[3:] == [("c", None, "EUR", 3), ("d", 4, "SEK", 4)]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"plain", "it doesn't begin with a zero byte and the id of a schema"),
        (framed(987654), "the registry has no schema 987654, which it names"),
    ],
)
def test_a_record_without_a_schema_in_the_registry_is_named(
    lake: Lake, registry: SchemaRegistry, value: bytes, reason: str
) -> None:
    topic = lake.topic("unknown", 1)
    number = registry.register(f"{topic}-value", json.dumps(order()))
    lake.produce(topic, [avro(order(), number, id="a"), value])
    reader = reader_of(lake, topic, format="avro", registry=registry.url)
    assert failure(reader) == f"{topic}-0 at offset 1 doesn't parse: {reason}"


def test_avro_without_a_registry_is_read_by_the_schema_of_a_file(lake: Lake) -> None:
    topic, schema = lake.topic("file", 1), order(("n", ["null", "long"], None))
    lake.produce(topic, [avro(schema, None, id="a", n=None), avro(schema, None, id="b", n=7)])
    reader = reader_of(lake, topic, format="avro", schema=schema_file(lake, "order.avsc", json.dumps(schema)))
    reader.until(2)
    assert rows(lake, "id, n") == [("a", None), ("b", 7)]
    lake.produce(topic, [b"\x50"])
    assert failure(reader) == f"{topic}-0 at offset 2 doesn't parse: it is not an Avro record that fits the schema"


def test_json_with_a_registry_has_the_columns_of_its_newest_schema(lake: Lake, registry: SchemaRegistry) -> None:
    topic = lake.topic("json-registry", 1)
    schema = {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}}
    number = registry.register(f"{topic}-value", json.dumps(schema), "JSON")
    lake.produce(topic, [framed(number) + b'{"id": "a", "n": 1}'])
    reader_of(lake, topic, format="json", registry=registry.url).until(1)
    assert rows(lake, "id, n") == [("a", 1)]


PROTO = 'syntax = "proto3"; package shop; message Order { string id = 1; int32 n = 2; }'
NEWER = 'syntax = "proto3"; package shop; message Order { string id = 1; int32 n = 2; repeated string tags = 3; }'


def test_protobuf_is_read_by_the_newest_schema_of_the_registry(lake: Lake, registry: SchemaRegistry) -> None:
    topic = lake.topic("protobuf", 1)
    number = registry.register(f"{topic}-value", PROTO, "PROTOBUF")
    old, late = new(compiled(PROTO, "x", {}), "shop.Order"), new(compiled(NEWER, "x", {}), "shop.Order")
    old.id, old.n = "a", 1
    lake.produce(topic, [framed(number) + b"\0" + old.SerializeToString(), None])
    reader = reader_of(lake, topic, format="protobuf", registry=registry.url)
    reader.until(2)
    assert rows(lake, "id, n") == [("a", 1), (None, None)]
    newest = registry.register(f"{topic}-value", NEWER, "PROTOBUF")
    late.id, late.n = "b", 2
    late.tags.append("new")
    lake.produce(topic, [framed(newest) + b"\0" + late.SerializeToString()])
    reader.until(3)
    assert rows(lake, "id, n, tags")[2:] == [("b", 2, ["new"])]
    lake.produce(topic, [framed(newest) + b"\0\xff"])
    assert failure(reader) == f"{topic}-0 at offset 3 doesn't parse: it is not a Protobuf message that fits the schema"


def test_protobuf_without_a_registry_is_read_by_a_proto_file(lake: Lake) -> None:
    topic = lake.topic("proto-file", 1)
    message = new(compiled(PROTO, "x", {}), "shop.Order")
    message.id, message.n = "a", 1
    lake.produce(topic, [message.SerializeToString()])
    reader_of(lake, topic, format="protobuf", schema=schema_file(lake, "order.proto", PROTO)).until(1)
    assert rows(lake, "id, n") == [("a", 1)]


@pytest.mark.parametrize(
    ("format_", "place", "kind", "reason"),
    [
        ("json", "schema", "transform", "can't be read: No such file or directory; `restow check --infer` writes it"),
        ("avro", "registry", "table", "the registry http://127.0.0.1:1 was asked for /subjects/"),
    ],
)
def test_partitions_without_a_schema_are_refused_with_the_reason(
    lake: Lake, format_: str, place: str, kind: str, reason: str
) -> None:
    topic = lake.topic("missing", 1)
    where: Any = {"schema": str(lake.directory / "none.json"), "registry": "http://127.0.0.1:1"}
    service = TopicService(table=lake.table(), format=format_, **{place: where[place]}).for_topic(topic)
    [refused] = opened(lake.pipeline(), {topic: service}, {TopicPartition(topic, 0): RECOVER}).refused
    assert refused.kind == kind
    assert reason in refused.reason


EXAMPLE = ROOT / "examples" / "formats"


@pytest.fixture
def example(lake: Lake, registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A copy of the example, with this test's servers. Its program has written the records."""
    directory = lake.directory / "formats"
    shutil.copytree(EXAMPLE, directory)
    file = directory / "restow.toml"
    text = file.read_text().replace("127.0.0.1:9092", lake.kafka.bootstrap)
    file.write_text(text.replace("http://127.0.0.1:8081", registry.url))
    subprocess.run((sys.executable, directory / "produce.py"), check=True, capture_output=True)
    monkeypatch.syspath_prepend(str(directory))
    settings = read_settings(file.read_text(), str(file), {}).in_directory(str(directory))
    return replace(settings, consumer=CYCLE, spark=QUICK)


class BorrowedTrial(SparkTrial):
    """Leaves the session running, which is the module's."""

    def close(self) -> None:
        self._engine._worker.close()


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # PySpark's collect() leaves one open
def test_the_example_has_its_schema_inferred_is_found_right_and_makes_a_table_of_each_topic(
    lake: Lake, example: Settings
) -> None:
    trial = BorrowedTrial(example)
    findings = list(check(example, lambda: trial, str, infers=True))
    trial.close()
    assert [str(each) for each in findings if each.verdict != Verdict.RIGHT] == []
    [inferred] = [each.words for each in findings if each.subject == "[consume.events] schema"]
    # Of the newest 20 one is a tombstone.
    assert inferred == (
        f"wrote {example.located('events.json')} from 19 records: id, at, tags, author; look at it, it is yours now"
    )
    topics = ("events", "sales", "receipts", "logs", "raw", "orders", "eu-visits", "us-visits")
    services = {topic: service_of(example, topic, "restow.toml") for topic in topics}
    writer = Writer("formats", 0, 7)
    pipeline = SparkPipeline(
        example,
        Borrowed(example, Resources(cores=1.0)),
        lambda table: DeltaSink(example.located(table), writer, example.table, write_files),
        lambda table: RejectTable(example.located(table), writer, example.table, write_files),
    )
    lake.pipelines.append(pipeline)
    done = run_once(example, pipeline, [TopicPartition(topic, 0) for topic in topics], services, lambda: False)
    assert (done.is_whole, done.records) == (True, 20 * 9 + 1)

    def table(name: str, columns: str) -> list[tuple[Any, ...]]:
        return rows(lake, columns, example.located(f"lake/{name}"))

    assert table("events", "id, tags, author")[::20] == [
        ("id-0", ["a", "b"], {"user": 0}),
        (None, None, None),
    ], "the last one is a tombstone"
    assert table("sales", "id, amount, currency, country_name")[:3] == [
        ("id-10", 10.0, "EUR", None),
        ("id-10", 10.0, "SEK", None),
        ("id-11", 11.0, "EUR", "Germany"),
    ]
    assert table("receipts", "id, euros, method")[:2] == [("id-1", 1.0, "CARD"), ("id-2", 2.0, "TRANSFER")]
    assert table("logs", "level, line")[0] == ("INFO", "INFO line 0")
    assert table("raw", "value")[7] == (b"\x07",)
    assert [len(table(f"{continent}-visits", "visitor")) for continent in ("eu", "us")] == [20, 20]
    days = [DeltaTable(example.located(f"lake/{continent}-visits")).partitions() for continent in ("eu", "us")]
    assert days == [[{"at_day": "2026-03-01"}]] * 2
    assert table("orders", "id, customer")[:2] == [("id-0", "c-0"), ("id-1", "c-1")]
    assert table("order_lines", "id, article, pieces")[:2] == [("id-0", "article-0", 1), ("id-0", "article-1", 2)]
