"""Cycles of the Spark pipeline with a real broker and a real Spark, in this process: how they end, and what is
logged."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.paths import TRANSFORMS, line_in
from tests.support.spark.live import Lake, Reading, of, opened, reading
from tests.support.transforms.transforms_on_spark import SECONDS

from restow.consumer.checkpoint import Suspect, TableWrite
from restow.consumer.events import RefusedPartitions
from restow.consumer.patience import FINISH_WITHIN_S
from restow.kafka.survey import sampled
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.spark import reading as reading_module
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.topic_service import TopicService
from restow.settings import Consumer
from restow.starter.facts import TopicFacts
from restow.starter.names import function_names
from restow.starter.transforms_text import transforms_text

FILE = TRANSFORMS / "transforms_on_spark.py"


def test_a_late_consumer_is_refused_drops_what_it_lost_and_continues_with_the_rest(lake: Lake) -> None:
    topic = lake.topic("late", 2)
    lake.write(topic, {0: 5, 1: 5})
    p0, p1 = of(topic, 0, 1)
    service = TopicService(table=lake.table())
    late = reading(lake.pipeline(consumer=1), {topic: service}, {p0: 0, p1: 0})
    reading(lake.pipeline(consumer=2), {topic: service}, {p0: RECOVER}).until(5)

    ended = late.cycle()
    reason = (
        f"{topic}-0 should continue at 0, but the table {lake.table()} has it elsewhere: another consumer took it over"
    )
    assert ended.dropped == (RefusedPartitions((p0,), "replaced", reason),)
    assert (ended.records, dict(ended.positions)) == (0, {p1: 0})
    assert len(lake.staged()) == 1, "that of the faster consumer"
    late.until(5)
    assert sorted(lake.rows("_partition, _offset")) == [(p, offset) for p in (0, 1) for offset in range(5)]


def test_after_a_lost_answer_to_a_commit_the_table_is_asked_before_the_next_cycle(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, eventually: Callable[[Callable[[], object]], None]
) -> None:
    topic = lake.topic("lost", 1)
    lake.write(topic, {0: 5})
    reader = reading(lake.pipeline(), {topic: TopicService(table=lake.table())}, {TopicPartition(topic, 0): 0})
    commit = DeltaSink.commit

    def commit_and_lose_the_answer(self: DeltaSink, *arguments: Any) -> tuple[TopicPartition, ...]:
        commit(self, *arguments)
        raise DeltaTableError(f"the table {lake.table()} can't be used: connection reset")

    with monkeypatch.context() as patched:
        patched.setattr(DeltaSink, "commit", commit_and_lose_the_answer)
        assert reader.after_a_cycle() == (0,), "no answer confirmed it"
    lake.write(topic, {0: 5})
    eventually(lambda: reader.after_a_cycle() == (10,))
    assert lake.rows("_offset") == [(offset,) for offset in range(10)]
    assert lake.logged == [
        (
            f"the table {lake.table()} can't be used: connection reset; "
            "it is retried with backoff, and other tables continue"
        ),
        f"the table {lake.table()} is written again",
    ]


@dataclass
class MemoryPlans:
    """A volume's plan, in memory, and all that were ever written."""

    now: tuple[TableWrite, ...] = ()
    written: list[tuple[TableWrite, ...]] = field(default_factory=list)

    def read_plan(self) -> tuple[TableWrite, ...]:
        return self.now

    def write_plan(self, stages: tuple[TableWrite, ...]) -> None:
        self.now = stages
        self.written.append(stages)

    def forget_plan(self) -> None:
        self.now = ()

    def read_suspects(self) -> tuple[Suspect, ...]:
        return ()

    def write_suspects(self, suspects: tuple[Suspect, ...]) -> None:
        pass


