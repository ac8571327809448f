"""The Spark pipeline: reads exact ranges of Kafka's partitions, runs a person's transforms, writes lake tables.

A cycle looks at the ends of its partitions, plans what to take of each, and does one thing after the other: for each
table and transform one read, one transform, one write of files, one commit that takes the files and the next offsets
together. Spark works in a thread of its own; this one listens meanwhile. With nothing to read no job is started.
What can't be stored is read again later, after a rest that grows, and the other tables go on.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import AssignmentChanged, CycleEnded, Refused
from restow.consumer.pipeline import Meanwhile
from restow.consumer.planning import Pace, Plan, Range, Waiting, plan
from restow.errors import RestowError
from restow.kafka.extents import Extents
from restow.kafka.positions import Positions
from restow.kafka.reading import Reader as GroupClient
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.engine import Engine, SparkEnded, Work
from restow.pipeline.named import TransformTrouble
from restow.pipeline.opening import Opener, OpenTable, Sinks, Target, gap_line, refusal_line, target_of
from restow.pipeline.rests import Rests
from restow.protocol.messages import StartFrom, TopicService
from restow.settings import Settings

LOOK_EVERY_S: Final = 0.1
"""While there is nothing, the ends are looked at this often: a request to each broker."""
SLICE_S: Final = 0.02
FIRST_GUESS_BYTES: Final = 1000.0
"""What a record has, before one of its topic was seen."""
BROKERS: Final = "brokers"
"""They rest as targets do: what they don't answer is said once."""
SHARE_OF_GRACE: Final = 0.5
"""So much of the grace time a running cycle is given when somebody waits for its end. Then it is dropped."""


@dataclass
class Outcome:
    stored: dict[TopicPartition, int] = field(default_factory=dict)
    """The next offset of each."""
    records: int = 0
    bytes: int = 0
    dropped: list[Refused] = field(default_factory=list)


