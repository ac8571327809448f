"""The Spark pipeline: reads exact offset ranges from Kafka, runs the user's transforms, and writes Delta tables.

This module is the Kafka side: it looks at the log end of every partition, plans which offsets a cycle reads, and
commits the group's offsets. cycle.py stores what was planned and owns Spark and the sinks. Spark runs in its own
thread, so that commands are heard during a cycle. Without new records no Spark job starts and nothing is written.
"""

import faulthandler
import logging
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from restow.backoff import News
from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import AssignmentChanged, CycleEnded, RefusedPartitions
from restow.consumer.pace import Pace
from restow.consumer.patience import SHARE_OF_GRACE
from restow.consumer.pipeline import Plans, ShouldEnd
from restow.consumer.planning import Backlog, Care, ReadPlan, few_new, plan_with_care
from restow.consumer.warmth import Warmth
from restow.errors import RestowError
from restow.kafka.offsets import GroupOffsets, LogOffsets
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.pipeline.cycle import CycleResult, CycleRunner
from restow.pipeline.delta.rejects import RejectTable
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import Writer
from restow.pipeline.in_flight import NoPlans
from restow.pipeline.places import place_of
from restow.pipeline.secrets import Secrets
from restow.pipeline.sinks import OpenDeadLetters, OpenSink
from restow.pipeline.spark.engine import Engine
from restow.pipeline.spark.session import Resources
from restow.pipeline.spark.writing import write_files
from restow.pipeline.start_offsets import Opener
from restow.pipeline.targets import Target, target_of
from restow.pipeline.transforms import TransformError
from restow.protocol.field_types import BrokenTransforms, StartFrom
from restow.protocol.topic_service import TopicService
from restow.settings import Settings

log = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 0.2
"""How often an idle cycle asks for the log ends: one request to each broker, 3 ms for 100 partitions."""
LOOK_AT_LEAST_EVERY_S: Final = 1.0
SLICE_S: Final = 0.02
BROKERS: Final = "brokers"
REHEARSALS: Final = 8
"""How often a consumer without partitions, such as a spare, runs cycles that store nothing: by then they are fast."""

NO_CONSUMER: Final = ConsumerId(0)
"""The number of a writer that is no consumer of the group, such as `restow consume --once`."""


