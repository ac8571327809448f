"""Records are parsed once, also if a filter asks for their fields."""

import json

import pytest
from pyspark.sql import DataFrame, SparkSession, functions
from tests.support.spark.live import Lake, reading

from restow.model import TopicPartition
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.sinks import Batch, Stored
from restow.pipeline.spark import engine
from restow.pipeline.spark.parse_once import parsed_once
from restow.protocol.topic_service import TopicService

pytestmark = pytest.mark.spark


def parses(rows: DataFrame) -> int:
    """How often the plan that Spark runs parses a record."""
    return str(rows._jdf.queryExecution().executedPlan().toString()).count("from_json(")


def shown(rows: DataFrame) -> str:
    """As Spark's `show` prints them; `collect` would leave a socket open."""
    return str(rows._jdf.showString(20, 20, False))


def test_a_cycle_parses_its_records_once_although_its_transform_filters(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[int, int]] = []
    store = DeltaSink.store

    def watched(self: DeltaSink, batch: Batch) -> Stored:
        found.append((batch.records, parses(batch.rows)))
        return store(self, batch)

    monkeypatch.setattr(DeltaSink, "store", watched)
    monkeypatch.setattr(engine, "WORTH_FROM_RECORDS", 10)
    topic = lake.topic("once", 1)
    service = TopicService(table=lake.table(), transform="restow.throughput.transform:delivered")
    reader = reading(lake.pipeline(), {topic: service}, {TopicPartition(topic, 0): 0})
    values = [json.dumps({"id": n, "status": "DELIVERED" if n % 2 else "CANCELLED"}) for n in range(20)]
    lake.produce(topic, values[:5])
    reader.until(5)
    lake.produce(topic, values[5:])
    reader.until(20)
    assert found == [(5, 2), (15, 1)], "few records are not worth it"
    assert sorted(lake.rows("id, _offset")) == [(n, n) for n in range(1, 20, 2)]


def test_rows_are_the_same_and_other_plans_are_left_alone(lake: Lake) -> None:  # noqa: ARG001  for its session
    session = SparkSession.builder.getOrCreate()
    texts = [('{"id": 1, "status": "a"}',), ('{"id": 2, "status": "b"}',), ("no JSON",)]
    records = session.createDataFrame(texts, "text string").repartition(1)
    order = functions.from_json("text", "id long, status string").alias("order")
    orders = records.select(order).select("order.*")
    filtered = orders.filter("status = 'a'")
    assert (parses(filtered), parses(parsed_once(filtered))) == (2, 1)
    assert shown(parsed_once(filtered)) == shown(filtered)
    deeper = orders.withColumn("more", functions.col("id") + 1).filter("status = 'b'").select("more")
    assert (parses(deeper), parses(parsed_once(deeper))) == (2, 1)
    assert shown(parsed_once(deeper)) == shown(deeper)
    assert "3" in shown(deeper)
    joined = filtered.join(session.createDataFrame([(1, "one")], "id long, name string"), "id", how="left")
    for rows in (records, orders, records.filter("text > 'a'").select(order), joined, filtered.union(filtered)):
        assert parsed_once(rows) is rows