class SparkPipeline:
    def __init__(self, settings: Settings, engine: Engine, open_table: OpenTable, say: Callable[[str], None]) -> None:
        self._limits, self._say = settings.consumer, say
        self._group = GroupClient(settings.kafka, settings.group.name, 0, say)
        self._extents = Extents(settings.kafka)
        self._opener = Opener(settings.kafka, Positions(settings.kafka, self._group.client), self._extents)
        self._sinks = Sinks(open_table)
        self._engine = engine
        self._rests = Rests(say)
        self._pace = Pace.at_first(self._limits.cycle_s, self._limits.cycle_bytes)
        self._at: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        """As they were last seen."""
        self._record_bytes: dict[str, float] = {}
        self._begun_s = 0.0
        """When the last cycle that read something began."""
        self._said: dict[TopicPartition, str] = {}
        self.missed_records = 0
        """Of all partitions: what was deleted before it was read."""

    def warm_up(self, is_to_end: Meanwhile) -> None:
        self._engine.start(is_to_end)

    def close(self) -> None:
        self._engine.close()
        self._group.close()
        self._sinks.keep(())

    def change(self, change: ChangeAssignment) -> AssignmentChanged:
        stopped = {partition: self._at.pop(partition) for partition in change.stop}
        self._group.commit(stopped, wait=True)
        started: dict[TopicPartition, int] = {}
        refused: list[Refused] = []
        for topic in sorted({partition.topic for partition in change.start}):
            wanted = {p: start for p, start in change.start.items() if p.topic == topic}
            try:
                begun, gaps = self._open(wanted, change.topics[topic])
            except TransformTrouble as error:
                refused.append(Refused(tuple(wanted), "transform", str(error)))
            except RestowError as error:
                refused.append(Refused(tuple(wanted), "table", str(error)))
            else:
                started |= begun
                refused += gaps
        self._at |= started
        self._keep(change.topics.values())
        self._group.commit(started, wait=True)
        return AssignmentChanged(SortedMapping(started), SortedMapping(stopped), tuple(refused))

    def cycle(self, cycle: RunCycle, meanwhile: Meanwhile) -> CycleEnded:
        self._at = dict(cycle.positions)
        waited_s = time.monotonic()
        planned = self._wait_for_data(cycle, meanwhile)
        if not planned.ranges:
            return self._ended(Outcome(), is_cut=False, took_s=time.monotonic() - waited_s)
        self._begun_s = begun_s = time.monotonic()
        outcome = self._run(cycle, planned, meanwhile)
        took_s = time.monotonic() - begun_s
        self._pace = self._pace.after(outcome.bytes, took_s)
        lost = {partition for refused in outcome.dropped for partition in refused.partitions}
        self._at = {p: outcome.stored.get(p, at) for p, at in self._at.items() if p not in lost}
        self._group.commit(outcome.stored)
        return self._ended(outcome, planned.is_cut, took_s)

    def _ended(self, outcome: Outcome, is_cut: bool, took_s: float) -> CycleEnded:
        self._group.take(1, 0.0)  # hears how the last commits went
        lag_records = {p: max(0, self._ends.get(p, at) - at) for p, at in self._at.items()}
        return CycleEnded(
            positions=SortedMapping(self._at),
            lag_records=SortedMapping(lag_records),
            records=outcome.records,
            bytes=outcome.bytes,
            took_s=took_s,
            saturated=is_cut,
            dropped=tuple(outcome.dropped),
        )

    # What is opened.

    def _open(
        self, wanted: Mapping[TopicPartition, StartFrom], service: TopicService
    ) -> tuple[dict[TopicPartition, int], list[Refused]]:
        target = target_of(service)
        schema = self._engine.schema_of(target)
        opened = self._opener.open(wanted, service, self._sinks.of(target), schema)
        return opened.offsets, [Refused((p,), "gap", line) for p, line in sorted(opened.refused.items())]

    def _keep(self, services: Iterable[TopicService]) -> None:
        targets = {target_of(service) for service in services}
        self._sinks.keep(targets)
        self._rests.keep({*targets, BROKERS})

    # What is taken.

    def _wait_for_data(self, cycle: RunCycle, meanwhile: Meanwhile) -> Plan:
        """What the cycle takes; nothing when nothing came in time, or somebody wants a word. A cycle that is not full
        begins no sooner than `cycle_s` after the one before: it would be many small ones."""
        awake = [p for p in cycle.positions if not self._rests.is_resting(target_of(cycle.topics[p.topic]))]
        give_up_s, look_s = time.monotonic() + self._limits.cycle_s, 0.0
        while True:
            now_s = time.monotonic()
            if now_s >= look_s:
                look_s = now_s + LOOK_EVERY_S
                planned = self._plan(cycle, awake)
            may_begin = planned.is_cut or now_s >= self._begun_s + self._limits.cycle_s
            if planned.ranges and may_begin:
                return planned
            if meanwhile() or now_s >= give_up_s:
                return Plan(SortedMapping(), 0.0, is_cut=False)
            time.sleep(SLICE_S)

    def _plan(self, cycle: RunCycle, awake: Iterable[TopicPartition]) -> Plan:
        ends, trouble = self._extents.ends(cycle.positions)
        self._ends |= ends
        some = [p for p in awake if p in ends and ends[p] != cycle.positions[p]]
        firsts: Mapping[TopicPartition, int] = {}
        if some:
            firsts, unknown = self._extents.firsts(some)
            trouble = trouble or unknown
        self._rests_of_brokers(trouble)
        waiting = {
            p: Waiting(cycle.positions[p], firsts[p], ends[p], self._record_bytes.get(p.topic, FIRST_GUESS_BYTES))
            for p in some
            if p in firsts
        }
        planned = plan(waiting, self._pace.bytes)
        for partition in planned.lost:
            at, end = cycle.positions[partition], ends[partition]
            line = f"{partition} ends at {end}, before {at}, where it is to be read; was its topic made anew?"
            self._say_once(partition, line)
        return planned

    def _rests_of_brokers(self, trouble: RestowError | None) -> None:
        if trouble:
            self._rests.failed(BROKERS, str(trouble))
        else:
            self._rests.succeeded(BROKERS, "the ends of all partitions are known again")

    # What is stored.

    def _run(self, cycle: RunCycle, planned: Plan, meanwhile: Meanwhile) -> Outcome:
        outcome = Outcome()
        ranges = self._without_refused_gaps(cycle, planned.ranges, outcome)
        for target, partitions in _by_target(ranges, cycle.topics).items():
            if outcome.stored and meanwhile():
                break  # the others are taken by the next cycle
            self._store(target, {p: ranges[p] for p in partitions}, outcome, meanwhile)
        return outcome

    def _without_refused_gaps(
        self, cycle: RunCycle, ranges: Mapping[TopicPartition, Range], outcome: Outcome
    ) -> dict[TopicPartition, Range]:
        kept = {}
        for partition, taken in ranges.items():
            if taken.missed and cycle.topics[partition.topic].on_gap == "stop":
                line = refusal_line(partition, taken.position, taken.first)
                outcome.dropped.append(Refused((partition,), "gap", line))
            else:
                kept[partition] = taken
        return kept

    def _store(
        self, target: Target, ranges: Mapping[TopicPartition, Range], outcome: Outcome, meanwhile: Meanwhile
    ) -> None:
        for partition, taken in ranges.items():
            if taken.missed:
                self._say_once(partition, gap_line(partition, taken.position, taken.first))
        sink = self._sinks.of(target)
        patience_s = SHARE_OF_GRACE * self._limits.grace_s
        try:
            done = self._engine.run(Work(target, ranges, self._size(ranges), sink), meanwhile, patience_s)
        except SparkEnded:
            raise
        except RestowError as error:
            self._rests.failed(target, str(error))
            return
        if done is None:
            self._say(f"a cycle for {sink.name} is dropped before it was stored, since somebody waits for its end")
            return
        self._rests.succeeded(target, f"{sink.name} is written again")
        if done.replaced:
            outcome.dropped += [self._replaced(sink.name, p, ranges[p].position) for p in done.replaced]
            return
        outcome.stored |= {p: taken.next for p, taken in ranges.items()}
        self._engine.tidy(sink, meanwhile)
        outcome.records += sum(counted.records for counted in done.counted.values())
        outcome.bytes += sum(counted.bytes for counted in done.counted.values())
        self.missed_records += sum(taken.missed for taken in ranges.values())
        for topic, counted in done.counted.items():
            if counted.records:
                self._record_bytes[topic] = max(1.0, counted.bytes / counted.records)

    def _size(self, ranges: Mapping[TopicPartition, Range]) -> float:
        return sum(
            taken.records * self._record_bytes.get(partition.topic, FIRST_GUESS_BYTES)
            for partition, taken in ranges.items()
        )

    def _replaced(self, sink: str, partition: TopicPartition, wanted: int) -> Refused:
        reason = f"{partition} was to go on at {wanted}, but {sink} has it elsewhere: another consumer took it over"
        return Refused((partition,), "replaced", reason)

    def _say_once(self, partition: TopicPartition, line: str) -> None:
        """A cycle that is tried again finds the same."""
        if self._said.get(partition) != line:
            self._said[partition] = line
            self._say(line)


def _by_target(
    partitions: Iterable[TopicPartition], topics: Mapping[str, TopicService]
) -> dict[Target, list[TopicPartition]]:
    found: dict[Target, list[TopicPartition]] = {}
    for partition in sorted(partitions):
        found.setdefault(target_of(topics[partition.topic]), []).append(partition)
    return dict(sorted(found.items()))
