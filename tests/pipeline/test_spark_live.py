"""The Spark pipeline on a real Kafka and a real Spark, in this process: what is read, stored, refused and said."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest
from confluent_kafka import TopicPartition as Place
from deltalake import DeltaTable

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import AssignmentChanged, CycleEnded, Refused
from restow.consumer.pipeline import Meanwhile, Plans
from restow.consumer.saved import Stage
from restow.kafka.admin import Admin
from restow.kafka.clients import make_admin_client, make_consumer, make_producer
from restow.kafka.topics import wait_until_shown
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.delta import DeltaLake
from restow.pipeline.engine import Engine
from restow.pipeline.session import Resources
from restow.pipeline.spark import SHARE_OF_GRACE, SparkPipeline
from restow.pipeline.staging import Writer
from restow.pipeline.table import TableTrouble
from restow.protocol.messages import RECOVER, Offsets, StartFrom, TopicService
from restow.settings import ClientProperties, Consumer, Group, Kafka, Settings, Spark

QUICK = Spark(properties=ClientProperties({"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}))
"""A session that is up soon and never becomes as fast as it could: right for a few small cycles."""
CYCLE = Consumer(cycle_s=0.3, cycle_bytes=1_000_000, grace_s=4.0)


class Borrowed(Engine):
    """The session is the module's: it outlives this one."""

    def close(self) -> None:
        self._worker.close()


@pytest.fixture(scope="module")
def session(kafka: Kafka) -> Iterator[None]:
    """One for all tests of this file: whoever asks for a session is given it while it runs."""
    engine = Engine(Settings(kafka, spark=QUICK), Resources(cores=1.0, memory_mb=1200), print)
    engine.start(lambda: False)
    yield
    engine.close()


@dataclass
class Lake:
    """Topics of a test's own, what becomes of them, and pipelines that read them."""

    kafka: Kafka
    admin: Admin
    prefix: str
    directory: Path
    said: list[str] = field(default_factory=list)
    pipelines: list[SparkPipeline] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Idempotent: else a batch that has to be sent again comes after those that were sent after it.
        self._producer = make_producer(self.kafka, {"enable.idempotence": True})

    def topic(self, name: str, partitions: int) -> str:
        topic = f"{self.prefix}-{name}"
        self.admin.create_topic(topic, partitions)
        wait_until_shown(self.admin, {topic: partitions})
        return topic

    def table(self, name: str = "table") -> str:
        return str(self.directory / name)

    def write(self, topic: str, counts: Mapping[int, int]) -> None:
        for partition, count in counts.items():
            for number in range(count):
                self._producer.produce(topic, str(number), partition=partition, key="k", headers={"h": b"1"})
        assert self._producer.flush(30) == 0

    def pipeline(self, consumer: int = 1, settings: Consumer = CYCLE, plans: Plans | None = None) -> SparkPipeline:
        whole = Settings(self.kafka, group=Group(self.prefix), consumer=settings, spark=QUICK)
        writer = Writer(self.prefix, consumer, 7)
        pipeline = SparkPipeline(
            whole,
            Borrowed(whole, Resources(cores=1.0), self.said.append),
            lambda uri: DeltaLake(uri, writer, whole.table, self.said.append),
            self.said.append,
            plans,
        )
        self.pipelines.append(pipeline)
        return pipeline

    def staged(self, name: str = "table") -> list[str]:
        """The directories of cycles below the table: of stored ones, and of others."""
        return sorted(str(path) for path in Path(self.table(name)).glob("data/*/*/*"))

    def rows(self, columns: str = "_topic, _partition, _offset", name: str = "table") -> list[tuple[Any, ...]]:
        """Of the table, in the order they are in its files: as DuckDB reads them."""
        files = sorted(DeltaTable(self.table(name)).file_uris())
        if not files:
            return []
        with duckdb.connect() as engine:
            return engine.execute(f"SELECT {columns} FROM read_parquet({files})").fetchall()


