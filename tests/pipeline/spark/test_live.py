"""The Spark pipeline with a real broker and a real Spark, in this process: what is read and what is stored."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
from confluent_kafka import TopicPartition as Place
from deltalake import DeltaTable
from tests.support.paths import TRANSFORMS, line_in
from tests.support.spark.live import Lake, of, opened, reading

from restow.consumer.effects import ChangeAssignment
from restow.consumer.events import RefusedPartitions
from restow.kafka.clients import make_admin_client, make_consumer, make_producer
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import Writer
from restow.pipeline.spark.writing import write_files
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.topic_service import TopicService
from restow.settings import Table as TableSettings


def test_records_are_stored_from_the_commanded_offset_once_and_in_order(lake: Lake) -> None:
    topic = lake.topic("plain", 3)
    p0, p1, p2 = of(topic, 0, 1, 2)
    lake.write(topic, {0: 20, 1: 10, 2: 10})
    reader = reading(lake.pipeline(), {topic: TopicService(table=lake.table())}, {p0: 5, p1: RECOVER})
    assert dict(reader.at) == {p0: 5, p1: 0}

    [ended] = reader.until(20, 10)
    assert (ended.records, ended.bytes, ended.saturated) == (25, 25 * len("k") + 5 * 1 + 10 * 2 + 10 * 1, False)
    assert dict(ended.lag_records) == {p0: 0, p1: 0}
    expected = [(0, offset) for offset in range(5, 20)] + [(1, offset) for offset in range(10)]
    stored = lake.rows("_partition, _offset, decode(key), decode(value)::BIGINT, headers[1].key, _topic")
    assert stored == [(p, offset, "k", offset, "h", topic) for p, offset in expected]
    columns = [field.name for field in DeltaTable(lake.table()).schema().fields]
    assert columns == ["key", "value", "headers", "_topic", "_partition", "_offset", "_timestamp"]

    lake.write(topic, {0: 3})
    reader.until(23, 10)
    assert len(lake.rows()) == 28
    client = make_consumer(lake.kafka, {"group.id": lake.prefix})
    committed = {place.partition: place.offset for place in client.committed([Place(*p) for p in (p0, p1, p2)], 10)}
    client.close()
    assert {number: offset for number, offset in committed.items() if offset >= 0} == {0: 23, 1: 10}

    another = reading(lake.pipeline(consumer=2), {topic: TopicService(table=lake.table())}, {p0: 7, p1: RECOVER})
    assert dict(another.at) == {p0: 23, p1: 10}, "the table's position counts"


def test_files_have_statistics_for_data_skipping(lake: Lake) -> None:
    topic = lake.topic("statistics", 1)
    lake.write(topic, {0: 12})
    service = TopicService(table=lake.table(), transform="transforms_on_spark:doubled")
    reading(lake.pipeline(), {topic: service}, {TopicPartition(topic, 0): 0}).until(12)
    [log] = [line for line in _log_of(lake.table()) if "add" in line]
    stats = json.loads(log["add"]["stats"])
    assert (stats["numRecords"], stats["nullCount"]["number"]) == (12, 0)
    least, greatest = stats["minValues"], stats["maxValues"]
    assert (least["number"], greatest["number"], least["copy"], greatest["copy"]) == (0, 10, "a", "b")
    assert (least["_offset"], greatest["_offset"]) == (0, 10)
    assert least["_timestamp"] <= greatest["_timestamp"]
    assert least["_timestamp"].endswith("Z")
    with duckdb.connect() as engine:
        query = f"SELECT type, converted_type FROM parquet_schema({DeltaTable(lake.table()).file_uris()})"
        [kind] = engine.execute(f"{query} WHERE name = '_timestamp'").fetchall()
    assert kind == ("INT64", "TIMESTAMP_MICROS"), "as Delta's readers expect it"


def _log_of(table: str) -> list[dict[str, Any]]:
    files = sorted(Path(table, "_delta_log").glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_a_transform_that_filters_and_explodes_keeps_the_lineage(lake: Lake) -> None:
    topic = lake.topic("doubled", 1)
    lake.write(topic, {0: 5})
    service = TopicService(table=lake.table(), transform="transforms_on_spark:doubled")
    reading(lake.pipeline(), {topic: service}, {TopicPartition(topic, 0): 0}).until(5)
    rows = lake.rows("number, copy, _topic, _partition, _offset")
    assert rows == [(n, copy, topic, 0, n) for n in (0, 2, 4) for copy in ("a", "b")]


def test_a_join_keeps_the_lineage_that_it_selects_and_an_aggregate_has_none(lake: Lake) -> None:
    joined, counted = lake.topic("joined", 2), lake.topic("counted", 1)
    lake.write(joined, {0: 1, 1: 2})
    lake.write(counted, {0: 4})
    services = {
        joined: TopicService(table=lake.table("joined"), transform="transforms_on_spark:kept"),
        counted: TopicService(table=lake.table("counted"), transform="transforms_on_spark:counted", lineage=False),
    }
    starts: dict[TopicPartition, StartFrom] = dict.fromkeys([*of(counted, 0), *of(joined, 0, 1)], RECOVER)
    reading(lake.pipeline(), services, starts).until(4, 1, 2)
    assert sorted(lake.rows("name, _partition, _offset", "joined")) == [("one", 1, 0), ("one", 1, 1), ("zero", 0, 0)]
    assert lake.rows("*", "counted") == [(counted, 4)]


def test_transforms_that_cannot_be_used_are_refused_when_a_partition_is_opened(lake: Lake) -> None:
    topic = lake.topic("refused", 1)
    [partition] = of(topic, 0)
    reasons = {
        "transforms_on_spark:missing": (
            "the transform transforms_on_spark:missing can't be imported: AttributeError: "
            "module 'transforms_on_spark' has no attribute 'missing'"
        ),
        "transforms_on_spark:misspelt": (
            "the transform transforms_on_spark:misspelt failed: AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] "
            "A column, variable, or function parameter with name `valeu` cannot be resolved. Did you mean one of the "
            "following? [`value`, `key`, `headers`, `offset`, `topic`]. SQLSTATE: 42703 "
            f"({line_in(TRANSFORMS / 'transforms_on_spark.py', 'valeu')}, in misspelt)"
        ),
        "transforms_on_spark:SECONDS": (
            "the transform transforms_on_spark:SECONDS is not a function; it must take a DataFrame and return one"
        ),
        "transforms_on_spark:no_frame": (
            "the transform transforms_on_spark:no_frame returned a value of type int; it must return a DataFrame"
        ),
        "transforms_on_spark:counted": (
            "the transform transforms_on_spark:counted can't be used: its rows have no _topic, _partition, _offset, "
            "_timestamp, which can't be carried through a join or an aggregate; keep them (… .select(…, '_topic', "
            "'_partition', '_offset', '_timestamp')), or write lineage = false"
        ),
    }
    pipeline = lake.pipeline()
    for transform, reason in reasons.items():
        service = TopicService(table=lake.table(), transform=transform)
        assert opened(pipeline, {topic: service}, {partition: 0}).refused == (
            RefusedPartitions((partition,), "transform", reason),
        )
    services = [TopicService(transform=name) for name in (*reasons, "transforms_on_spark:doubled")]
    broken = pipeline.broken_transforms([*services, TopicService()], lambda: False)
    assert dict(broken) == reasons, "known before that too"
    assert not Path(lake.table()).exists()


def test_two_topics_share_a_table_and_keep_their_own_positions(lake: Lake) -> None:
    first, second = lake.topic("first", 1), lake.topic("second", 1)
    lake.write(first, {0: 3})
    lake.write(second, {0: 4})
    service = TopicService(table=lake.table())
    both: dict[TopicPartition, StartFrom] = dict.fromkeys([*of(first, 0), *of(second, 0)], RECOVER)
    reader = reading(lake.pipeline(), {first: service, second: service}, both)
    [ended] = reader.until(3, 4)
    assert ended.records == 7
    assert lake.rows() == [(first, 0, n) for n in range(3)] + [(second, 0, n) for n in range(4)]
    assert len(DeltaTable(lake.table()).file_uris()) == 1, "they are read and written together"


def test_records_of_an_aborted_transaction_are_not_stored(lake: Lake) -> None:
    topic = lake.topic("transactions", 1)
    producer = make_producer(lake.kafka, {"transactional.id": lake.prefix})
    producer.init_transactions(30)
    for outcome in ("commit", "abort", "commit"):
        producer.begin_transaction()
        for number in range(5):
            producer.produce(topic, f"{outcome} {number}", partition=0)
        producer.flush(30)
        producer.commit_transaction(30) if outcome == "commit" else producer.abort_transaction(30)
    reader = reading(lake.pipeline(), {topic: TopicService(table=lake.table())}, {TopicPartition(topic, 0): 0})
    reader.until(18)
    assert [row[0] for row in lake.rows("decode(value)")] == [f"commit {n}" for n in range(5)] * 2

    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    producer.flush(30)
    ended = reader.cycle()
    assert (ended.records, tuple(ended.positions.values())) == (0, (18,)), "it may still be aborted"
    producer.commit_transaction(30)
    reader.until(20)
    assert len(lake.rows()) == 11


def deleted_before(lake: Lake, topic: str, offsets: Mapping[int, int]) -> None:
    client = make_admin_client(lake.kafka)
    places = [Place(topic, number, offset) for number, offset in offsets.items()]
    for answer in client.delete_records(places).values():
        answer.result(30)


def test_records_deleted_before_they_were_read_are_logged_counted_and_skipped(lake: Lake) -> None:
    topic = lake.topic("gap", 2)
    lake.write(topic, {0: 10, 1: 6})
    reader = reading(lake.pipeline(), {topic: TopicService(table=lake.table())}, dict.fromkeys(of(topic, 0, 1), 1))
    deleted_before(lake, topic, {0: 4, 1: 6})
    reader.until(10, 6)
    assert lake.rows("_partition, _offset") == [(0, offset) for offset in range(4, 10)]
    assert sorted(lake.logged) == [
        f"{topic}-0: the records from 1 to 3, 3 in all, were deleted before they were read",
        f"{topic}-1: the records from 1 to 5, 5 in all, were deleted before they were read",
    ]
    assert reader.pipeline.missed_records == 8
    positions = DeltaSink(lake.table(), Writer(lake.prefix, 1, 7), TableSettings(), write_files)
    assert positions.positions(of(topic, 0, 1)) == dict(zip(of(topic, 0, 1), (10, 6), strict=True))


def test_with_on_gap_stop_a_partition_with_a_gap_is_dropped_and_not_opened_again(lake: Lake) -> None:
    topic = lake.topic("stop", 2)
    lake.write(topic, {0: 10, 1: 6})
    service = TopicService(table=lake.table(), on_gap="stop")
    p0, p1 = of(topic, 0, 1)
    reader = reading(lake.pipeline(), {topic: service}, {p0: 1, p1: 0})
    deleted_before(lake, topic, {0: 4})
    gap = f"{topic}-0: the records from 1 to 3, 3 in all, were deleted before they were read"
    reason = f'{gap}, and its topic has on_gap = "stop"'
    ended = reader.cycle()
    assert ended.dropped == (RefusedPartitions((p0,), "gap", reason),)
    assert dict(ended.positions) == {p1: 6}
    again = opened(lake.pipeline(), {topic: service}, {p0: 1, p1: RECOVER})
    assert (dict(again.started), again.refused) == ({p1: 6}, (RefusedPartitions((p0,), "gap", reason),))


def test_without_a_table_records_are_counted_and_the_groups_offset_is_the_position(lake: Lake) -> None:
    topic = lake.topic("counted", 1)
    [partition] = of(topic, 0)
    lake.write(topic, {0: 10})
    reader = reading(lake.pipeline(), {topic: TopicService()}, {partition: RECOVER})
    [ended] = reader.until(10)
    assert (ended.records, ended.bytes) == (10, 20)
    stopped = reader.pipeline.change(ChangeAssignment((partition,), SortedMapping(), SortedMapping()))
    assert dict(stopped.stopped) == {partition: 10}
    assert opened(lake.pipeline(), {topic: TopicService()}, {partition: RECOVER}).started == stopped.stopped


def test_a_topic_starts_at_the_offsets_of_another_group(lake: Lake) -> None:
    topic = lake.topic("taken-over", 2)
    p0, p1 = of(topic, 0, 1)
    lake.write(topic, {0: 10, 1: 10})
    client = make_consumer(lake.kafka, {"group.id": f"{lake.prefix}-old"})
    client.commit(offsets=[Place(topic, 0, 6)], asynchronous=False)
    client.close()
    service = TopicService(table=lake.table(), start="latest", from_group=f"{lake.prefix}-old")
    begun = opened(lake.pipeline(), {topic: service}, {p0: RECOVER, p1: RECOVER}).started
    assert dict(begun) == {p0: 6, p1: 10}
