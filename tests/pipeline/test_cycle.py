"""The storing half of a cycle, with scripted Spark jobs instead of Spark: failures, cancellations, gaps and
refusals."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
from pyspark.errors import PySparkException

from restow.consumer.checkpoint import Suspect, TableWrite
from restow.consumer.events import RefusedPartitions
from restow.consumer.pipeline import ShouldEnd
from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline import cycle as cycles
from restow.pipeline import dead_letters
from restow.pipeline.cycle import CycleResult, CycleRunner
from restow.pipeline.delta.errors import SchemasDiffer
from restow.pipeline.searching import BadOffsets, TooManyBad
from restow.pipeline.sinks import NullSink, Span
from restow.pipeline.spark.counting import ReadCount
from restow.pipeline.spark.engine import Engine, Outcome, StoreResult
from restow.pipeline.spark.failures import JobFailed
from restow.pipeline.spark.worker import Patience
from restow.pipeline.targets import Target, TargetCycle, target_of
from restow.protocol.messages.reports import Failure, Rejected
from restow.protocol.topic_service import TopicService

T = TypeVar("T")

ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks", 0)
TOPICS = {"orders": TopicService(table="lake/orders"), "clicks": TopicService(table="lake/clicks")}
RANGES = {ORDERS: Range(0, 0, 5), CLICKS: Range(0, 0, 3)}


@dataclass
class Table(NullSink):
    name: str
    settles_as_stored: bool = False
    is_closed: bool = False
    claims: dict[TopicPartition, int] = field(default_factory=dict)
    """Open ones."""

    def take_over(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {p: claim for p, claim in self.claims.items() if p in set(partitions)}

    def settle(self, staging: str, spans: Mapping[TopicPartition, Span]) -> bool:  # noqa: ARG002
        return self.settles_as_stored

    def close(self) -> None:
        self.is_closed = True


@dataclass
class Letters:
    """A dead-letter table."""

    name: str
    held: dict[TopicPartition, frozenset[int]] = field(default_factory=dict)
    fences: list[Mapping[TopicPartition, int]] = field(default_factory=list)

    def fence(self, claims: Mapping[TopicPartition, int]) -> None:
        self.fences.append(claims)

    def rejected(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, frozenset[int]]:
        return {p: offsets for p, offsets in self.held.items() if p in positions}

    def store(self, rows: object, claims: Mapping[TopicPartition, int]) -> tuple[TopicPartition, ...]:  # noqa: ARG002
        return ()

    def maintain(self) -> None:
        pass

    def close(self) -> None:
        pass


class ScriptedEngine(Engine):
    """Every job succeeds, unless `outcomes` has something else for its table."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.jobs: list[str] = []
        """The table of each; empty where a transform was tried without it."""
        self.lots: list[int] = []
        """How many cycles ran side by side."""
        self.allowed_s: list[float] = []
        """How long each lot might have gone on, a second after it began."""
        self.bad: dict[TopicPartition, int] = {}
        """Records on which the transform fails."""
        self.searches: list[Future[BadOffsets]] = []
        self.cycles: list[TargetCycle] = []
        """All that ran."""

    def search(self, cycle: TargetCycle, most: int, should_stop: Callable[[], bool]) -> "Future[BadOffsets]":  # noqa: ARG002
        self.searches.append(Future())
        return self.searches[-1]

    def run_all(
        self,
        cycles: Sequence[TargetCycle],
        should_end: ShouldEnd,  # noqa: ARG002
        patience: Patience,
    ) -> list[Outcome]:
        self.lots.append(len(cycles))
        self.allowed_s.append(patience(1.0))
        return [self._outcome_of(cycle) for cycle in cycles]

    def _outcome_of(self, cycle: TargetCycle) -> Outcome:
        table = "" if cycle.sink.name == NullSink.name else cycle.target.table
        self.jobs.append(table)
        self.cycles.append(cycle)
        for partition, taken in cycle.ranges.items():
            left_out = cycle.left_out.get(partition, ())
            if (offset := self.bad.get(partition)) in range(taken.first, taken.next) and offset not in left_out:
                return JobFailed(cycle, in_python(f"ValueError: hunter2 on {offset}"))
        counts = {p.topic: ReadCount(taken.records, 10 * taken.records) for p, taken in cycle.ranges.items()}
        return self.outcomes.get(table, StoreResult((), counts))

    def aside(self, work: Callable[[], T], should_end: ShouldEnd) -> T:  # noqa: ARG002
        return work()

    def schemas_of(self, target: Target) -> dict[str, str]:
        return dict.fromkeys(SEVERAL, "") if target.transform == "shop:several" else {target.table: ""}


