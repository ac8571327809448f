"""A consumer without partitions rehearses: with a real broker and a real Spark, in this process."""

import pytest
from tests.support.spark.live import Lake, of, reading

from restow.consumer.effects import RunCycle
from restow.consumer.pipeline import ShouldEnd
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.pipeline import REHEARSALS, SparkPipeline
from restow.pipeline.sinks import Batch, Stored
from restow.pipeline.spark.engine import Engine, SparkEnded
from restow.pipeline.spark.warm_up import ScratchSink
from restow.protocol.field_types import RECOVER, Options
from restow.protocol.topic_service import TopicService

TRANSFORMS = "tests.support.transforms.transforms_on_spark"
IDLE = RunCycle(SortedMapping(), SortedMapping())


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[TopicPartition]]:
    """What each rehearsal has read."""
    found: list[frozenset[TopicPartition]] = []
    rehearse = Engine.rehearse

    def recorded(self: Engine, should_end: ShouldEnd) -> frozenset[TopicPartition]:
        found.append(rehearse(self, should_end))
        return found[-1]

    monkeypatch.setattr(Engine, "rehearse", recorded)
    return found


def idle(pipeline: SparkPipeline, should_end: ShouldEnd = lambda: False) -> None:
    ended = pipeline.cycle(IDLE, should_end)
    assert (ended.records, dict(ended.positions), ended.failures) == (0, {}, ())


def test_it_plans_every_table_shows_records_to_no_transform_and_stores_nothing(
    lake: Lake, read: list[frozenset[TopicPartition]], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing, several = lake.topic("failing", 2), lake.topic("several", 1)
    tables: Options = SortedMapping({"first": lake.table("first"), "second": lake.table("second")})
    consume = {
        failing: TopicService(lake.table("failing"), f"{TRANSFORMS}:never_seven", lineage=False),
        several: TopicService(transform=f"{TRANSFORMS}:both", lineage=False, options=tables),
    }
    pipeline = lake.pipeline(consume=consume)
    assert not pipeline.broken_transforms(consume.values(), lambda: False)
    lake.write(failing, {0: 8, 1: 3})  # the transform fails on the last record of partition 0
    lake.write(several, {0: 3})
    planned: list[tuple[tuple[str, ...], int]] = []
    store = ScratchSink.store

    def recorded(self: ScratchSink, batch: Batch) -> Stored:
        planned.append((tuple(batch.rows.columns), batch.records))
        return store(self, batch)

    monkeypatch.setattr(ScratchSink, "store", recorded)
    idle(pipeline)
    assert read == [frozenset(of(failing, 0, 1) + of(several, 0))]
    assert {columns: count for columns, count in planned if "type" not in columns} == {
        ("number",): 0,
        ("value",): 0,
        ("value", "table"): 0,
    }
    assert not list(lake.directory.iterdir()), "no table"
    assert lake.logged == []


def test_it_rehearses_a_few_times_and_never_again_after_real_work(
    lake: Lake, read: list[frozenset[TopicPartition]]
) -> None:
    topic = lake.topic("few", 1)
    pipeline = lake.pipeline()
    for _ in range(REHEARSALS + 2):
        idle(pipeline)
    assert len(read) == REHEARSALS
    lake.write(topic, {0: 5})
    reading(pipeline, {topic: TopicService(table=lake.table())}, {TopicPartition(topic, 0): RECOVER}).until(5)
    assert len(read) == REHEARSALS
    assert lake.rows("_offset") == [(offset,) for offset in range(5)]


def test_a_command_that_waits_ends_it(lake: Lake) -> None:
    topic = lake.topic("cut", 1)
    lake.write(topic, {0: 5})
    services = {topic: TopicService(lake.table(), f"{TRANSFORMS}:slow")}
    pipeline = lake.pipeline(consume=services)
    polls = iter([False] * 30)  # of the idle wait and of the rehearsal's first steps
    idle(pipeline, lambda: next(polls, True))
    reader = reading(pipeline, {topic: TopicService(table=lake.table())}, {TopicPartition(topic, 0): RECOVER})
    reader.until(5)
    assert lake.rows("_offset") == [(offset,) for offset in range(5)], "the cancelled jobs disturb no cycle"


def test_a_spare_whose_spark_has_ended_says_so(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_store(self: ScratchSink, batch: Batch) -> Stored:
        raise ConnectionError(f"nothing answers for {self.name} of {batch.records} records")

    def has_ended(self: Engine, error: Exception) -> None:
        raise SparkEnded(f"{type(self).__name__}: {error}")

    pipeline = lake.pipeline()
    idle(pipeline)
    monkeypatch.setattr(ScratchSink, "store", no_store)
    idle(pipeline)  # the session is alive: a rehearsal that fails is no harm
    monkeypatch.setattr(Engine, "_check_alive", has_ended)
    with pytest.raises(SparkEnded, match="nothing answers for the warm-up"):
        idle(pipeline)