def spark_pipeline(
    settings: Settings,
    name: str,
    consumer: ConsumerId,
    environment: Mapping[str, str],
    plans: Plans | None = None,
    code: str | None = None,
) -> "SparkPipeline":
    """A pipeline that writes Delta tables. `environment` has what the platform sets: RESTOW_CORES, RESTOW_MEMORY_MB;
    `code` is the digest of the transforms' modules."""
    cores, memory_mb = environment.get("RESTOW_CORES"), environment.get("RESTOW_MEMORY_MB")
    resources = Resources(name, float(cores) if cores else None, int(memory_mb) if memory_mb else None)
    # The consumer's incarnation is unknown until Spark is warm; in names of directories the start time serves as well.
    writer = Writer(settings.group.name, consumer, incarnation=time.time_ns() // 1_000_000)
    engine = Engine(settings, resources, code)
    engine.begin()

    def open_sink(table: str) -> DeltaSink:
        uri, former = place_of(table, settings)
        return DeltaSink(uri, writer, settings.table, write_files, former)

    def open_letters(table: str) -> RejectTable:
        return RejectTable(place_of(table, settings).uri, writer, settings.table, write_files)

    return SparkPipeline(settings, engine, open_sink, open_letters, plans)


class SparkPipeline:
    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        open_sink: OpenSink,
        open_letters: OpenDeadLetters,
        plans: Plans | None = None,
    ) -> None:
        self._limits = settings.consumer
        self._group = GroupOffsets(settings.kafka, settings.group.name)
        self._log_offsets = LogOffsets(settings.kafka)
        self._opener = Opener(settings.kafka, self._group, self._log_offsets)
        self._secrets = Secrets(settings, os.environ)
        most_patience_s = SHARE_OF_GRACE * self._limits.grace_s
        redact = self._secrets.redact
        self._runner = CycleRunner(engine, open_sink, open_letters, plans or NoPlans(), most_patience_s, redact)
        self._news = News()
        self._pace = Pace.at_first(self._limits.cycle_s, self._limits.longest_cycle_s, self._limits.cycle_bytes)
        self._warmth, self._rehearsals_left = Warmth(), REHEARSALS
        self._at: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        """The log ends as last seen."""
        self._firsts: dict[TopicPartition, int] = {}
        """The oldest offset of each partition when it was first read with a backlog."""
        self._care, self._suspects = Care(), frozenset[TopicPartition]()
        self._begun_s = 0.0
        """When the last cycle that read something began."""

    @property
    def missed_records(self) -> int:
        """How many records retention deleted before they were read, in all partitions."""
        return self._runner.missed_records

    @property
    def is_searching(self) -> bool:
        """Whether bad records are being looked for, so that their topics wait."""
        return self._runner.is_searching

    def warm_up(self, should_end: ShouldEnd) -> None:
        self._runner.warm_up(should_end)

    def broken_transforms(self, services: Iterable[TopicService], should_end: ShouldEnd) -> BrokenTransforms:
        return self._runner.broken_transforms({target_of(service) for service in services}, should_end)

    def dump_threads(self) -> None:
        faulthandler.dump_traceback()
        self._runner.dump_threads()

    def close(self) -> None:
        self._runner.close()
        self._group.close()

    def change(self, change: ChangeAssignment) -> AssignmentChanged:
        stopped = {partition: self._at.pop(partition) for partition in change.stop}
        self._firsts = {partition: first for partition, first in self._firsts.items() if partition in self._at}
        self._group.commit(stopped, wait=True)
        started: dict[TopicPartition, int] = {}
        refused: list[RefusedPartitions] = []
        for topic in sorted({partition.topic for partition in change.start}):
            wanted = {p: start for p, start in change.start.items() if p.topic == topic}
            try:
                opened, gaps = self._open(wanted, change.topics[topic])
            except TransformError as error:
                refused.append(RefusedPartitions(tuple(wanted), "transform", self._secrets.redact(str(error))))
            except RestowError as error:
                refused.append(RefusedPartitions(tuple(wanted), "table", self._secrets.redact(str(error))))
            else:
                started |= opened
                refused += gaps
        self._at |= started
        self._runner.keep(target_of(service) for service in change.topics.values())
        self._group.begin(started, {topic for topic, service in change.topics.items() if service.table is not None})
        if started:
            self._begun_s = 0.0  # they have waited already: the next cycle begins at once
        return AssignmentChanged(SortedMapping(started), SortedMapping(stopped), tuple(refused))

    def cycle(self, cycle: RunCycle, should_end: ShouldEnd) -> CycleEnded:
        result = CycleResult(dict(cycle.positions))
        self._suspects = frozenset(cycle.suspects)
        self._runner.settle(result, should_end)
        waited_s = time.monotonic()
        planned = self._wait_for_data(result.at, cycle.topics, should_end)
        if not planned.ranges:
            ended = self._ended(result, cycle.topics, took_s=time.monotonic() - waited_s)
            if not cycle.positions and self._rehearsals_left and self._warmth.is_cold(()):
                self._rehearse(should_end)
            return ended
        self._begun_s = begun_s = time.monotonic()
        self._care.began(planned.ranges, self._suspects)
        self._runner.store(planned.ranges, cycle.topics, result, should_end, self._pace.expected_s)
        took_s = time.monotonic() - begun_s
        is_cold, self._warmth = self._warmth.is_cold(planned.ranges), self._warmth.after(planned.ranges, took_s)
        if result.is_cancelled:
            self._pace = self._pace.after_cancelled()
        elif not result.is_disturbed:
            self._pace = self._pace.after(result.bytes, took_s, is_cold=is_cold)
        ended = self._ended(result, cycle.topics, took_s)
        return replace(ended, saturated=planned.is_cut, busy_s=took_s, is_cold=is_cold)

    def _rehearse(self, should_end: ShouldEnd) -> None:
        begun_s = time.monotonic()
        read = self._runner.rehearse(should_end)
        self._warmth = self._warmth.after(read, time.monotonic() - begun_s)
        self._rehearsals_left -= 1

    def _ended(self, result: CycleResult, topics: Mapping[str, TopicService], took_s: float) -> CycleEnded:
        begun_s = time.monotonic()
        self._group.commit(result.stored)
        offsets_s = time.monotonic() - begun_s
        self._runner.end()
        dropped = {partition for refused in result.dropped for partition in refused.partitions}
        self._at = {partition: at for partition, at in result.at.items() if partition not in dropped}
        lag_records = {p: max(0, self._ends.get(p, at) - at) for p, at in self._at.items()}
        return CycleEnded(
            positions=SortedMapping(self._at),
            lag_records=SortedMapping(lag_records),
            records=result.records,
            bytes=result.bytes,
            took_s=took_s,
            dropped=tuple(result.dropped),
            gaps=tuple(result.gaps),
            rejected=tuple(result.rejected),
            failures=self._runner.failures(topics),
            rows=result.rows,
            steps_s=_steps_s(result, took_s, offsets_s),
            commits_s=tuple(result.commits_s),
            bytes_by_topic=SortedMapping(result.bytes_by_topic),
            is_disturbed=result.is_disturbed,
        )

    def _open(
        self, wanted: Mapping[TopicPartition, StartFrom], service: TopicService
    ) -> tuple[dict[TopicPartition, int], list[RefusedPartitions]]:
        positions, refused = dict[Target, dict[TopicPartition, int]](), dict[TopicPartition, str]()
        for target, sink, schema in self._runner.open(target_of(service)):
            opened = self._opener.open(wanted, service, sink, schema)
            self._runner.open_rejects(target, opened.offsets)
            positions[target], refused = opened.offsets, refused | opened.refused
        offsets = {p: at for p, at in self._runner.opened(positions).items() if p not in refused}
        return offsets, [RefusedPartitions((p,), "gap", reason) for p, reason in sorted(refused.items())]

    def _wait_for_data(
        self, at: Mapping[TopicPartition, int], topics: Mapping[str, TopicService], should_end: ShouldEnd
    ) -> ReadPlan:
        """What the cycle reads; an empty plan if nothing arrived within `cycle_s`, or `should_end` came first. A cycle
        that isn't full begins `cycle_s` after the previous one at the earliest, so that a trickle of records doesn't
        become many small files."""
        read_from = self._runner.readable(at, topics)
        give_up_s, look_s = time.monotonic() + self._limits.cycle_s, 0.0
        while True:
            now_s = time.monotonic()
            if now_s >= look_s:
                # A cycle that isn't full has to wait anyway: until it is due, looking more often gains nothing.
                due_in_s = self._begun_s + self._limits.cycle_s - now_s
                look_s = now_s + max(LOOK_EVERY_S, min(due_in_s, LOOK_AT_LEAST_EVERY_S))
                planned = self._plan(at, read_from)
            may_begin = planned.is_cut or now_s >= self._begun_s + self._limits.cycle_s
            if planned.ranges and may_begin:
                return planned
            if should_end() or now_s >= give_up_s:
                return ReadPlan(SortedMapping(), 0.0, is_cut=False)
            time.sleep(SLICE_S)

    def _plan(self, at: Mapping[TopicPartition, int], read_from: Mapping[TopicPartition, int]) -> ReadPlan:
        ends, error = self._log_offsets.last_stable(at)
        self._ends |= ends
        changed = [p for p, position in read_from.items() if p in ends and ends[p] != position]
        firsts: Mapping[TopicPartition, int] = {}
        if changed:
            firsts, first_error = self._log_offsets.first(changed)
            error = error or first_error
        self._log_broker_errors(error)
        backlogs = {p: self._backlog(p, read_from[p], firsts[p]) for p in changed if p in firsts}
        begun_with = few_new(backlogs, self._warmth.read)
        planned = plan_with_care(begun_with, self._pace.bytes, self._suspects, self._care)
        if len(begun_with) < len(backlogs):
            planned = replace(planned, is_cut=True)  # the next cycle begins at once
        for partition in planned.truncated:
            end, position = ends[partition], read_from[partition]
            line = f"{partition} ends at {end}, before its position {position}; was its topic recreated?"
            if self._news.is_new(partition, line):
                log.error("%s", line)
        return planned

    def _backlog(self, partition: TopicPartition, at: int, first: int) -> Backlog:
        is_deleted_from = first > self._firsts.setdefault(partition, first)
        return Backlog(at, first, self._ends[partition], self._runner.record_bytes(partition.topic), is_deleted_from)

    def _log_broker_errors(self, error: RestowError | None) -> None:
        """Once until all partitions have an answer again. The text is not compared: it names a changing partition."""
        if error and self._news.is_new(BROKERS, "failing"):
            log.warning("%s; it is retried, and partitions with known ends continue", error)
        elif not error and self._news.is_over(BROKERS):
            log.info("the ends of all partitions are known again")


def _steps_s(result: CycleResult, took_s: float, offsets_s: float) -> SortedMapping[str, float]:
    """Of a cycle that stored something. What is left over is the plan on the volume and the table's maintenance."""
    if not result.stored:
        return SortedMapping()
    rest_s = max(0.0, took_s - result.write_s - result.commit_s)
    return SortedMapping({"write": result.write_s, "commit": result.commit_s, "offsets": offsets_s, "rest": rest_s})