SEVERAL = ("lake/heads", "lake/lines")


def never() -> bool:
    return False


def in_python(last_line: str) -> Exception:
    return PySparkException(
        f"An exception was thrown from the Python worker.\nTraceback (most recent call last):\n{last_line}\n"
    )


@dataclass
class MemoryPlans:
    now: tuple[TableWrite, ...] = ()

    def read_plan(self) -> tuple[TableWrite, ...]:
        return self.now

    def write_plan(self, writes: tuple[TableWrite, ...]) -> None:
        self.now = writes

    def forget_plan(self) -> None:
        self.now = ()

    def read_suspects(self) -> tuple[Suspect, ...]:
        return ()

    def write_suspects(self, suspects: tuple[Suspect, ...]) -> None:
        pass


@dataclass
class Bench:
    """A runner, and all around it that a test can turn."""

    engine: ScriptedEngine = field(default_factory=ScriptedEngine)
    plans: MemoryPlans = field(default_factory=MemoryPlans)
    tables: dict[str, Table] = field(default_factory=dict)
    letters: dict[str, Letters] = field(default_factory=dict)
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.runner = CycleRunner(
            self.engine,
            self.open,
            lambda uri: self.letters.setdefault(uri, Letters(f"the dead-letter table {uri}")),
            self.plans,
            most_patience_s=10.0,
            redact=lambda text: text.replace("hunter2", "***"),
        )

    def open(self, uri: str) -> Table:
        return self.tables.setdefault(uri, Table(f"the table {uri}"))

    def monotonic(self) -> float:
        return self.now_s

    def store(
        self, ranges: Mapping[TopicPartition, Range] = RANGES, topics: Mapping[str, TopicService] = TOPICS
    ) -> CycleResult:
        result = CycleResult({partition: taken.position for partition, taken in ranges.items()})
        self.runner.store(ranges, topics, result, lambda: False)
        return result


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Bench:
    caplog.set_level(logging.INFO, "restow")
    bench = Bench()
    monkeypatch.setattr(cycles, "time", bench)
    monkeypatch.setattr(dead_letters, "time", bench)
    return bench


def test_a_cycle_is_one_job_per_table_and_has_a_plan_until_it_ends(bench: Bench) -> None:
    result = bench.store()
    assert bench.engine.jobs == ["lake/clicks", "lake/orders"]
    assert result.at == result.stored == {ORDERS: 5, CLICKS: 3}
    assert (result.records, result.bytes) == (8, 80)
    assert [write.table for write in bench.plans.now] == ["lake/clicks", "lake/orders"]
    bench.runner.end()
    assert bench.plans.now == ()


def test_rows_of_all_tables_are_added_up_and_the_slowest_counts(bench: Bench) -> None:
    bench.engine.outcomes["lake/orders"] = StoreResult((), {}, rows=4, write_s=0.5, commit_s=0.02)
    bench.engine.outcomes["lake/clicks"] = StoreResult((), {}, rows=2, write_s=0.25, commit_s=0.01)
    result = bench.store()
    assert (result.rows, result.commits_s) == (6, [0.01, 0.02])
    assert (result.write_s, result.commit_s) == (0.5, 0.02), "the slower of two that ran side by side"


def test_tables_are_stored_side_by_side_and_the_targets_of_one_table_in_turn(bench: Bench) -> None:
    bench.store()
    assert bench.engine.lots == [2]
    topics = {"orders": TOPICS["orders"], "clicks": TopicService(table="lake/orders", transform="shop:clicks")}
    assert bench.store(topics=topics).stored == {ORDERS: 5, CLICKS: 3}
    assert bench.engine.lots == [2, 1, 1]


