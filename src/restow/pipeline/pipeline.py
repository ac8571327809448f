"""The Spark pipeline: reads exact ranges of Kafka's partitions, runs a person's transforms, writes lake tables.

A cycle looks at the ends of its partitions, plans what to take of each, and has it stored (`storing.py`). Spark works
in a thread of its own; this one listens meanwhile. With nothing to read no job is started and nothing is written. What
can't be stored is read again later, after a rest that grows, and the other tables go on.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import AssignmentChanged, CycleEnded, RefusedPartitions
from restow.consumer.pipeline import Plans, ShouldEnd
from restow.consumer.planning import Pace, Plan, Waiting, plan
from restow.errors import RestowError
from restow.kafka.offsets import GroupOffsets, LogOffsets
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.cycle import Outcome, Storing
from restow.pipeline.in_flight import NoPlans, UnderWay
from restow.pipeline.rests import Once, Rests
from restow.pipeline.spark.engine import Engine
from restow.pipeline.start_offsets import Opener, OpenTable, Sinks, target_of
from restow.pipeline.transforms import TransformTrouble
from restow.protocol.messages import StartFrom, TopicService
from restow.settings import Settings

LOOK_EVERY_S: Final = 0.2
"""While there is nothing, the ends are looked at this often: a request to each broker, and for 100 partitions 3 ms."""
LOOK_AT_LEAST_EVERY_S: Final = 1.0
SLICE_S: Final = 0.02
BROKERS: Final = "brokers"
"""They rest as targets do: what they don't answer is said once."""
SHARE_OF_GRACE: Final = 0.4
"""So much of the grace time a running cycle is given when somebody waits for its end. Then it is dropped. The rest is
for ending, also where brokers don't answer: 6 s for the group's offsets, 10 s for the last word to the controller."""


