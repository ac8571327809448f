"""The Spark pipeline: reads exact ranges of Kafka's partitions, runs a person's transforms, writes lake tables.

A cycle looks at the ends of its partitions, plans what to take of each, and does one thing after the other: for each
table and transform one read, one transform, one write of files, one commit that takes the files and the next offsets
together. What it is about is on the volume before it begins (`under_way.py`). Spark works in a thread of its own; this
one listens meanwhile. With nothing to read no job is started and nothing is written. What can't be stored is read again
later, after a rest that grows, and the other tables go on.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import AssignmentChanged, CycleEnded, Refused
from restow.consumer.pipeline import Meanwhile, Plans
from restow.consumer.planning import Pace, Plan, Range, Waiting, plan
from restow.errors import RestowError
from restow.kafka.extents import Extents
from restow.kafka.positions import Positions
from restow.kafka.reading import Reader as GroupClient
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.engine import Engine, SparkEnded, Work
from restow.pipeline.named import TransformTrouble
from restow.pipeline.opening import Opener, OpenTable, Sinks, Target, refusal_line, target_of
from restow.pipeline.rests import Rests
from restow.pipeline.under_way import NoPlans, Undertaking, UnderWay
from restow.protocol.messages import Gap, StartFrom, TopicService
from restow.settings import Settings

LOOK_EVERY_S: Final = 0.1
"""While there is nothing, the ends are looked at this often: a request to each broker."""
SLICE_S: Final = 0.02
FIRST_GUESS_BYTES: Final = 1000.0
"""What a record has, before one of its topic was seen."""
BROKERS: Final = "brokers"
"""They rest as targets do: what they don't answer is said once."""
SHARE_OF_GRACE: Final = 0.4
"""So much of the grace time a running cycle is given when somebody waits for its end. Then it is dropped. The rest is for
ending, also where brokers don't answer: 6 s for the group's offsets and 10 s for the last word to the controller."""


