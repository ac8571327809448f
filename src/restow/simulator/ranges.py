"""What a cycle of a simulated consumer reads of each partition. cycles.py plans with it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from restow.consumer.effects import RunCycle
from restow.model import TopicPartition
from restow.protocol.messages.reports import Failure
from restow.simulator.data import RECORD_BYTES

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess

SUSPECT_RECORDS: Final = 5
"""The most that the first cycle of a process reads of a partition that consumers crashed on; it doubles with each."""


@dataclass(slots=True)
class PendingRange:
    """The offsets of one partition that a cycle reads."""

    partition: TopicPartition
    row: int
    first: int
    following: int
    left: int
    """Records beyond this cycle's limit."""


@dataclass(slots=True)
class CyclePlan:
    ranges: list[PendingRange]
    gaps: list[TopicPartition]
    """Partitions whose next record was deleted."""
    failures: tuple[Failure, ...]
    unread: dict[TopicPartition, int]
    """The backlog of each partition that the cycle can't store."""
    is_cut: bool = False
    """Whether a range may end before its partition does."""


class RangePlanner:
    def __init__(self, process: "ConsumerProcess") -> None:
        self._process = process
        self._suspects_read: dict[TopicPartition, int] = {}
        """How many cycles have read each suspect."""
        self._reads_suspects = False
        """Whether the next cycle reads a suspect, and nothing else."""
        self._partitions: list[TopicPartition] = []
        self._rows: list[int] = []
        """Of the partitions of the last cycle. Most cycles have the same ones."""

    def plan(self, effect: RunCycle) -> CyclePlan:
        plan, broken = self._empty(effect)
        if self._partitions != (partitions := list(effect.positions)):
            index = self._process.world.data.index
            self._partitions, self._rows = partitions, [index[partition] for partition in partitions]
        ends = self._process.world.data.ends_of_rows(self._rows, self._process.now_s)
        wanted = 0
        for partition, row, first, end in zip(partitions, self._rows, effect.positions.values(), ends, strict=True):
            if end <= first or (plan.gaps and partition in plan.gaps):
                continue
            if broken and partition.topic in broken:
                plan.unread[partition] = end - first
            else:
                plan.ranges.append(PendingRange(partition, row, first, end, 0))
                wanted += end - first
        if effect.suspects:
            wanted = self._take_care(effect.suspects, plan)
        self._limit(effect, plan, wanted)
        return plan

    def _empty(self, effect: RunCycle) -> tuple[CyclePlan, list[str]]:
        """A plan without ranges, and the topics whose tables can't be written."""
        now_s, sinks = self._process.now_s, self._process.world.sinks
        gaps = [each for each in effect.positions if sinks.has_gap(each, now_s)] if sinks.gap_until_s else []
        broken = [topic for topic in effect.topics if sinks.is_broken(topic, now_s)]
        failures = tuple(Failure(topic, f"the table of {topic} can't be written") for topic in broken)
        return CyclePlan([], gaps, failures, {}), broken

    def _take_care(self, suspects: tuple[TopicPartition, ...], plan: CyclePlan) -> int:
        """Every other cycle reads a small range of one suspect alone, the others read the rest. What is left counts as
        a backlog. Returns how many records the cycle wants."""
        waiting = [each for each in plan.ranges if each.partition in suspects]
        rest = [each for each in plan.ranges if each.partition not in suspects]
        self._reads_suspects = bool(waiting) and (not self._reads_suspects or not rest)
        chosen = [self._process.rng.choice(waiting)] if self._reads_suspects else rest
        for each in chosen if self._reads_suspects else ():
            whole, cycles = each.following, self._suspects_read.get(each.partition, 0)
            each.following = min(whole, each.first + (SUSPECT_RECORDS << min(cycles, 20)))
            self._suspects_read[each.partition] = cycles + 1
            each.left = whole - each.following
        plan.unread.update({each.partition: each.following - each.first for each in plan.ranges if each not in chosen})
        plan.ranges, plan.is_cut = chosen, True
        return sum(each.following - each.first for each in chosen)

    def _limit(self, effect: RunCycle, plan: CyclePlan, wanted: int) -> None:
        """Shortens the ranges alike, so that the cycle reads no more than it may."""
        world = self._process.world
        machines, limit = world.machines, world.scenario.consumer.cycle_bytes
        most = (limit if machines is None else machines.most_bytes(self._process, effect.positions)) // RECORD_BYTES
        if wanted > most:
            plan.is_cut = True
            for each in plan.ranges:
                count = max(1, (each.following - each.first) * most // wanted)
                each.left = each.following - each.first - count
                each.following = each.first + count