class SparkPipeline:
    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        open_table: OpenTable,
        say: Callable[[str], None],
        plans: Plans | None = None,
    ) -> None:
        self._limits, self._say = settings.consumer, say
        self._group = GroupOffsets(settings.kafka, settings.group.name)
        self._log_offsets = LogOffsets(settings.kafka)
        self._opener = Opener(settings.kafka, self._group, self._log_offsets)
        self._sinks = Sinks(open_table)
        self._under_way = UnderWay(plans or NoPlans(), self._sinks, say)
        self._engine = engine
        self._rests, self._once = Rests(say), Once(say)
        self._storing = Storing(
            engine, self._sinks, self._under_way, self._rests, SHARE_OF_GRACE * self._limits.grace_s, say
        )
        self._pace = Pace.at_first(self._limits.cycle_s, self._limits.cycle_bytes)
        self._at: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        """As they were last seen."""
        self._begun_s = 0.0
        """When the last cycle that read something began."""

    @property
    def missed_records(self) -> int:
        """Of all partitions: what was deleted before it was read."""
        return self._storing.missed_records

    def warm_up(self, should_end: ShouldEnd) -> None:
        self._engine.start(should_end)
        if not should_end():
            self._engine.aside(self._under_way.recover, should_end)

    def close(self) -> None:
        self._engine.close()
        self._group.close()
        self._sinks.keep(())

    def change(self, change: ChangeAssignment) -> AssignmentChanged:
        stopped = {partition: self._at.pop(partition) for partition in change.stop}
        self._group.commit(stopped, wait=True)
        started: dict[TopicPartition, int] = {}
        refused: list[RefusedPartitions] = []
        for topic in sorted({partition.topic for partition in change.start}):
            wanted = {p: start for p, start in change.start.items() if p.topic == topic}
            try:
                begun, gaps = self._open(wanted, change.topics[topic])
            except TransformTrouble as error:
                refused.append(RefusedPartitions(tuple(wanted), "transform", str(error)))
            except RestowError as error:
                refused.append(RefusedPartitions(tuple(wanted), "table", str(error)))
            else:
                started |= begun
                refused += gaps
        self._at |= started
        self._keep(change.topics.values())
        self._group.commit(started, wait=True)
        return AssignmentChanged(SortedMapping(started), SortedMapping(stopped), tuple(refused))

    def cycle(self, cycle: RunCycle, should_end: ShouldEnd) -> CycleEnded:
        outcome = Outcome(dict(cycle.positions))
        self._storing.settle(outcome, should_end)
        waited_s = time.monotonic()
        planned = self._wait_for_data(outcome.at, cycle.topics, should_end)
        if not planned.ranges:
            return self._ended(outcome, is_cut=False, took_s=time.monotonic() - waited_s)
        self._begun_s = begun_s = time.monotonic()
        self._storing.store(planned.ranges, cycle.topics, outcome, should_end)
        took_s = time.monotonic() - begun_s
        self._pace = self._pace.after(outcome.bytes, took_s)
        return self._ended(outcome, planned.is_cut, took_s)

    def _ended(self, outcome: Outcome, is_cut: bool, took_s: float) -> CycleEnded:
        self._group.commit(outcome.stored)
        self._under_way.end()
        lost = {partition for refused in outcome.dropped for partition in refused.partitions}
        self._at = {partition: at for partition, at in outcome.at.items() if partition not in lost}
        lag_records = {p: max(0, self._ends.get(p, at) - at) for p, at in self._at.items()}
        return CycleEnded(
            positions=SortedMapping(self._at),
            lag_records=SortedMapping(lag_records),
            records=outcome.records,
            bytes=outcome.bytes,
            took_s=took_s,
            saturated=is_cut,
            dropped=tuple(outcome.dropped),
            gaps=tuple(outcome.gaps),
        )

    # What is opened.

    def _open(
        self, wanted: Mapping[TopicPartition, StartFrom], service: TopicService
    ) -> tuple[dict[TopicPartition, int], list[RefusedPartitions]]:
        target = target_of(service)
        schema = self._engine.schema_of(target)
        opened = self._opener.open(wanted, service, self._sinks.of(target), schema)
        return opened.offsets, [RefusedPartitions((p,), "gap", line) for p, line in sorted(opened.refused.items())]

    def _keep(self, services: Iterable[TopicService]) -> None:
        targets = {target_of(service) for service in services}
        self._sinks.keep(targets)
        self._rests.keep({*targets, BROKERS})

    # What is taken.

    def _wait_for_data(
        self, at: Mapping[TopicPartition, int], topics: Mapping[str, TopicService], should_end: ShouldEnd
    ) -> Plan:
        """What the cycle takes; nothing when nothing came in time, or somebody wants a word. A cycle that is not full
        begins no sooner than `cycle_s` after the one before: it would be many small ones."""
        awake = [p for p in at if self._storing.may_store(target_of(topics[p.topic]))]
        give_up_s, look_s = time.monotonic() + self._limits.cycle_s, 0.0
        while True:
            now_s = time.monotonic()
            if now_s >= look_s:
                # What isn't full may not begin before it is due: until then there is little to look for.
                due_in_s = self._begun_s + self._limits.cycle_s - now_s
                look_s = now_s + max(LOOK_EVERY_S, min(due_in_s, LOOK_AT_LEAST_EVERY_S))
                planned = self._plan(at, awake)
            may_begin = planned.is_cut or now_s >= self._begun_s + self._limits.cycle_s
            if planned.ranges and may_begin:
                return planned
            if should_end() or now_s >= give_up_s:
                return Plan(SortedMapping(), 0.0, is_cut=False)
            time.sleep(SLICE_S)

    def _plan(self, at: Mapping[TopicPartition, int], awake: Iterable[TopicPartition]) -> Plan:
        ends, trouble = self._log_offsets.last_stable(at)
        self._ends |= ends
        some = [p for p in awake if p in ends and ends[p] != at[p]]
        firsts: Mapping[TopicPartition, int] = {}
        if some:
            firsts, unknown = self._log_offsets.first(some)
            trouble = trouble or unknown
        self._rests_of_brokers(trouble)
        waiting = {
            p: Waiting(at[p], firsts[p], ends[p], self._storing.record_bytes(p.topic)) for p in some if p in firsts
        }
        planned = plan(waiting, self._pace.bytes)
        for partition in planned.lost:
            where = f"{partition} ends at {ends[partition]}, before {at[partition]}, where it is to be read"
            self._once.say(partition, f"{where}; was its topic made anew?")
        return planned

    def _rests_of_brokers(self, trouble: RestowError | None) -> None:
        if trouble:
            self._rests.failed(BROKERS, str(trouble))
        else:
            self._rests.succeeded(BROKERS, "the ends of all partitions are known again")