def test_a_cycle_that_is_almost_done_may_finish_and_each_cancelled_one_gives_the_next_more_time(bench: Bench) -> None:
    bench.engine.outcomes = {"lake/orders": None}
    expected: Iterator[float | None] = iter((2.0, 9.0, None, 3.0))
    for _ in range(4):
        bench.runner.store({ORDERS: RANGES[ORDERS]}, TOPICS, CycleResult({ORDERS: 0}), never, lambda _: next(expected))
    assert bench.engine.allowed_s == [1.5, 0.0, 6.0, 10.0]


def test_the_size_of_records_is_learned_by_topic(bench: Bench) -> None:
    assert bench.runner.record_bytes("orders") == 1000.0
    bench.store()
    assert bench.runner.record_bytes("orders") == 10.0


def test_a_failing_table_waits_longer_each_time_and_is_logged_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    orders = target_of(TOPICS["orders"])
    bench.engine.outcomes["lake/orders"] = RestowError("the table lake/orders can't be used: disk full")
    waits = []
    for _ in range(3):
        assert bench.store().stored == {CLICKS: 3}
        begun_s = bench.now_s
        while not bench.runner.may_store(orders):
            bench.now_s += 0.25
            bench.runner.settle(CycleResult({}), lambda: False)
        waits.append(bench.now_s - begun_s)
    del bench.engine.outcomes["lake/orders"]
    assert bench.store().stored == {ORDERS: 5, CLICKS: 3}
    assert waits == [0.5, 1.0, 2.0]
    assert caplog.messages == [
        "the table lake/orders can't be used: disk full; it is retried with backoff, and other tables continue",
        "the table lake/orders is written again",
    ]


SHOP = {
    "orders": TopicService(table="lake/orders", transform="shop:orders", on_bad_record="stop"),
    "clicks": TOPICS["clicks"],
}