@dataclass
class Reading:
    """A pipeline that holds partitions, as a consumer's machine would have it."""

    pipeline: SparkPipeline
    topics: SortedMapping[str, TopicService]
    at: Offsets

    def cycle(self, meanwhile: Meanwhile = lambda: False) -> CycleEnded:
        ended = self.pipeline.cycle(RunCycle(self.at, self.topics), meanwhile)
        self.at = ended.positions
        return ended

    def after_a_cycle(self) -> tuple[int, ...]:
        """Where its partitions are then, in order."""
        return tuple(self.cycle().positions.values())

    def until(self, *ends: int) -> list[CycleEnded]:
        """Cycles until the partitions, in order, are there."""
        cycles: list[CycleEnded] = []
        for _ in range(40):
            if tuple(self.at.values()) == ends:
                return cycles
            cycles.append(self.cycle())
        raise AssertionError(f"the partitions are at {self.at}, and not at {ends}")


@pytest.fixture
def lake(
    session: None,  # noqa: ARG001  it has to be there
    kafka: Kafka,
    admin: Admin,
    prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Lake]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    lake = Lake(kafka, admin, prefix, tmp_path)
    yield lake
    for pipeline in lake.pipelines:
        pipeline.close()


def opened(
    pipeline: SparkPipeline, services: Mapping[str, TopicService], starts: Mapping[TopicPartition, StartFrom]
) -> AssignmentChanged:
    return pipeline.change(ChangeAssignment((), SortedMapping(starts), SortedMapping(services)))


def reading(
    pipeline: SparkPipeline, services: Mapping[str, TopicService], starts: Mapping[TopicPartition, StartFrom]
) -> Reading:
    changed = opened(pipeline, services, starts)
    assert changed.refused == ()
    return Reading(pipeline, SortedMapping(services), changed.started)


def of(topic: str, *numbers: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in numbers]


def test_records_are_stored_as_they_are_from_where_they_are_told_each_once_and_in_order(lake: Lake) -> None:
    topic = lake.topic("plain", 3)
    p0, p1, p2 = of(topic, 0, 1, 2)
    lake.write(topic, {0: 20, 1: 10, 2: 10})
    reader = reading(lake.pipeline(), {topic: TopicService(table=lake.table())}, {p0: 5, p1: RECOVER})
    assert dict(reader.at) == {p0: 5, p1: 0}

    [ended] = reader.until(20, 10)
    assert (ended.records, ended.bytes, ended.saturated) == (25, 25 * len("k") + 5 * 1 + 10 * 2 + 10 * 1, False)
    assert dict(ended.lag_records) == {p0: 0, p1: 0}
    expected = [(0, offset) for offset in range(5, 20)] + [(1, offset) for offset in range(10)]
    stored = lake.rows("_partition, _offset, decode(key), decode(value)::BIGINT, headers[1].key, topic, _topic")
    assert stored == [(p, offset, "k", offset, "h", topic, topic) for p, offset in expected]
    with duckdb.connect() as engine:
        files = DeltaTable(lake.table()).file_uris()
        [apart] = engine.execute(f"SELECT count(*) FROM read_parquet({files}) WHERE timestamp != _timestamp").fetchall()
    assert apart == (0,)

    lake.write(topic, {0: 3})
    reader.until(23, 10)
    assert len(lake.rows()) == 28
    client = make_consumer(lake.kafka, {"group.id": lake.prefix})
    committed = {place.partition: place.offset for place in client.committed([Place(*p) for p in (p0, p1, p2)], 10)}
    client.close()
    assert {number: offset for number, offset in committed.items() if offset >= 0} == {0: 23, 1: 10}

    another = reading(lake.pipeline(consumer=2), {topic: TopicService(table=lake.table())}, {p0: 7, p1: RECOVER})
    assert dict(another.at) == {p0: 23, p1: 10}, "the table knows better"


def test_files_have_statistics_to_be_skipped_by(lake: Lake) -> None:
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


def test_a_transform_that_leaves_out_and_multiplies_records_keeps_their_lineage(lake: Lake) -> None:
    topic = lake.topic("doubled", 1)
    lake.write(topic, {0: 5})
    service = TopicService(table=lake.table(), transform="transforms_on_spark:doubled")
    reading(lake.pipeline(), {topic: service}, {TopicPartition(topic, 0): 0}).until(5)
    rows = lake.rows("number, copy, _topic, _partition, _offset")
    assert rows == [(n, copy, topic, 0, n) for n in (0, 2, 4) for copy in ("a", "b")]


