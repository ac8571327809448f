"""The cycles of a simulated consumer: each plans and reads, stores, and waits for more. consumer.py runs them.

A cycle may crash between the commits of two tables, and between a table's commit and its own end.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from restow.consumer.effects import RunCycle
from restow.consumer.events import CycleEnded, RefusedPartitions
from restow.model import SortedMapping, TopicPartition
from restow.simulator.data import RECORD_BYTES
from restow.simulator.machines import COLD_S
from restow.simulator.ranges import CyclePlan, PendingRange, RangePlanner

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess

REPLACED: Final = "another consumer has written to the table"
GAP: Final = "records were deleted before they were read"


@dataclass(slots=True)
class Cycle:
    effect: RunCycle
    began_s: float
    plan: CyclePlan
    taken: list[PendingRange] = field(default_factory=list)
    replaced: list[TopicPartition] = field(default_factory=list)
    """Partitions whose tables refused the range."""

    @property
    def dropped(self) -> list[TopicPartition]:
        return [*self.replaced, *self.plan.gaps]

    def stored_to(self) -> dict[TopicPartition, int]:
        """The next offset of each partition that it has stored."""
        return {each.partition: each.following for each in self.taken}

    @property
    def is_saturated(self) -> bool:
        return self.plan.is_cut and any(each.left for each in self.plan.ranges)


class Cycles:
    def __init__(self, process: "ConsumerProcess", bytes_per_s: float) -> None:
        self._process, self._bytes_per_s = process, bytes_per_s
        self._planner = RangePlanner(process)
        self._is_cold = False
        self._ended: CycleEnded | None = None
        """The result of the cycle, while it waits for data and commands."""
        self.busy_s = 0.0
        """Seconds of work in cycles so far."""

    @property
    def is_idle(self) -> bool:
        """Whether a cycle has stored what there was, and waits."""
        return self._ended is not None

    def run(self, effect: RunCycle) -> None:
        process = self._process
        if not process.world.kafka.is_up:
            process.at(process.world.kafka.down_until_s + process.rng.random(), lambda: self.run(effect))
            return
        process.world.watch.reading(process, effect)
        self._ended = None
        cycle = Cycle(effect, process.now_s, self._planner.plan(effect))
        if cycle.plan.ranges:
            self._is_cold = self.busy_s < COLD_S
            ready_s = process.now_s + process.world.scenario.overhead_s
            process.at(ready_s + self._seconds(cycle.plan.ranges), lambda: self._store(cycle))
        else:
            self._store(cycle)

    def _seconds(self, ranges: list[PendingRange]) -> float:
        machines = self._process.world.machines
        if machines is not None:
            return machines.seconds(self._process, ranges)
        return RECORD_BYTES * sum(each.following - each.first for each in ranges) / self._bytes_per_s

    def _store(self, cycle: Cycle) -> None:
        process = self._process
        if process.world.poison and self._is_killed(cycle):
            return
        if not self._is_taken(cycle):
            return
        self._ended = ended = self._as_reported(cycle, _ended(cycle, process.now_s))
        for partition in cycle.dropped:
            process.release(partition)
        process.positions.update(ended.positions.to_dict())
        until_s = cycle.began_s + process.world.scenario.consumer.cycle_s
        if not process.passes():
            if process.is_alive:
                process.at(process.frozen_until_s, self.end)
        elif ended.saturated or cycle.dropped or process.now_s >= until_s:
            self.end()
        else:
            process.at(until_s, lambda: self.end() if self._ended is ended else None)

    def _is_killed(self, cycle: Cycle) -> bool:
        """Whether a record that it has read kills the process."""
        process = self._process
        for each in cycle.plan.ranges:
            offset, until_s = process.world.poison.get(each.partition, (-1, 0.0))
            if process.now_s < until_s and each.first <= offset < each.following:
                process.world.watch.poison_stays.died(process, each.partition, each.first)
                process.die()
                return True
        return False

    def _is_taken(self, cycle: Cycle) -> bool:
        """One commit per table, then the group's offsets; it may crash between any two of them. Returns whether it has
        not."""
        process, world = self._process, self._process.world
        take, stored = world.sinks.take, world.watch.stored
        topic = None
        for each in cycle.plan.ranges:
            partition = each.partition
            if partition.topic != topic:
                if topic is not None and not process.passes() and not process.is_alive:
                    return False
                topic = partition.topic
                service = cycle.effect.topics[topic]
            if take(partition, service, each.first, each.following):
                stored(process, partition, service, each.first, each.following)
                cycle.taken.append(each)
            else:
                cycle.replaced.append(partition)
        world.measures.stored(cycle.taken, cycle.began_s, process.now_s)
        if not process.passes() and not process.is_alive:
            return False
        if world.kafka.is_up:  # without them the cycle goes on all the same
            world.sinks.commit(cycle.stored_to())
        return True

    def _as_reported(self, cycle: Cycle, ended: CycleEnded) -> CycleEnded:
        process, machines = self._process, self._process.world.machines
        if machines is None:
            return ended
        self.busy_s += ended.busy_s
        if process.frozen_until_s > cycle.began_s:
            machines.misjudged.add(process.number)
        return replace(ended, busy_s=machines.reported(process, ended), is_cold=self._is_cold)

    def end(self) -> None:
        ended = self._ended
        if ended is None:
            return
        self._process.receive()
        self._ended = None
        self._process.step(ended)
        self._process.go_on()


def _ended(cycle: Cycle, now_s: float) -> CycleEnded:
    plan, replaced = cycle.plan, cycle.replaced
    positions = cycle.effect.positions.updated(cycle.stored_to())
    left = {each.partition: each.left for each in plan.ranges} if plan.is_cut else {}
    lags = positions.filled(0).updated({**plan.unread, **left})
    if dropped := cycle.dropped:
        positions, lags = (_without(dropped, each) for each in (positions, lags))
    sizes = _bytes_by_topic(cycle.taken)
    size = sum(sizes.values())
    return CycleEnded(
        positions,
        lags,
        size // RECORD_BYTES,
        size,
        now_s - cycle.began_s,
        saturated=cycle.is_saturated,
        busy_s=now_s - cycle.began_s if plan.ranges else 0.0,
        bytes_by_topic=sizes,
        is_disturbed=bool(replaced),
        failures=plan.failures,
        dropped=(
            *([RefusedPartitions(tuple(replaced), "replaced", REPLACED)] if replaced else []),
            *([RefusedPartitions(tuple(plan.gaps), "gap", GAP)] if plan.gaps else []),
        ),
    )


def _without(
    dropped: Iterable[TopicPartition], values: SortedMapping[TopicPartition, int]
) -> SortedMapping[TopicPartition, int]:
    gone = set(dropped)
    return SortedMapping({partition: value for partition, value in values.items() if partition not in gone})


def _bytes_by_topic(taken: Iterable[PendingRange]) -> SortedMapping[str, int]:
    records: dict[str, int] = {}
    for each in taken:
        topic = each.partition.topic
        records[topic] = records.get(topic, 0) + each.following - each.first
    return SortedMapping({topic: RECORD_BYTES * count for topic, count in records.items()})