def test_a_transform_that_fails_on_a_record_is_a_failure_until_its_topic_is_stored(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.engine.bad = {ORDERS: 3}
    says = "the transform shop:orders fails on orders-0 at offset 3: ValueError: *** on 3"
    for now_s in (0.0, 1.0, 3.0):
        bench.now_s = now_s
        assert bench.store(topics=SHOP).stored == {CLICKS: 3}
        assert bench.runner.failures(SHOP) == (Failure("orders", says),)
    located = [job for job in bench.engine.jobs if job == ""]
    assert 0 < len(located) <= 4, "it is located once"
    bench.engine.bad, bench.now_s = {}, 20.0
    assert bench.store(topics=SHOP).stored == {CLICKS: 3, ORDERS: 5}
    assert bench.runner.failures(SHOP) == ()
    assert caplog.messages == [
        f"{says}; it is retried with backoff, and other tables continue",
        "the table lake/orders is written again",
    ]


def test_another_reason_is_logged_again(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    for now_s, reason in ((0.0, "disk full"), (1.0, "disk full"), (3.0, "no such bucket")):
        bench.now_s, bench.engine.outcomes["lake/orders"] = now_s, RestowError(reason)
        bench.store()
        assert bench.runner.failures(TOPICS) == (Failure("orders", reason),)
    assert [line.partition(";")[0] for line in caplog.messages] == ["disk full", "no such bucket"]


def test_a_failed_job_whose_transform_works_without_the_table_names_the_cycle(bench: Bench) -> None:
    job = TargetCycle(target_of(SHOP["orders"]), {ORDERS: RANGES[ORDERS]}, 0.0, bench.open("lake/orders"))
    bench.engine.outcomes["lake/orders"] = JobFailed(job, OSError("disk full"))
    bench.store(topics=SHOP)
    [failure] = bench.runner.failures(SHOP)
    assert failure.reason == (
        "the rows of the transform shop:orders can't be written to the table lake/orders: OSError: disk full; "
        "the cycle was orders-0 from offset 0 to 4"
    )


def test_locating_ends_when_a_command_waits(bench: Bench) -> None:
    bench.engine.bad = {ORDERS: 3}
    result = CycleResult({ORDERS: 0})
    bench.runner.store({ORDERS: RANGES[ORDERS]}, SHOP, result, lambda: len(bench.engine.jobs) >= 3)
    [failure] = bench.runner.failures(SHOP)
    assert failure.reason.startswith("the transform shop:orders fails on orders-0 from offset 0 to 4: ValueError: ***")


def test_failures_of_topics_that_are_given_up_are_forgotten(bench: Bench) -> None:
    bench.engine.outcomes["lake/orders"] = RestowError("disk full")
    bench.store()
    bench.runner.keep([target_of(TOPICS["clicks"])])
    assert bench.runner.failures(TOPICS) == ()


@pytest.mark.parametrize("was_stored", [True, False])
def test_a_cycle_with_unknown_outcome_is_settled_before_the_next_one(bench: Bench, was_stored: bool) -> None:
    bench.open("lake/orders").settles_as_stored = was_stored
    bench.engine.outcomes["lake/orders"] = RestowError("connection reset")
    result = bench.store()
    bench.runner.end()
    assert (result.at[ORDERS], [write.table for write in bench.plans.now]) == (0, ["lake/clicks", "lake/orders"])
    assert not bench.runner.may_store(target_of(TOPICS["orders"]))
    bench.now_s = 1.0
    settled = CycleResult({ORDERS: 0})
    bench.runner.settle(settled, lambda: False)
    bench.runner.end()
    assert settled.at == ({ORDERS: 5} if was_stored else {ORDERS: 0})
    assert bench.plans.now == ()
    assert bench.runner.may_store(target_of(TOPICS["orders"]))


def test_a_cancelled_cycle_stores_nothing_and_is_settled_at_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.engine.outcomes["lake/orders"] = None
    assert bench.store().at == {ORDERS: 0, CLICKS: 3}
    assert bench.runner.may_store(target_of(TOPICS["orders"]))
    assert caplog.messages == [
        "cancelled a cycle for the table lake/orders before its commit: a command or the shutdown waits"
    ]


def test_a_partition_that_another_consumer_stored_is_dropped(bench: Bench) -> None:
    bench.engine.outcomes["lake/orders"] = StoreResult(replaced=(ORDERS,))
    result = bench.store()
    reason = "orders-0 should continue at 0, but the table lake/orders has it elsewhere: another consumer took it over"
    assert result.dropped == [RefusedPartitions((ORDERS,), "replaced", reason)]
    assert result.stored == {CLICKS: 3}


def test_deleted_records_are_counted_and_logged_once_though_the_cycle_is_retried(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    gap = {ORDERS: Range(2, 4, 9)}
    bench.engine.outcomes["lake/orders"] = RestowError("disk full")
    bench.store(gap)
    bench.now_s = 1.0
    del bench.engine.outcomes["lake/orders"]
    result = bench.store(gap)
    assert (result.at, bench.runner.missed_records, len(result.gaps)) == ({ORDERS: 9}, 2, 1)
    assert [line for line in caplog.messages if "deleted" in line] == [str(result.gaps[0])]


def test_with_on_gap_stop_the_partition_is_dropped_unread(bench: Bench) -> None:
    topics = {"orders": TopicService(table="lake/orders", on_gap="stop")}
    result = bench.store({ORDERS: Range(2, 4, 9)}, topics)
    assert [(refused.partitions, refused.kind) for refused in result.dropped] == [((ORDERS,), "gap")]
    assert bench.engine.jobs == []
    assert bench.plans.now == ()


def test_sinks_of_dropped_topics_are_closed(bench: Bench) -> None:
    bench.store()
    bench.runner.keep([target_of(TOPICS["clicks"])])
    assert {uri: table.is_closed for uri, table in bench.tables.items()} == {"lake/clicks": False, "lake/orders": True}


class Several:
    """A topic whose transform returns rows for two tables."""

    topics: Mapping[str, TopicService] = {"orders": TopicService(transform="shop:several")}

    def __init__(self, bench: Bench, heads: int, lines: int) -> None:
        self.bench, positions = bench, (heads, lines)
        targets = [target for target, *_ in bench.runner.open(target_of(self.topics["orders"]))]
        assert [target.table for target in targets] == list(SEVERAL)
        self.at = bench.runner.opened({t: {ORDERS: at} for t, at in zip(targets, positions, strict=True)})

    def reads_from(self) -> dict[TopicPartition, int]:
        return self.bench.runner.readable(self.at, self.topics)

    def store(self, until: int) -> CycleResult:
        position = self.reads_from()[ORDERS]
        result = CycleResult(dict(self.at))
        self.bench.runner.store({ORDERS: Range(position, position, until)}, self.topics, result, never)
        self.at = result.at
        return result

    def written(self) -> list[tuple[str, int, int]]:
        """Of the last cycle: each table with its first and its next offset."""
        return [(write.table, write.first[ORDERS], write.next[ORDERS]) for write in self.bench.plans.now]


def test_several_tables_of_a_topic_are_stored_side_by_side_and_records_count_once(bench: Bench) -> None:
    several = Several(bench, 3, 3)
    result = several.store(until=8)
    assert (bench.engine.lots, result.at, result.stored, result.records) == ([2], {ORDERS: 8}, {ORDERS: 8}, 5)
    assert several.written() == [("lake/heads", 3, 8), ("lake/lines", 3, 8)]


def test_after_a_crash_between_two_commits_each_table_gets_what_it_lacks(bench: Bench) -> None:
    several = Several(bench, 5, 2)
    assert several.at == {ORDERS: 2}
    assert several.store(until=4).at == {ORDERS: 4}
    assert several.written() == [("lake/lines", 2, 4)], "the other table has all of it"
    assert several.store(until=9).at == {ORDERS: 9}
    assert several.written() == [("lake/heads", 5, 9), ("lake/lines", 4, 9)]


def test_while_one_of_several_tables_fails_the_other_goes_on_and_the_position_stays(bench: Bench) -> None:
    several = Several(bench, 0, 0)
    bench.engine.outcomes["lake/lines"] = RestowError("no space left")
    assert several.store(until=4).stored == {}
    assert (several.at, several.reads_from()) == ({ORDERS: 0}, {ORDERS: 4}), "the table that fails has to wait"
    assert bench.runner.failures(several.topics) == (Failure("orders", "no space left"),)
    assert several.store(until=6).at == {ORDERS: 0}
    assert several.written()[-1] == ("lake/heads", 4, 6)
    del bench.engine.outcomes["lake/lines"]
    bench.now_s += 60.0
    bench.runner.settle(CycleResult(several.at), never)
    assert several.reads_from() == {ORDERS: 0}
    assert several.store(until=7).at == {ORDERS: 7}
    assert several.written() == [("lake/heads", 6, 7), ("lake/lines", 0, 7)]
    assert bench.runner.failures(several.topics) == ()


REJECTING = {"orders": TopicService(table="lake/orders", transform="shop:orders"), "clicks": TOPICS["clicks"]}
TARGET = target_of(REJECTING["orders"])


def test_bad_records_are_searched_while_other_tables_go_on_and_then_rejected(bench: Bench) -> None:
    bench.engine.bad = {ORDERS: 3}
    assert bench.store(topics=REJECTING).stored == {CLICKS: 3}
    assert not bench.runner.may_store(TARGET)
    assert bench.store({CLICKS: Range(3, 3, 9)}, REJECTING).stored == {CLICKS: 9}
    assert bench.runner.failures(REJECTING) == (), "a search is no failure"
    bench.engine.searches[0].set_result({ORDERS: {3: "hunter2 is bad"}})
    bench.store({}, REJECTING)
    assert bench.runner.may_store(TARGET)
    result = bench.store({ORDERS: Range(0, 0, 90)}, REJECTING)
    assert (result.stored, result.rejected) == ({ORDERS: 5}, [Rejected("orders", rejected=1)])
    cycle = bench.engine.cycles[-1]
    assert (cycle.bad, cycle.letters) == ({ORDERS: {3: "hunter2 is bad"}}, bench.letters["lake/orders_rejected"])
    assert bench.store({ORDERS: Range(5, 5, 90)}, REJECTING).stored == {ORDERS: 90}, "what was not searched comes next"
    assert bench.engine.cycles[-1].bad == {}


def test_too_many_bad_records_are_a_failure_and_looked_for_again_after_a_minute(bench: Bench) -> None:
    bench.engine.bad = {ORDERS: 3}
    bench.store(topics=REJECTING)
    bench.engine.searches[0].set_exception(TooManyBad({ORDERS: {3: "hunter2 is bad"}}))
    bench.store({}, REJECTING)
    [failure] = bench.runner.failures(REJECTING)
    assert failure.reason.startswith("more than 100 records in a minute can't be stored in the table lake/orders")
    assert failure.reason.endswith("The first: orders-0 at offset 3: *** is bad")
    for now_s, may_store in ((59.0, False), (61.0, True)):
        bench.now_s = now_s
        assert bench.runner.may_store(TARGET) == may_store
    bench.store(topics=REJECTING)
    assert len(bench.engine.searches) == 2


def test_a_search_that_finds_nothing_leaves_the_target_failing(bench: Bench) -> None:
    bench.engine.bad = {ORDERS: 3}
    bench.store(topics=REJECTING)
    bench.engine.searches[0].set_exception(RestowError("no record fails alone"))
    bench.store({}, REJECTING)
    assert [failure.topic for failure in bench.runner.failures(REJECTING)] == ["orders"]


def test_records_that_were_rejected_before_a_crash_are_left_out_and_not_counted_again(bench: Bench) -> None:
    bench.letters["lake/orders_rejected"] = Letters("", {ORDERS: frozenset({3})})
    bench.open("lake/orders").claims = {ORDERS: 77}
    bench.runner.open_rejects(TARGET, {ORDERS: 0})
    assert bench.letters["lake/orders_rejected"].fences == [{ORDERS: 77}]
    bench.engine.bad = {ORDERS: 3}
    result = bench.store({ORDERS: RANGES[ORDERS]}, REJECTING)
    assert (result.stored, result.rejected) == ({ORDERS: 5}, [])


@pytest.mark.parametrize("service", [{"on_bad_record": "stop"}, {"lineage": False}])
def test_where_records_can_not_be_left_out_nothing_is_searched(bench: Bench, service: Mapping[str, Any]) -> None:
    topics = {"orders": replace(REJECTING["orders"], **service)}
    bench.engine.bad = {ORDERS: 3}
    bench.store({ORDERS: RANGES[ORDERS]}, topics)
    assert bench.engine.searches == []
    assert [failure.topic for failure in bench.runner.failures(topics)] == ["orders"]


def test_rows_that_do_not_fit_the_table_are_rejected_as_bad_records_are(bench: Bench) -> None:
    differ = SchemasDiffer("column id is long in the table", "(id long)", "(id string)")
    bench.engine.outcomes["lake/orders"] = differ
    assert bench.store({ORDERS: RANGES[ORDERS]}, REJECTING).stored == {}
    del bench.engine.outcomes["lake/orders"]
    result = bench.store({ORDERS: RANGES[ORDERS]}, REJECTING)
    assert (result.stored, result.rejected) == ({ORDERS: 5}, [Rejected("orders", rejected=5)])
    assert bench.engine.cycles[-1].bad == {ORDERS: dict.fromkeys(range(5), str(differ))}
    assert bench.engine.searches == [], "all rows have one schema"

    bench.engine.outcomes["lake/orders"] = differ
    bench.store({ORDERS: Range(5, 5, 500)}, REJECTING)
    [failure] = bench.runner.failures(REJECTING)
    assert failure.reason.startswith("more than 100 records in a minute can't be stored in the table lake/orders")
    assert failure.reason.endswith("The table has (id long), the batch (id string)")


def test_rows_that_do_not_fit_the_table_stop_it_where_bad_records_do(bench: Bench) -> None:
    bench.engine.outcomes["lake/orders"] = SchemasDiffer("column id is long", "(id long)", "(id string)")
    topics = {"orders": replace(REJECTING["orders"], on_bad_record="stop")}
    for _ in range(2):
        bench.now_s += 60.0
        assert bench.store({ORDERS: RANGES[ORDERS]}, topics).stored == {}
    [failure] = bench.runner.failures(topics)
    assert failure.reason == "column id is long. The table has (id long), the batch (id string)"


def test_a_part_of_a_cycle_is_empty_only_if_all_of_its_own_records_are_left_out() -> None:
    bad = {ORDERS: {3: "bad", 4: "bad"}}
    cycle = TargetCycle(TARGET, {ORDERS: Range(0, 0, 5)}, 0.0, NullSink(), bad=bad)
    parts = [replace(cycle, ranges={ORDERS: Range(*part)}) for part in ((0, 0, 5), (0, 0, 1), (2, 3, 5), (4, 4, 5))]
    assert [part.leaves_all_out for part in parts] == [False, False, True, True]
    assert not replace(cycle, bad={}).leaves_all_out