def test_a_cycle_that_stores_something_has_a_plan_while_it_runs(lake: Lake) -> None:
    stored, counted = lake.topic("planned", 2), lake.topic("planned-too", 1)
    services = {stored: TopicService(table=lake.table()), counted: TopicService()}
    p0, p1, p2 = *of(stored, 0, 1), *of(counted, 0)
    plans = MemoryPlans()
    reader = reading(lake.pipeline(plans=plans), services, dict.fromkeys((p0, p1, p2), RECOVER))
    assert reader.after_a_cycle() == (0, 0, 0)
    assert plans.written == [], "nothing was there"
    lake.write(stored, {0: 3})
    lake.write(counted, {0: 4})
    cycles = reader.until(3, 0, 4)
    steps = [ended for ended in cycles if ended.steps_s]
    assert {tuple(ended.steps_s) for ended in steps} == {("commit", "offsets", "rest", "write")}
    assert sum(ended.rows for ended in cycles) == 3, "those in the table; records without one are only counted"
    assert min(ended.steps_s["write"] for ended in steps) > 0
    assert max(second for ended in steps for second in ended.commits_s) > 0
    stages = [stage for plan in plans.written for stage in plan]
    [directory] = lake.staged()
    assert sorted(stages, key=lambda stage: stage.table) == [
        TableWrite("", "", SortedMapping({p2: 0}), SortedMapping({p2: 4})),
        TableWrite(
            lake.table(), str(Path(directory).relative_to(lake.table())), SortedMapping({p0: 0}), SortedMapping({p0: 3})
        ),
    ]
    assert plans.now == ()


def jobs_so_far() -> int:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    return int(session._jsc.sc().dagScheduler().nextJobId())


def test_a_cycle_without_data_starts_no_job_and_ends_at_once_when_it_should(lake: Lake) -> None:
    topic = lake.topic("idle", 3)
    reader = reading(
        lake.pipeline(settings=Consumer(cycle_s=2.0)),
        {topic: TopicService(table=lake.table())},
        dict.fromkeys(of(topic, 0, 1, 2), 0),
    )
    jobs, calls = jobs_so_far(), 0

    def should_end() -> bool:
        nonlocal calls
        calls += 1
        return False

    before_s = time.process_time()
    idle = reader.cycle(should_end)
    cpu_s = time.process_time() - before_s
    wanted = reader.cycle(lambda: True)
    assert (idle.records, idle.saturated, wanted.records, jobs_so_far()) == (0, False, 0, jobs)
    assert idle.took_s > 1.9
    assert wanted.took_s < 1.0
    assert calls >= 10
    assert cpu_s < 0.3 * idle.took_s


def test_a_partition_that_moved_here_is_read_at_once_and_not_when_the_next_cycle_is_due(lake: Lake) -> None:
    topic = lake.topic("moved", 2)
    p0, p1 = of(topic, 0, 1)
    service = TopicService(table=lake.table())
    pipeline = lake.pipeline(settings=Consumer(cycle_s=600.0, grace_s=4.0))
    lake.write(topic, {0: 5})
    mine = reading(pipeline, {topic: service}, {p0: 0})
    mine.until(5)
    lake.write(topic, {0: 5, 1: 5})
    began_s = time.monotonic()
    assert mine.cycle(lambda: True).records == 0, "it isn't due"
    mine.at = SortedMapping({**mine.at, **reading(pipeline, {topic: service}, {p1: 0}).at})
    ended = mine.cycle(lambda: time.monotonic() > began_s + 60.0)
    assert (ended.records, dict(ended.positions)) == (10, {p0: 10, p1: 5})


def test_a_cycle_for_a_table_is_one_spark_job(lake: Lake) -> None:
    topic = lake.topic("job", 3)
    service = TopicService(table=lake.table(), transform="transforms_on_spark:doubled")
    reader = reading(lake.pipeline(), {topic: service}, dict.fromkeys(of(topic, 0, 1, 2), 0))
    for count in (5, 2000):  # few records, and so many that Spark writes code for reading them
        lake.write(topic, {0: count, 1: count, 2: count})
        jobs = jobs_so_far()
        assert reader.cycle().records == 3 * count
        assert jobs_so_far() == jobs + 1
    assert len(lake.rows()) == 3 * (2 * 3 + 2 * 1000)


