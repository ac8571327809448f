"""The light pipeline on a real Kafka, in this process: where partitions begin, what a cycle takes, and what becomes
of tables that can't be written.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import TopicPartition as Place
from tests.support.paths import TRANSFORMS, line_in

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import CycleEnded
from restow.kafka.admin import Admin
from restow.kafka.clients import make_admin_client, make_consumer, make_producer
from restow.kafka.topics import wait_until_shown
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.light import table as light_table
from restow.pipeline.light.pipeline import LightPipeline
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.messages.reports import Failure, Gap
from restow.protocol.topic_service import TopicService
from restow.settings import Consumer, Group, Kafka, Settings

CYCLE = Consumer(cycle_s=0.5, cycle_bytes=50_000)
RECORD = b"r" * 100

T = TypeVar("T")


@dataclass
class Bench:
    """A topic of three partitions and another of one, and pipelines to read them."""

    kafka: Kafka
    topic: str
    directory: Path
    pipelines: list[LightPipeline] = field(default_factory=list)

    def __post_init__(self) -> None:
        # A broker never gives less than a batch, however little was asked for: with small ones, limits show.
        self._producer = make_producer(self.kafka, {"acks": "all", "batch.size": 10_000})
        self.other_topic = f"{self.topic}-other"
        self.table = self.directory / "table.db"
        self.service = TopicService(table=str(self.table))

    def pipeline(self, consumer: Consumer = CYCLE, group: str | None = None) -> LightPipeline:
        settings = Settings(self.kafka, group=Group(group or self.topic), consumer=consumer)
        pipeline = LightPipeline(settings)
        self.pipelines.append(pipeline)
        return pipeline

    def write(self, counts: Mapping[int, int], timestamp_ms: int = 0, topic: str | None = None) -> None:
        for partition, count in counts.items():
            for _ in range(count):
                self._producer.produce(topic or self.topic, RECORD, partition=partition, timestamp=timestamp_ms)
        assert self._producer.flush(30) == 0

    def at(self, offsets: Mapping[int, T]) -> SortedMapping[TopicPartition, T]:
        return SortedMapping({TopicPartition(self.topic, number): offset for number, offset in offsets.items()})

    def opened(
        self, pipeline: LightPipeline, starts: Mapping[int, StartFrom], service: TopicService | None = None
    ) -> dict[int, int]:
        topics = SortedMapping({self.topic: service or self.service})
        changed = pipeline.change(ChangeAssignment((), self.at(starts), topics))
        assert changed.refused == ()
        return {partition.partition: at for partition, at in changed.started.items()}

    def cycle(
        self,
        pipeline: LightPipeline,
        positions: Mapping[int, int],
        service: TopicService | None = None,
        should_end: Callable[[], bool] = lambda: False,
    ) -> CycleEnded:
        topics = SortedMapping({self.topic: service or self.service})
        return pipeline.cycle(RunCycle(self.at(positions), topics), should_end)

    def first_cycle(
        self, pipeline: LightPipeline, positions: Mapping[int, int], service: TopicService | None = None
    ) -> CycleEnded:
        """The first that reads something: until then the client is still connecting."""
        for _ in range(100):
            ended = self.cycle(pipeline, positions, service)
            if ended.records:
                return ended
        raise AssertionError("nothing came")

    def committed(self) -> dict[int, int]:
        client = make_consumer(self.kafka, {"group.id": self.topic})
        answers = client.committed([Place(self.topic, number) for number in range(3)], timeout=10)
        client.close()
        return {place.partition: place.offset for place in answers if place.offset >= 0}

    def rows(self) -> list[tuple[int, int]]:
        database = sqlite3.connect(self.table)
        try:
            return database.execute('SELECT partition, "offset" FROM records ORDER BY 1, 2').fetchall()
        finally:
            database.close()


def by_number(ended: CycleEnded) -> dict[int, int]:
    return {partition.partition: at for partition, at in ended.positions.items()}


@pytest.fixture
def bench(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path) -> Iterator[Bench]:
    admin.create_topic(prefix, 3)
    admin.create_topic(f"{prefix}-other", 1)
    wait_until_shown(admin, {prefix: 3, f"{prefix}-other": 1})
    bench = Bench(kafka, prefix, tmp_path)
    try:
        yield bench
    finally:
        for pipeline in bench.pipelines:
            pipeline.close()


def test_a_partition_starts_at_its_tables_offset_else_the_commands_else_the_groups(
    bench: Bench, eventually: Callable[..., None]
) -> None:
    bench.write({0: 20, 1: 20, 2: 20})
    first = bench.pipeline()
    assert bench.opened(first, {0: 4, 1: RECOVER}) == {0: 4, 1: 0}
    at, rows = {0: 4, 1: 0}, 0
    while at != {0: 20, 1: 20}:
        ended = bench.cycle(first, at)
        assert set(ended.steps_s) == ({"read", "write", "commit", "offsets"} if ended.records else set())
        assert (len(ended.commits_s), ended.rows) == (1 if ended.records else 0, ended.records)
        at, rows = by_number(ended), rows + ended.rows
    assert rows == 36
    second = bench.pipeline()
    assert bench.opened(second, {0: 7, 1: RECOVER}) == {0: 20, 1: 20}, "the table knows better"
    elsewhere = TopicService(table=str(bench.directory / "other.db"))
    third = bench.pipeline()
    assert bench.opened(third, {0: 7, 1: RECOVER, 2: RECOVER}, elsewhere) == {0: 7, 1: 20, 2: 0}
    eventually(lambda: bench.committed() == {0: 7, 1: 20, 2: 0})


def test_an_unread_topic_starts_at_its_start_setting(bench: Bench) -> None:
    now = datetime.now(UTC)
    early, late = (round((now - timedelta(seconds=ago)).timestamp() * 1000) for ago in (100, 0))
    between = (now - timedelta(seconds=50)).strftime("%Y-%m-%dT%H:%M:%SZ")
    bench.write({0: 5, 1: 5, 2: 5}, early)
    bench.write({0: 5}, late)
    starts = {
        "earliest": {0: 0, 1: 0},
        "latest": {0: 10, 1: 5},
        between: {0: 5, 1: 5},
    }
    for number, (start, begins) in enumerate(starts.items()):
        service = TopicService(table=str(bench.directory / f"{number}.db"), start=start)
        pipeline = bench.pipeline(group=f"{bench.topic}-{number}")
        assert bench.opened(pipeline, {0: RECOVER, 1: RECOVER}, service) == begins


def test_a_partition_started_at_latest_keeps_that_offset_after_a_crash(bench: Bench) -> None:
    latest = TopicService(table=str(bench.table), start="latest")
    bench.write({0: 5})
    assert bench.opened(bench.pipeline(), {0: RECOVER}, latest) == {0: 5}
    bench.write({0: 5})
    assert bench.opened(bench.pipeline(), {0: RECOVER}, latest) == {0: 5}


def test_without_a_table_the_committed_offset_is_the_position(bench: Bench) -> None:
    counted = TopicService()
    bench.write({0: 10})
    first = bench.pipeline()
    assert bench.opened(first, {0: RECOVER}, counted) == {0: 0}
    ended = bench.first_cycle(first, {0: 0}, counted)
    assert (ended.records, ended.bytes, by_number(ended)) == (10, 1000, {0: 10})
    stopped = first.change(ChangeAssignment(tuple(ended.positions), SortedMapping(), SortedMapping()))
    assert stopped.stopped == ended.positions
    assert bench.opened(bench.pipeline(), {0: RECOVER}, counted) == {0: 10}


def test_a_cycle_ends_at_its_limit_and_is_saturated(bench: Bench) -> None:
    bench.write({0: 2000})
    pipeline = bench.pipeline()
    bench.opened(pipeline, {0: 0})
    at, cycles = {0: 0}, []
    while at != {0: 2000}:
        ended = bench.cycle(pipeline, at)
        at = by_number(ended)
        cycles.append(ended)
    assert any(ended.saturated for ended in cycles)
    for ended in cycles:
        assert ended.bytes == 100 * ended.records <= 1.2 * CYCLE.cycle_bytes
        assert ended.bytes >= CYCLE.cycle_bytes or not ended.saturated
    assert [cycles[-1].saturated, *cycles[-1].lag_records.values()] == [False, 0]
    assert bench.rows() == [(0, offset) for offset in range(2000)]


def test_a_long_backlog_does_not_keep_the_other_partitions_waiting(bench: Bench) -> None:
    bench.write({0: 30_000})
    pipeline = bench.pipeline()
    bench.opened(pipeline, {0: 0, 1: 0, 2: 0})
    at = by_number(bench.first_cycle(pipeline, {0: 0, 1: 0, 2: 0}))
    bench.write({1: 10, 2: 10})
    while (at[1], at[2]) != (10, 10):
        at = by_number(bench.cycle(pipeline, at))
    assert at[0] < 15_000, "the backlog was read first"


def test_the_rate_limit_is_kept(bench: Bench) -> None:
    bench.write({0: 2000})
    pipeline = bench.pipeline(Consumer(cycle_s=0.2, cycle_bytes=1_000_000, light_bytes_per_s=100_000.0))
    bench.opened(pipeline, {0: 0})
    ended = bench.first_cycle(pipeline, {0: 0})
    begun_s, size = time.monotonic() - ended.took_s, 0
    for _ in range(4):
        size += ended.bytes
        ended = bench.cycle(pipeline, by_number(ended))  # waits until the bytes of the one before are paid for
    assert size / (time.monotonic() - begun_s) <= 100_000


def test_a_cycle_without_data_waits_its_time_and_ends_at_once_when_it_should(bench: Bench) -> None:
    pipeline = bench.pipeline(Consumer(cycle_s=1.0))
    bench.opened(pipeline, {0: 0})
    idle = bench.cycle(pipeline, {0: 0})
    wanted = bench.cycle(pipeline, {0: 0}, should_end=lambda: True)
    assert (idle.records, idle.saturated, wanted.records) == (0, False, 0)
    assert wanted.took_s < 0.5 < 0.9 < idle.took_s


def test_records_of_a_failing_table_are_read_again_while_other_tables_continue(
    bench: Bench,
    eventually: Callable[[Callable[[], object]], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "restow")
    monkeypatch.setattr(light_table, "BUSY_WITHIN_S", 0.05)
    stuck, free = TopicPartition(bench.topic, 0), TopicPartition(bench.other_topic, 0)
    topics = SortedMapping({stuck.topic: bench.service, free.topic: TopicService()})
    pipeline = bench.pipeline()
    at = pipeline.change(ChangeAssignment((), SortedMapping({stuck: 0, free: 0}), topics)).started

    def has_read(count: int) -> bool:
        """Of the table that is free."""
        nonlocal at
        at = pipeline.cycle(RunCycle(at, topics), lambda: False).positions
        return at[free] == count

    holder = sqlite3.connect(bench.table, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    bench.write({0: 10})
    eventually(lambda: not has_read(10) and caplog.messages)
    bench.write({0: 10}, topic=free.topic)
    eventually(lambda: has_read(10))
    assert at[stuck] == 0
    holder.execute("COMMIT")
    holder.close()
    eventually(lambda: has_read(10) and at[stuck] == 10)
    assert bench.rows() == [(0, offset) for offset in range(10)]
    assert caplog.messages == [
        f"the table {bench.table} can't be used: database is locked; retrying, and the other tables continue",
        f"the table {bench.table} is written again",
    ]


def test_a_failing_transform_stores_nothing_and_is_retried(
    bench: Bench,
    eventually: Callable[[Callable[[], object]], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "restow")
    monkeypatch.syspath_prepend(str(TRANSFORMS))
    service = TopicService(table=str(bench.table), transform="transforms_for_tests:failing", on_bad_record="stop")
    pipeline = bench.pipeline()
    bench.opened(pipeline, {0: 0}, service)
    bench.write({0: 10})
    eventually(lambda: by_number(bench.cycle(pipeline, {0: 0}, service)) == {0: 0} and caplog.messages)
    [line] = caplog.messages
    place = line_in(TRANSFORMS / "transforms_for_tests.py", "too many")
    reason = (
        f"the transform transforms_for_tests:failing fails on {bench.topic}-0 at offset 0: ValueError: 1 records are "
        f"too many ({place}, in failing)"
    )
    assert line == f"{reason}; retrying, and the other tables continue"
    assert bench.cycle(pipeline, {0: 0}, service).failures == (Failure(bench.topic, reason),)
    assert bench.rows() == []
    mended = TopicService(table=str(bench.table), transform="transforms_for_tests:even")
    eventually(lambda: by_number(bench.cycle(pipeline, {0: 0}, mended)) == {0: 10})
    assert bench.rows() == [(0, 0), (0, 2), (0, 4), (0, 6), (0, 8)]


def deleted_before(kafka: Kafka, topic: str, offset: int) -> None:
    client = make_admin_client(kafka)  # it must live until it has its answer
    client.delete_records([Place(topic, 0, offset)])[Place(topic, 0)].result(30)


def test_records_deleted_before_they_were_read_are_logged_and_skipped(
    bench: Bench, kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "restow")
    bench.write({0: 10})
    deleted_before(kafka, bench.topic, 4)
    pipeline = bench.pipeline()
    bench.opened(pipeline, {0: 1})
    at, gaps = {0: 1}, list[Gap]()
    while at != {0: 10}:
        ended = bench.cycle(pipeline, at)
        at, gaps = by_number(ended), [*gaps, *ended.gaps]
    assert bench.rows() == [(0, offset) for offset in range(4, 10)]
    gap = f"{bench.topic}-0: the records from 1 to 3, 3 in all, were deleted before they were read"
    assert caplog.messages == [str(gap) for gap in gaps] == [gap]


def test_a_gap_up_to_the_end_is_logged_once_and_leaves_no_lag(
    bench: Bench, kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "restow")
    bench.write({0: 10})
    deleted_before(kafka, bench.topic, 10)
    pipeline = bench.pipeline()
    bench.opened(pipeline, {0: 1})
    gaps: list[Gap] = []
    while not gaps:
        gaps += bench.cycle(pipeline, {0: 1}).gaps
    for _ in range(3):
        ended = bench.cycle(pipeline, {0: 1})
        assert (ended.gaps, set(ended.lag_records.values())) == ((), {0})
    bench.write({0: 2})
    at = {0: 1}
    while at != {0: 12}:
        at = by_number(bench.cycle(pipeline, at))
    assert bench.rows() == [(0, 10), (0, 11)]
    assert caplog.messages == [
        f"{bench.topic}-0: the records from 1 to 9, 9 in all, were deleted before they were read"
    ]


def test_a_partition_added_while_the_pipeline_runs_is_read_within_seconds(bench: Bench, admin: Admin) -> None:
    bench.write({0: 5})
    pipeline = bench.pipeline()
    assert bench.opened(pipeline, {0: RECOVER}) == {0: 0}
    bench.first_cycle(pipeline, {0: 0})  # from here on both clients have metadata of a topic with three partitions
    admin.grow_topic(bench.topic, 4)
    wait_until_shown(admin, {bench.topic: 4})
    producer = make_producer(bench.kafka)  # the bench's own knows three partitions, too
    for _ in range(5):
        producer.produce(bench.topic, RECORD, partition=3)
    assert producer.flush(30) == 0
    began_s = time.monotonic()
    assert bench.opened(pipeline, {3: RECOVER}) == {3: 0}
    assert by_number(bench.first_cycle(pipeline, {0: 5, 3: 0})) == {0: 5, 3: 5}
    assert time.monotonic() - began_s < 10.0