def test_a_join_keeps_the_lineage_that_it_names_and_an_aggregate_does_without(lake: Lake) -> None:
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
        "transforms_on_spark:SECONDS": (
            "the transform transforms_on_spark:SECONDS is no function; it must take a DataFrame and give one"
        ),
        "transforms_on_spark:no_frame": (
            "the transform transforms_on_spark:no_frame gave a value of type int; it must give a DataFrame"
        ),
        "transforms_on_spark:counted": (
            "the transform transforms_on_spark:counted can't be used: it gives no _topic, _partition, _offset, "
            "_timestamp, and they can't be carried through a join or an aggregate; keep them (… .select(…, '_topic', "
            "'_partition', '_offset', '_timestamp')), or write lineage = false"
        ),
    }
    pipeline = lake.pipeline()
    for transform, reason in reasons.items():
        service = TopicService(table=lake.table(), transform=transform)
        assert opened(pipeline, {topic: service}, {partition: 0}).refused == (
            Refused((partition,), "transform", reason),
        )
    assert not Path(lake.table()).exists()


def test_two_topics_go_into_one_table_and_each_keeps_its_place(lake: Lake) -> None:
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


def test_what_an_aborted_transaction_wrote_is_not_stored(lake: Lake) -> None:
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


def test_records_that_were_deleted_before_they_were_read_are_said_counted_and_passed(lake: Lake) -> None:
    topic = lake.topic("gap", 2)
    lake.write(topic, {0: 10, 1: 6})
    reader = reading(lake.pipeline(), {topic: TopicService(table=lake.table())}, dict.fromkeys(of(topic, 0, 1), 1))
    deleted_before(lake, topic, {0: 4, 1: 6})
    reader.until(10, 6)
    assert lake.rows("_partition, _offset") == [(0, offset) for offset in range(4, 10)]
    assert sorted(lake.said) == [
        f"{topic}-0: the 3 records from 1 to 3 were deleted before they were read",
        f"{topic}-1: the 5 records from 1 to 5 were deleted before they were read",
    ]
    assert reader.pipeline.missed_records == 8
    positions = DeltaLake(lake.table(), Writer(lake.prefix, 1, 7), Settings(lake.kafka).table, print)
    assert positions.positions(of(topic, 0, 1)) == dict(zip(of(topic, 0, 1), (10, 6), strict=True))


def test_where_a_gap_is_to_stop_it_the_partition_is_given_up_and_not_opened_again(lake: Lake) -> None:
    topic = lake.topic("stop", 2)
    lake.write(topic, {0: 10, 1: 6})
    service = TopicService(table=lake.table(), on_gap="stop")
    p0, p1 = of(topic, 0, 1)
    reader = reading(lake.pipeline(), {topic: service}, {p0: 1, p1: 0})
    deleted_before(lake, topic, {0: 4})
    reason = (
        f'{topic}-0: the 3 records from 1 to 3 were deleted before they were read, and its topic has on_gap = "stop"'
    )
    ended = reader.cycle()
    assert ended.dropped == (Refused((p0,), "gap", reason),)
    assert dict(ended.positions) == {p1: 6}
    again = opened(lake.pipeline(), {topic: service}, {p0: 1, p1: RECOVER})
    assert (dict(again.started), again.refused) == ({p1: 6}, (Refused((p0,), "gap", reason),))


def test_a_late_consumer_is_refused_drops_what_it_lost_and_goes_on_with_the_rest(lake: Lake) -> None:
    topic = lake.topic("late", 2)
    lake.write(topic, {0: 5, 1: 5})
    p0, p1 = of(topic, 0, 1)
    service = TopicService(table=lake.table())
    late = reading(lake.pipeline(consumer=1), {topic: service}, {p0: 0, p1: 0})
    reading(lake.pipeline(consumer=2), {topic: service}, {p0: RECOVER}).until(5)

    ended = late.cycle()
    reason = (
        f"{topic}-0 was to go on at 0, but the table {lake.table()} has it elsewhere: another consumer took it over"
    )
    assert ended.dropped == (Refused((p0,), "replaced", reason),)
    assert (ended.records, dict(ended.positions)) == (0, {p1: 0})
    assert len(lake.staged()) == 1, "those of the one who was faster"
    late.until(5)
    assert sorted(lake.rows("_partition, _offset")) == [(p, offset) for p in (0, 1) for offset in range(5)]


