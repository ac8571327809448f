"""Has a cycle's ranges stored, one target after the other: for each table and transform one read, one transform, one
write of files, one commit that takes the files and the next offsets together. `spark.py` says which ranges.

What a cycle is about is on the volume before it begins; what does not end as planned is settled before anything more is
stored in its table (`under_way.py`). A target that can't be stored rests, longer each time, and the others go on.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from restow.consumer.events import RefusedPartitions
from restow.consumer.pipeline import ShouldEnd
from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline.in_flight import Undertaking, UnderWay
from restow.pipeline.rests import Once, Rests
from restow.pipeline.spark.engine import Done, Engine, SparkEnded, Work
from restow.pipeline.start_offsets import Sinks, Target, refusal_line, target_of
from restow.protocol.messages import Gap, TopicService

FIRST_GUESS_BYTES: Final = 1000.0
"""What a record has, before one of its topic was seen."""


@dataclass
class Outcome:
    """Of a cycle, as it comes about."""

    at: dict[TopicPartition, int]
    """The next offset of each partition."""
    stored: dict[TopicPartition, int] = field(default_factory=dict)
    """The same, of those of which something was stored."""
    records: int = 0
    bytes: int = 0
    dropped: list[RefusedPartitions] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


class Storing:
    def __init__(
        self,
        engine: Engine,
        sinks: Sinks,
        under_way: UnderWay,
        rests: Rests,
        patience_s: float,
        say: Callable[[str], None],
    ) -> None:
        """`patience_s`: how long somebody may have to wait for the end of a cycle before it is dropped."""
        self._engine, self._sinks, self._under_way, self._rests = engine, sinks, under_way, rests
        self._patience_s, self._say, self._once = patience_s, say, Once(say)
        self._record_bytes: dict[str, float] = {}
        self.missed_records = 0

    def record_bytes(self, topic: str) -> float:
        """What a record of it has, as far as is known."""
        return self._record_bytes.get(topic, FIRST_GUESS_BYTES)

    def may_store(self, target: Target) -> bool:
        return not self._rests.is_resting(target) and not self._under_way.is_doubtful(target)

    def store(
        self,
        ranges: Mapping[TopicPartition, Range],
        topics: Mapping[str, TopicService],
        outcome: Outcome,
        should_end: ShouldEnd,
    ) -> None:
        undertakings = self._undertakings(_without_refused_gaps(ranges, topics, outcome), topics)
        if undertakings:
            self._under_way.begin(undertakings)
        for undertaking in undertakings:
            if outcome.stored and should_end():
                break  # the others are taken by the next cycle
            self._store(undertaking, outcome, should_end)
        self.settle(outcome, should_end)

    def settle(self, outcome: Outcome, should_end: ShouldEnd) -> None:
        """What did not end as planned, where its table may be asked again: nothing is stored there before that."""
        for undertaking in self._under_way.doubted():
            if self._rests.is_resting(undertaking.target):
                continue
            try:
                is_stored = self._engine.aside(partial(self._under_way.settle, undertaking), should_end)
            except RestowError as error:
                self._rests.failed(undertaking.target, str(error))
                continue
            if is_stored:
                self._has_stored(undertaking.ranges, outcome)

    def _undertakings(
        self, ranges: Mapping[TopicPartition, Range], topics: Mapping[str, TopicService]
    ) -> list[Undertaking]:
        found = []
        for target, partitions in _by_target(ranges, topics).items():
            sink = self._sinks.of(target)
            found.append(Undertaking(target, {p: ranges[p] for p in partitions}, sink, sink.staging()))
        return found

    def _store(self, undertaking: Undertaking, outcome: Outcome, should_end: ShouldEnd) -> None:
        target, ranges, sink = undertaking.target, undertaking.ranges, undertaking.sink
        for gap in _gaps(ranges):
            self._once.say(gap.partition, str(gap))  # a cycle that is tried again finds the same
        work = Work(target, ranges, self._size(ranges), sink, undertaking.staging)
        try:
            done = self._engine.run(work, should_end, self._patience_s)
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
            outcome.dropped += [_replaced(sink.name, p, ranges[p].position) for p in done.replaced]
            self._under_way.doubt(undertaking)
            return
        self._has_stored(ranges, outcome)
        self._count(done, outcome)
        self._engine.aside(sink.tidy, should_end)

    def _has_stored(self, ranges: Mapping[TopicPartition, Range], outcome: Outcome) -> None:
        stored = {p: taken.next for p, taken in ranges.items() if outcome.at.get(p) == taken.position}
        outcome.at |= stored
        outcome.stored |= stored
        outcome.gaps += _gaps(ranges)
        self.missed_records += sum(taken.missed for taken in ranges.values())

    def _count(self, done: Done, outcome: Outcome) -> None:
        for topic, counted in done.counted.items():
            outcome.records += counted.records
            outcome.bytes += counted.bytes
            if counted.records:
                self._record_bytes[topic] = max(1.0, counted.bytes / counted.records)

    def _size(self, ranges: Mapping[TopicPartition, Range]) -> float:
        return sum(taken.records * self.record_bytes(partition.topic) for partition, taken in ranges.items())


def _without_refused_gaps(
    ranges: Mapping[TopicPartition, Range], topics: Mapping[str, TopicService], outcome: Outcome
) -> dict[TopicPartition, Range]:
    refused = {
        gap.partition: RefusedPartitions((gap.partition,), "gap", refusal_line(gap))
        for gap in _gaps(ranges)
        if topics[gap.partition.topic].on_gap == "stop"
    }
    outcome.dropped += refused.values()
    return {partition: taken for partition, taken in ranges.items() if partition not in refused}


def _gaps(ranges: Mapping[TopicPartition, Range]) -> list[Gap]:
    return [Gap(partition, taken.position, taken.first) for partition, taken in ranges.items() if taken.missed]


def _replaced(sink: str, partition: TopicPartition, wanted: int) -> RefusedPartitions:
    reason = f"{partition} was to go on at {wanted}, but {sink} has it elsewhere: another consumer took it over"
    return RefusedPartitions((partition,), "replaced", reason)


def _by_target(
    partitions: Iterable[TopicPartition], topics: Mapping[str, TopicService]
) -> dict[Target, list[TopicPartition]]:
    found: dict[Target, list[TopicPartition]] = {}
    for partition in sorted(partitions):
        found.setdefault(target_of(topics[partition.topic]), []).append(partition)
    return dict(sorted(found.items()))