@dataclass
class Outcome:
    stored: dict[TopicPartition, int] = field(default_factory=dict)
    """The next offset of each."""
    records: int = 0
    bytes: int = 0
    dropped: list[Refused] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


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
        self._group = GroupClient(settings.kafka, settings.group.name, 0, say)
        self._extents = Extents(settings.kafka)
        self._opener = Opener(settings.kafka, Positions(settings.kafka, self._group.client), self._extents)
        self._sinks = Sinks(open_table)
        self._under_way = UnderWay(plans or NoPlans(), self._sinks, say)
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
        if not is_to_end():
            self._engine.aside(self._under_way.recover, is_to_end)

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
        self._at, outcome = dict(cycle.positions), Outcome()
        self._settle(outcome, meanwhile)
        waited_s = time.monotonic()
        planned = self._wait_for_data(cycle.topics, meanwhile)
        if not planned.ranges:
            return self._ended(outcome, is_cut=False, took_s=time.monotonic() - waited_s)
        self._begun_s = begun_s = time.monotonic()
        self._run(cycle.topics, planned, outcome, meanwhile)
        took_s = time.monotonic() - begun_s
        self._pace = self._pace.after(outcome.bytes, took_s)
        return self._ended(outcome, planned.is_cut, took_s)

    def _ended(self, outcome: Outcome, is_cut: bool, took_s: float) -> CycleEnded:
        self._group.commit(outcome.stored)
        self._group.take(1, 0.0)  # hears how the last commits went
        self._under_way.end()
        lost = {partition for refused in outcome.dropped for partition in refused.partitions}
        self._at = {partition: at for partition, at in self._at.items() if partition not in lost}
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

    def _wait_for_data(self, topics: Mapping[str, TopicService], meanwhile: Meanwhile) -> Plan:
        """What the cycle takes; nothing when nothing came in time, or somebody wants a word. A cycle that is not full
        begins no sooner than `cycle_s` after the one before: it would be many small ones."""
        awake = [p for p in self._at if self._may_be_stored(target_of(topics[p.topic]))]
        give_up_s, look_s = time.monotonic() + self._limits.cycle_s, 0.0
        while True:
            now_s = time.monotonic()
            if now_s >= look_s:
                look_s = now_s + LOOK_EVERY_S
                planned = self._plan(awake)
            may_begin = planned.is_cut or now_s >= self._begun_s + self._limits.cycle_s
            if planned.ranges and may_begin:
                return planned
            if meanwhile() or now_s >= give_up_s:
                return Plan(SortedMapping(), 0.0, is_cut=False)
            time.sleep(SLICE_S)

    def _may_be_stored(self, target: Target) -> bool:
        return not self._rests.is_resting(target) and not self._under_way.is_doubtful(target)

    def _plan(self, awake: Iterable[TopicPartition]) -> Plan:
        ends, trouble = self._extents.ends(self._at)
        self._ends |= ends
        some = [p for p in awake if p in ends and ends[p] != self._at[p]]
        firsts: Mapping[TopicPartition, int] = {}
        if some:
            firsts, unknown = self._extents.firsts(some)
            trouble = trouble or unknown
        self._rests_of_brokers(trouble)
        waiting = {
            p: Waiting(self._at[p], firsts[p], ends[p], self._record_bytes.get(p.topic, FIRST_GUESS_BYTES))
            for p in some
            if p in firsts
        }
        planned = plan(waiting, self._pace.bytes)
        for partition in planned.lost:
            at, end = self._at[partition], ends[partition]
            line = f"{partition} ends at {end}, before {at}, where it is to be read; was its topic made anew?"
            self._say_once(partition, line)
        return planned

    def _rests_of_brokers(self, trouble: RestowError | None) -> None:
        if trouble:
            self._rests.failed(BROKERS, str(trouble))
        else:
            self._rests.succeeded(BROKERS, "the ends of all partitions are known again")

    # What is stored.

    def _run(self, topics: Mapping[str, TopicService], planned: Plan, outcome: Outcome, meanwhile: Meanwhile) -> None:
        ranges = self._without_refused_gaps(topics, planned.ranges, outcome)
        undertakings = self._undertakings(ranges, topics)
        if undertakings:
            self._under_way.begin(undertakings)
        for undertaking in undertakings:
            if outcome.stored and meanwhile():
                break  # the others are taken by the next cycle
            self._store(undertaking, outcome, meanwhile)
        self._settle(outcome, meanwhile)

    def _without_refused_gaps(
        self, topics: Mapping[str, TopicService], ranges: Mapping[TopicPartition, Range], outcome: Outcome
    ) -> dict[TopicPartition, Range]:
        kept = {}
        for partition, taken in ranges.items():
            if taken.missed and topics[partition.topic].on_gap == "stop":
                line = refusal_line(_gap(partition, taken))
                outcome.dropped.append(Refused((partition,), "gap", line))
            else:
                kept[partition] = taken
        return kept

    def _undertakings(
        self, ranges: Mapping[TopicPartition, Range], topics: Mapping[str, TopicService]
    ) -> list[Undertaking]:
        found = []
        for target, partitions in _by_target(ranges, topics).items():
            sink = self._sinks.of(target)
            found.append(Undertaking(target, {p: ranges[p] for p in partitions}, sink, sink.staging()))
        return found

    def _store(self, undertaking: Undertaking, outcome: Outcome, meanwhile: Meanwhile) -> None:
        target, ranges, sink = undertaking.target, undertaking.ranges, undertaking.sink
        for partition, taken in ranges.items():
            if taken.missed:
                self._say_once(partition, str(_gap(partition, taken)))
        work = Work(target, ranges, self._size(ranges), sink, undertaking.staging)
        try:
            done = self._engine.run(work, meanwhile, SHARE_OF_GRACE * self._limits.grace_s)
        except SparkEnded:
            raise
        except RestowError as error:
            self._rests.failed(target, str(error))
            self._under_way.doubt(undertaking)
            return
        if done is None:
            self._say(f"a cycle for {sink.name} is dropped before it was stored, since somebody waits for its end")
            self._under_way.doubt(undertaking)
            return
        self._rests.succeeded(target, f"{sink.name} is written again")
        if done.replaced:
            outcome.dropped += [self._replaced(sink.name, p, ranges[p].position) for p in done.replaced]
            self._under_way.doubt(undertaking)
            return
        self._has_stored(ranges, outcome)
        self._engine.aside(sink.tidy, meanwhile)
        outcome.records += sum(counted.records for counted in done.counted.values())
        outcome.bytes += sum(counted.bytes for counted in done.counted.values())
        for topic, counted in done.counted.items():
            if counted.records:
                self._record_bytes[topic] = max(1.0, counted.bytes / counted.records)

    def _settle(self, outcome: Outcome, meanwhile: Meanwhile) -> None:
        """What did not end as planned, where its table may be asked again: nothing is stored there before that."""
        for undertaking in self._under_way.doubted():
            if self._rests.is_resting(undertaking.target):
                continue
            try:
                is_stored = self._engine.aside(partial(self._under_way.settle, undertaking), meanwhile)
            except RestowError as error:
                self._rests.failed(undertaking.target, str(error))
                continue
            if is_stored:
                self._has_stored(undertaking.ranges, outcome)

    def _has_stored(self, ranges: Mapping[TopicPartition, Range], outcome: Outcome) -> None:
        stored = {p: taken.next for p, taken in ranges.items() if self._at.get(p) == taken.position}
        self._at |= stored
        outcome.stored |= stored
        outcome.gaps += [_gap(partition, taken) for partition, taken in ranges.items() if taken.missed]
        self.missed_records += sum(taken.missed for taken in ranges.values())

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


def _gap(partition: TopicPartition, taken: Range) -> Gap:
    return Gap(partition, taken.position, taken.first)


def _by_target(
    partitions: Iterable[TopicPartition], topics: Mapping[str, TopicService]
) -> dict[Target, list[TopicPartition]]:
    found: dict[Target, list[TopicPartition]] = {}
    for partition in sorted(partitions):
        found.setdefault(target_of(topics[partition.topic]), []).append(partition)
    return dict(sorted(found.items()))