def test_where_the_answer_to_a_commit_got_lost_the_table_is_asked_before_anything_goes_on(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, eventually: Callable[[Callable[[], object]], None]
) -> None:
    topic = lake.topic("lost", 1)
    lake.write(topic, {0: 5})
    reader = reading(lake.pipeline(), {topic: TopicService(table=lake.table())}, {TopicPartition(topic, 0): 0})
    commit = DeltaLake.commit

    def commit_and_lose_the_answer(self: DeltaLake, *arguments: Any) -> tuple[TopicPartition, ...]:
        commit(self, *arguments)
        raise TableTrouble(f"the table {lake.table()} can't be used: connection reset")

    with monkeypatch.context() as patched:
        patched.setattr(DeltaLake, "commit", commit_and_lose_the_answer)
        assert reader.after_a_cycle() == (0,), "nobody said that it was stored"
    lake.write(topic, {0: 5})
    eventually(lambda: reader.after_a_cycle() == (10,))
    assert lake.rows("_offset") == [(offset,) for offset in range(10)]
    assert lake.said == [
        f"the table {lake.table()} can't be used: connection reset; it is tried again after a while, others go on",
        f"the table {lake.table()} is written again",
    ]


@dataclass
class Notebook:
    """Plans as a volume keeps them, and all that were ever written."""

    now: tuple[Stage, ...] = ()
    written: list[tuple[Stage, ...]] = field(default_factory=list)

    def read_plan(self) -> tuple[Stage, ...]:
        return self.now

    def write_plan(self, stages: tuple[Stage, ...]) -> None:
        self.now = stages
        self.written.append(stages)

    def forget_plan(self) -> None:
        self.now = ()


def test_a_plan_is_written_for_each_cycle_that_stores_something_and_forgotten_when_it_has(lake: Lake) -> None:
    stored, counted = lake.topic("planned", 2), lake.topic("planned-too", 1)
    services = {stored: TopicService(table=lake.table()), counted: TopicService()}
    p0, p1, p2 = *of(stored, 0, 1), *of(counted, 0)
    notebook = Notebook()
    reader = reading(lake.pipeline(plans=notebook), services, dict.fromkeys((p0, p1, p2), RECOVER))
    assert reader.after_a_cycle() == (0, 0, 0)
    assert notebook.written == [], "nothing was there"
    lake.write(stored, {0: 3})
    lake.write(counted, {0: 4})
    reader.until(3, 0, 4)
    stages = [stage for plan in notebook.written for stage in plan]
    [directory] = lake.staged()
    assert sorted(stages, key=lambda stage: stage.table) == [
        Stage("", "", SortedMapping({p2: 0}), SortedMapping({p2: 4})),
        Stage(
            lake.table(), str(Path(directory).relative_to(lake.table())), SortedMapping({p0: 0}), SortedMapping({p0: 3})
        ),
    ]
    assert notebook.now == ()


def jobs_so_far() -> int:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    return int(session._jsc.sc().dagScheduler().nextJobId())


def test_a_cycle_without_data_starts_no_job_and_ends_at_once_when_somebody_wants_a_word(lake: Lake) -> None:
    topic = lake.topic("idle", 3)
    reader = reading(
        lake.pipeline(settings=Consumer(cycle_s=1.0)),
        {topic: TopicService(table=lake.table())},
        dict.fromkeys(of(topic, 0, 1, 2), 0),
    )
    jobs, calls = jobs_so_far(), 0

    def listening() -> bool:
        nonlocal calls
        calls += 1
        return False

    before_s = time.process_time()
    idle = reader.cycle(listening)
    cpu_s = time.process_time() - before_s
    wanted = reader.cycle(lambda: True)
    assert (idle.records, idle.saturated, wanted.records, jobs_so_far()) == (0, False, 0, jobs)
    assert wanted.took_s < 0.5 < 0.9 < idle.took_s
    assert calls >= 5
    assert cpu_s < 0.3 * idle.took_s


def test_a_cycle_ends_at_its_limit_fairly_and_tells_that_there_was_more(lake: Lake) -> None:
    topic = lake.topic("limit", 2)
    lake.write(topic, {0: 3000, 1: 10})
    service = TopicService(table=lake.table())
    settings = Consumer(cycle_s=1.0, cycle_bytes=200_000)
    reader = reading(lake.pipeline(settings=settings), {topic: service}, dict.fromkeys(of(topic, 0, 1), 0))
    first = reader.cycle()
    # Nothing is known of the records before the first of them was seen: each counts as 1000 bytes.
    assert (tuple(first.positions.values()), first.saturated) == ((190, 10), True)
    assert tuple(first.lag_records.values()) == (2810, 0)
    second = reader.cycle()
    assert (tuple(second.positions.values()), second.saturated) == ((3000, 10), False)