def test_a_consumer_that_gets_many_partitions_makes_smaller_fetches_and_reads_all(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_module, "fetch_bytes", lambda held, _: 1 << 20 if held < 3 else 64 << 10)
    topic = lake.topic("many", 4)
    service, pipeline = TopicService(table=lake.table()), lake.pipeline()
    lake.write(topic, dict.fromkeys(range(4), 5))
    first = reading(pipeline, {topic: service}, dict.fromkeys(of(topic, 0, 1), 0))
    first.until(5, 5)
    lake.write(topic, dict.fromkeys(range(4), 5))
    more = opened(pipeline, {topic: service}, dict.fromkeys(of(topic, 2, 3), 0))
    Reading(pipeline, first.topics, SortedMapping(dict(first.at) | dict(more.started))).until(10, 10, 10, 10)
    assert lake.logged == []
    assert sorted(lake.rows("_partition, _offset")) == [(p, offset) for p in range(4) for offset in range(10)]


def test_a_cycle_shares_its_limit_fairly_and_reports_saturation(lake: Lake) -> None:
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


def test_an_unwritable_table_is_retried_while_others_continue(
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
    eventually(lambda: reader.after_a_cycle() and len(lake.logged) == 1)
    lake.write(free, {0: 1})
    eventually(lambda: reader.after_a_cycle() == (4, 0))
    data.unlink()
    eventually(lambda: reader.after_a_cycle() == (4, 2))
    assert lake.rows("_offset", "stuck") == [(0,), (1,)]
    failed, mended = lake.logged
    reason = f"the table {lake.table('stuck')} can't be written: {data} is not a directory"
    assert failed == f"{reason}; it is retried with backoff, and other tables continue"
    assert mended == f"the table {lake.table('stuck')} is written again"


def test_a_transform_that_fails_stores_nothing_and_is_logged_once_while_others_continue(
    lake: Lake, eventually: Callable[[Callable[[], object]], None]
) -> None:
    bad, good = lake.topic("bad", 1), lake.topic("good", 1)
    services = {
        bad: TopicService(table=lake.table("bad"), transform="transforms_on_spark:never_seven", on_bad_record="stop"),
        good: TopicService(table=lake.table("good")),
    }
    starts: dict[TopicPartition, StartFrom] = dict.fromkeys([*of(bad, 0), *of(good, 0)], RECOVER)
    reader = reading(lake.pipeline(), services, starts)
    lake.write(bad, {0: 10})
    lake.write(good, {0: 10})
    eventually(lambda: reader.after_a_cycle() == (0, 10))
    for _ in range(3):
        ended = reader.cycle()
    assert lake.rows("*", "bad") == []
    [line] = lake.logged
    assert line == (
        f"the transform transforms_on_spark:never_seven fails on {bad}-0 at offset 7: ValueError: a seven "
        f"({line_in(FILE, 'a seven')}, in checked); it is retried with backoff, and other tables continue"
    )
    [failure] = ended.failures
    assert (failure.topic, failure.reason) == (bad, line.partition("; it is retried")[0])


@pytest.mark.parametrize(
    ("transform", "reason", "after", "line"),
    [
        (
            "undocumented",
            "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
            ", in parsed)",
            "json.loads(",
        ),
        ("strictly_cast", "NumberFormatException: [CAST_INVALID_INPUT] ", ")", 'text.cast("int")'),
        ("eagerly", "ZeroDivisionError: integer division or modulo by zero", ", in eagerly)", "1 // ("),
    ],
)
def test_each_way_in_which_a_transform_fails_has_its_reason_its_line_and_its_record(
    lake: Lake, capfd: pytest.CaptureFixture[str], transform: str, reason: str, after: str, line: str
) -> None:
    topic = lake.topic("reasons", 2)
    service = TopicService(table=lake.table(), transform=f"transforms_on_spark:{transform}", on_bad_record="stop")
    reader = reading(lake.pipeline(), {topic: service}, dict.fromkeys(of(topic, 0, 1), RECOVER))
    lake.write(topic, {1: 10})
    [failure] = reader.cycle().failures
    record = f"the transform transforms_on_spark:{transform} fails on {topic}-1 at offset 7"
    assert failure.reason.startswith(f"{record}: {reason}")
    assert failure.reason.endswith(f" ({line_in(FILE, line)}{after}")
    assert "Aborting task" not in capfd.readouterr().err, "Spark says nothing besides"


def test_a_cycle_that_should_end_and_takes_too_long_is_cut_and_its_records_are_stored_once_by_the_next(
    lake: Lake, capfd: pytest.CaptureFixture[str]
) -> None:
    topic, records = lake.topic("slow", 1), 20
    lake.write(topic, {0: records})
    service = TopicService(table=lake.table(), transform="transforms_on_spark:slow")
    pipeline = lake.pipeline()
    reader = reading(pipeline, {topic: service}, {TopicPartition(topic, 0): 0})
    begun_s, calls = time.monotonic(), 0

    def should_end() -> bool:
        nonlocal calls
        calls += 1
        if calls == 10:
            pipeline.dump_threads()
        return time.monotonic() > begun_s + 1.0

    ended = reader.cycle(should_end)
    took_s = time.monotonic() - begun_s
    assert 1.0 + FINISH_WITHIN_S < took_s < records * SECONDS, "long before its end"
    assert calls > 5 * took_s, "several times a second"
    assert (ended.records, tuple(ended.positions.values())) == (0, (0,))
    assert lake.rows() == []
    assert lake.logged == [
        f"cancelled a cycle for the table {lake.table()} before its commit: a command or the shutdown waits"
    ]
    assert lake.staged() == [], "nothing is left of it"
    dump = capfd.readouterr().err
    assert "in _work" in dump, "Python's threads, while it hung"
    assert "Full thread dump" in dump, "and the JVM's"
    assert "Executor task launch worker" in dump
    reading(lake.pipeline(), {topic: TopicService(table=lake.table())}, {TopicPartition(topic, 0): RECOVER}).until(
        records
    )
    assert lake.rows("_offset") == [(offset,) for offset in range(records)]


def test_the_transform_that_init_writes_has_a_column_for_each_field_of_sampled_json(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, text, missing = lake.topic("j-son", 1), lake.topic("text", 1), lake.topic("none", 1)
    first = {"id": "a", "at": "2026-03-01T12:00:00Z", "n": 1, "x": 0.5, "ok": True, "odd `key`": {"in": [1]}, "ID": 2}
    values = [*[json.dumps(first)] * 5, '{"id": "b", "n": null, "more": [{"deep": 1}]}', "no JSON"]
    lake.produce(topic, values)
    lake.produce(text, ["plain"])
    facts = [sampled(lake.kafka, lake.prefix, TopicFacts(name, 1)) for name in (topic, text, missing)]
    assert [each.shape.kind for each in facts] == ["json", "text", "empty"]
    functions = function_names(each.name for each in facts)
    (tmp_path / "made_by_init.py").write_text(transforms_text("lake", facts, functions, light=False))
    monkeypatch.syspath_prepend(str(tmp_path))
    services = {
        each.name: TopicService(lake.table(each.name), f"made_by_init:{functions[each.name]}") for each in facts
    }
    starts: dict[TopicPartition, StartFrom] = {TopicPartition(each.name, 0): 0 for each in facts}
    reading(lake.pipeline(), services, starts).until(len(values), 0, 1)
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
    rows = lake.rows('id, epoch("at"), n, x, ok, odd__key_, more, _offset', topic)
    assert rows[4:] == [
        ("a", noon, 1, 0.5, True, {"in": [1]}, None, 4),
        ("b", None, None, None, None, None, [{"deep": 1}], 5),
        (None, None, None, None, None, None, None, 6),
    ]
    assert lake.rows("key, value", text) == [(None, "plain")]
