"""A record that kills the process is found by its crashes, and everything else is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

import pytest

from restow.consumer.checkpoint import Suspect, TableWrite
from restow.consumer.planning import Range
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.crash_memory import CrashMemory
from restow.pipeline.suspects import WITHIN_S, after_crash
from restow.pipeline.targets import Target, by_target, target_of
from restow.protocol.topic_service import TopicService

ORDERS, MORE, CLICKS = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("clicks", 0)
TOPICS = {"orders": TopicService(table="lake/orders"), "clicks": TopicService(table="lake/clicks")}


@dataclass
class Machine:
    """Consumers that restart after each crash, on one volume. Cycles read all that is left."""

    ends: Mapping[TopicPartition, int]
    killers: Mapping[TopicPartition, set[int]]
    restart_s: float = 20.0
    at: dict[TopicPartition, int] = field(default_factory=dict)
    stored: dict[TopicPartition, list[int]] = field(default_factory=dict)
    bad: dict[TopicPartition, list[int]] = field(default_factory=dict)
    suspects: tuple[Suspect, ...] = ()
    plan: tuple[TableWrite, ...] = ()
    now_s: float = 0.0
    crashes: int = 0

    def read_plan(self) -> tuple[TableWrite, ...]:
        return self.plan

    def write_plan(self, writes: tuple[TableWrite, ...]) -> None:
        self.plan = writes

    def forget_plan(self) -> None:
        self.plan = ()

    def read_suspects(self) -> tuple[Suspect, ...]:
        return self.suspects

    def write_suspects(self, suspects: tuple[Suspect, ...]) -> None:
        self.suspects = suspects

    def run(self, most_crashes: int) -> None:
        self.at = dict.fromkeys(self.ends, 0)
        while self.at != dict(self.ends):
            assert self.crashes <= most_crashes, "it crashes again and again"
            self.process()

    def process(self) -> None:
        memory = CrashMemory(self)
        memory.begin(self.plan, self.now_s)
        self.forget_plan()
        for _ in count():
            left = {p: Range(at, at, self.ends[p]) for p, at in self.at.items() if at < self.ends[p]}
            if not left:
                return
            taken = memory.carefully(left, TOPICS, own)
            assert taken
            by = {target: {p: taken[p] for p in partitions} for target, partitions in by_target(taken, TOPICS).items()}
            self.write_plan(tuple(write(target.table, ranges) for target, ranges in by.items()))
            bad = {p: set(found) for target in by for p, found in memory.killers(target).items()}
            if any(o in self.killers.get(p, ()) and o not in bad.get(p, ()) for p, r in taken.items() for o in span(r)):
                self.crashes += 1
                self.now_s += self.restart_s
                return
            for target, ranges in by.items():
                for p, r in ranges.items():
                    self.stored.setdefault(p, []).extend(o for o in span(r) if o not in bad.get(p, ()))
                    self.bad.setdefault(p, []).extend(o for o in span(r) if o in bad.get(p, ()))
                    self.at[p] = r.next
                memory.stored(target.table, ranges)
            self.forget_plan()


def own(target: Target) -> tuple[Target, ...]:
    return (target,)


def span(taken: Range) -> range:
    return range(taken.first, taken.next)


def write(table: str, ranges: Mapping[TopicPartition, Range]) -> TableWrite:
    first = {p: taken.position for p, taken in ranges.items()}
    after = {p: taken.next for p, taken in ranges.items()}
    return TableWrite(table, "", SortedMapping(first), SortedMapping(after))


@pytest.mark.parametrize("offset", [0, 1, 4_999, 99_999, 54_321])
def test_a_killer_is_found_in_few_crashes_and_nothing_else_is_left_out(offset: int) -> None:
    machine = Machine({ORDERS: 100_000, MORE: 10, CLICKS: 5000}, {ORDERS: {offset}})
    machine.run(most_crashes=7)
    assert machine.bad == {ORDERS: [offset], MORE: [], CLICKS: []}
    assert machine.stored[ORDERS] == [each for each in range(100_000) if each != offset]
    assert (machine.stored[MORE], machine.stored[CLICKS]) == (list(range(10)), list(range(5000)))
    assert machine.suspects == ()


def test_a_killer_beside_an_innocent_table_does_not_make_its_records_bad() -> None:
    machine = Machine({ORDERS: 1, CLICKS: 1}, {ORDERS: {0}})
    machine.run(most_crashes=3)
    assert machine.bad == {ORDERS: [0], CLICKS: []}
    assert machine.stored[CLICKS] == [0]


def test_crashes_that_are_far_apart_make_nothing_suspect() -> None:
    lost = [write("lake/orders", {ORDERS: Range(0, 0, 9)})]
    once = after_crash((), lost, 0.0)
    assert [each.crashes for each in after_crash(once, lost, WITHIN_S)] == [2]
    assert [each.crashes for each in after_crash(once, lost, WITHIN_S + 1)] == [1]
    elsewhere = [write("lake/orders", {ORDERS: Range(9, 9, 12)})]
    assert [each.crashes for each in after_crash(once, elsewhere, 1.0)] == [1, 1]


def test_after_one_crash_everything_is_read_as_before() -> None:
    memory = CrashMemory(Machine({}, {}))
    ranges = {ORDERS: Range(0, 0, 9), CLICKS: Range(0, 0, 9)}
    memory.begin([write("lake/orders", {ORDERS: ranges[ORDERS]})], 0.0)
    assert memory.carefully(ranges, TOPICS, own) == ranges
    assert memory.killers(target_of(TOPICS["orders"])) == {}