def test_a_table_that_cannot_be_written_is_tried_again_while_others_go_on(
    lake: Lake, eventually: Callable[[Callable[[], object]], None]
) -> None:
    stuck, free = lake.topic("stuck", 1), lake.topic("free", 1)
    services = {stuck: TopicService(table=lake.table("stuck")), free: TopicService(table=lake.table("free"))}
    starts: dict[TopicPartition, StartFrom] = dict.fromkeys([*of(free, 0), *of(stuck, 0)], RECOVER)
    reader = reading(lake.pipeline(), services, starts)
    data = Path(lake.table("stuck"), "data")
    data.write_text("in the way of the files")
    lake.write(stuck, {0: 2})
    lake.write(free, {0: 3})
    eventually(lambda: reader.after_a_cycle() and len(lake.said) == 1)
    lake.write(free, {0: 1})
    eventually(lambda: reader.after_a_cycle() == (4, 0))
    data.unlink()
    eventually(lambda: reader.after_a_cycle() == (4, 2))
    assert lake.rows("_offset", "stuck") == [(0,), (1,)]
    failed, mended = lake.said
    assert failed.startswith(f"the records can't be written to the table {lake.table('stuck')}: ")
    assert failed.endswith("; it is tried again after a while, others go on")
    assert mended == f"the table {lake.table('stuck')} is written again"


def test_a_transform_that_fails_on_a_record_stores_nothing_is_said_once_and_others_go_on(
    lake: Lake, eventually: Callable[[Callable[[], object]], None]
) -> None:
    bad, good = lake.topic("bad", 1), lake.topic("good", 1)
    services = {
        bad: TopicService(table=lake.table("bad"), transform="transforms_on_spark:never_seven"),
        good: TopicService(table=lake.table("good")),
    }
    starts: dict[TopicPartition, StartFrom] = dict.fromkeys([*of(bad, 0), *of(good, 0)], RECOVER)
    reader = reading(lake.pipeline(), services, starts)
    lake.write(bad, {0: 10})
    lake.write(good, {0: 10})
    eventually(lambda: reader.after_a_cycle() == (0, 10))
    for _ in range(3):
        reader.cycle()
    assert lake.rows("*", "bad") == []
    table = lake.table("bad")
    [line] = lake.said
    assert line == (
        f"what the transform transforms_on_spark:never_seven makes can't be written to the table {table}: "
        "PythonException: ValueError: a seven; it is tried again after a while, others go on"
    )


def test_a_cycle_that_somebody_waits_for_too_long_is_dropped_and_nothing_of_it_is_stored(lake: Lake) -> None:
    topic = lake.topic("slow", 1)
    lake.write(topic, {0: 1})
    service = TopicService(table=lake.table(), transform="transforms_on_spark:slow")
    reader = reading(lake.pipeline(), {topic: service}, {TopicPartition(topic, 0): 0})
    begun_s, calls = time.monotonic(), 0

    def waiting() -> bool:
        nonlocal calls
        calls += 1
        return time.monotonic() > begun_s + 1.0

    ended = reader.cycle(waiting)
    took_s = time.monotonic() - begun_s
    assert 1.0 + SHARE_OF_GRACE * CYCLE.grace_s < took_s < 30.0
    assert calls > 5 * took_s, "several times a second"
    assert (ended.records, tuple(ended.positions.values())) == (0, (0,))
    assert lake.rows() == []
    assert lake.said == [
        f"a cycle for the table {lake.table()} is dropped before it was stored, since somebody waits for its end"
    ]
    assert lake.staged() == [], "nothing is left of it"


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


def test_a_topic_goes_on_where_another_group_was(lake: Lake) -> None:
    topic = lake.topic("taken-over", 2)
    p0, p1 = of(topic, 0, 1)
    lake.write(topic, {0: 10, 1: 10})
    client = make_consumer(lake.kafka, {"group.id": f"{lake.prefix}-old"})
    client.commit(offsets=[Place(topic, 0, 6)], asynchronous=False)
    client.close()
    service = TopicService(table=lake.table(), start="latest", from_group=f"{lake.prefix}-old")
    begun = opened(lake.pipeline(), {topic: service}, {p0: RECOVER, p1: RECOVER}).started
    assert dict(begun) == {p0: 6, p1: 10}
