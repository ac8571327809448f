"""The light pipeline: reads with librdkafka and stores in SQLite, without Spark. The consumer around it is the same.

A cycle takes the records that are there, up to its limits of bytes and time, and stores them in one transaction per
table. Records for a table that can't be written are read again later; the other tables continue. Records of a topic
without a table are only counted, and the group's committed offset is their position.
"""

import faulthandler
import logging
import math
import os
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import AssignmentChanged, CycleEnded, RefusedPartitions
from restow.consumer.pipeline import ShouldEnd
from restow.consumer.planning import Care
from restow.errors import RestowError
from restow.kafka.offsets import GroupOffsets
from restow.kafka.reading import Record, RecordReader, total_size
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.bad_records import Rate, too_many
from restow.pipeline.light.stores import Stores, Written
from restow.pipeline.light.table import PartitionRows
from restow.pipeline.light.transforms import check_service, rows_of, split, transform_of
from restow.pipeline.searching import TooManyBad
from restow.pipeline.secrets import Secrets
from restow.pipeline.transforms import TransformError, broken_of
from restow.protocol.field_types import RECOVER, BrokenTransforms, StartFrom
from restow.protocol.messages.reports import Failure, Rejected
from restow.protocol.topic_service import TopicService
from restow.settings import Settings

log = logging.getLogger(__name__)

SLICE_S: Final = 0.01
"""How long one poll for data waits; commands are polled in between."""
GATHER_S: Final = 0.05
"""How long a cycle gathers records at least, unless a command waits: a commit for every record would cost too much."""
MOST_AT_ONCE: Final = 1000
MOST_NAMED: Final = 5
"""Bad records of a partition and cycle that the log names."""
MOST_BYTES: Final = 32_000_000
"""Of a cycle, whatever `cycle_bytes` allows: its records are in Python's memory."""

Records = Mapping[TopicPartition, list[Record]]


@dataclass(frozen=True, slots=True)
class Taken:
    records: Records
    bytes: int
    hit_a_limit: bool
    waited_s: float
    """For the first record."""


class LightPipeline:
    def __init__(self, settings: Settings, code: str | None = None) -> None:
        """`code` is the digest of the transforms' modules."""
        self._limits = settings.consumer
        self._most_bytes = min(settings.consumer.cycle_bytes, MOST_BYTES)
        self._reader = RecordReader(settings.kafka, settings.group.name, self._most_bytes)
        self._group = GroupOffsets(settings.kafka, settings.group.name)
        self._secrets = Secrets(settings, os.environ)
        self._stores = Stores(settings, code)
        self._bad_rate = Rate()
        self._at: dict[TopicPartition, int] = {}
        self._care = Care()
        self._record_bytes = 1000.0
        """The mean size of a record, so that a cycle doesn't overshoot its limit by much."""
        self._throttled_until_s = 0.0
        """When `light_bytes_per_s` allows the next record."""

    def warm_up(self, should_end: ShouldEnd) -> None:
        pass

    def broken_transforms(self, services: Iterable[TopicService], should_end: ShouldEnd) -> BrokenTransforms:
        del should_end  # imports can't be interrupted
        return broken_of((service.transform for service in services), transform_of, self._secrets.redact)

    def dump_threads(self) -> None:
        faulthandler.dump_traceback()

    def close(self) -> None:
        self._reader.close()
        self._group.close()
        self._stores.keep(())

    def change(self, change: ChangeAssignment) -> AssignmentChanged:
        stopped = {partition: self._at.pop(partition) for partition in change.stop}
        self._group.commit(stopped, wait=True)
        started: dict[TopicPartition, int] = {}
        refused: list[RefusedPartitions] = []
        for topic in sorted({partition.topic for partition in change.start}):
            wanted = {p: start for p, start in change.start.items() if p.topic == topic}
            try:
                started |= self._open(wanted, change.topics[topic])
            except TransformError as error:
                refused.append(RefusedPartitions(tuple(wanted), "transform", self._secrets.redact(str(error))))
            except RestowError as error:
                refused.append(RefusedPartitions(tuple(wanted), "table", self._secrets.redact(str(error))))
        self._at |= started
        self._stores.keep(service.table for service in change.topics.values())
        self._group.begin(started, {topic for topic, service in change.topics.items() if service.table is not None})
        self._reader.learn(partition.topic for partition in started)
        return AssignmentChanged(SortedMapping(started), SortedMapping(stopped), tuple(refused))

    def cycle(self, cycle: RunCycle, should_end: ShouldEnd) -> CycleEnded:
        begun_s = time.monotonic()
        waiting = {topic for topic, service in cycle.topics.items() if self._stores.is_waiting(service.table)}
        reads = self._with_care({p: at for p, at in cycle.positions.items() if p.topic not in waiting}, cycle.suspects)
        self._reader.read_from(reads)
        careful = [self._care.most_records(partition) for partition in cycle.suspects if partition in reads]
        most_bytes = careful[0] * self._record_bytes if careful else math.inf
        taken = self._take(should_end, most_bytes)
        read_s = time.monotonic() - begun_s
        stored, dropped, written, rejected = self._store(cycle, taken.records)
        stored_s = time.monotonic() - begun_s
        self._at = {p: stored.get(p, at) for p, at in cycle.positions.items() if p not in _partitions_of(dropped)}
        self._group.commit(stored)
        offsets_s = time.monotonic() - begun_s - stored_s
        commits_s = tuple(each.commit_s for each in written if each.commit_s)
        steps_s = {"read": read_s, "write": stored_s - read_s - sum(commits_s), "commit": sum(commits_s)}
        by_topic = _bytes_by_topic(stored, taken.records)
        took_s = time.monotonic() - begun_s
        lag_records = {p: self._reader.lag(p, at) for p, at in self._at.items()}
        return CycleEnded(
            positions=SortedMapping(self._at),
            lag_records=SortedMapping(lag_records),
            records=sum(len(taken.records[partition]) for partition in stored),
            bytes=sum(by_topic.values()),
            took_s=took_s,
            saturated=taken.hit_a_limit and any(lag_records.values()),
            dropped=dropped,
            gaps=self._reader.gaps(),
            failures=tuple(
                Failure(topic, reason)
                for topic, service in cycle.topics.items()
                if (reason := self._stores.failure(service.table))
            ),
            rejected=rejected,
            rows=sum(each.rows for each in written),
            steps_s=SortedMapping({**steps_s, "offsets": offsets_s} if stored else {}),
            commits_s=commits_s,
            busy_s=took_s - taken.waited_s if taken.records else 0.0,
            bytes_by_topic=by_topic,
            is_disturbed=len(stored) < len(taken.records),
        )

    def _open(self, wanted: Mapping[TopicPartition, StartFrom], service: TopicService) -> dict[TopicPartition, int]:
        check_service(service)
        table = self._stores.table(service.table) if service.table is not None else None
        known = table.positions(wanted) if table else {}
        begins = {p: start for p, start in wanted.items() if p not in known and start != RECOVER}
        committed = self._group.committed(set(wanted) - set(known) - set(begins))
        begins |= committed
        for partition in wanted:
            if partition not in known and partition not in begins:
                begins[partition] = self._group.start(partition, service.start)
        if table and begins:
            table.begin(begins)
        return known | begins

    def _with_care(
        self, positions: dict[TopicPartition, int], suspects: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Either one of the partitions that consumers crashed on, or all others."""
        if not suspects:
            return positions
        others = {partition: at for partition, at in positions.items() if partition not in suspects}
        chosen = self._care.suspect([each for each in suspects if each in positions], bool(others))
        reads = others if chosen is None else {chosen: positions[chosen]}
        self._care.began(reads, suspects)
        return reads

    def _take(self, should_end: ShouldEnd, most_bytes: float) -> Taken:
        """Reads up to the limits of a cycle. Without data it waits until the time limit or until `should_end`."""
        records: dict[TopicPartition, list[Record]] = {}
        self._throttle(should_end)
        begun_s = time.monotonic()
        limit = min(self._limit_bytes(), most_bytes)
        size, deadline_s, waited_s = 0, begun_s + self._limits.cycle_s, 0.0
        while True:
            most = min(max(1, round((limit - size) / self._record_bytes)), MOST_AT_ONCE)
            some, is_full = self._reader.take(most, SLICE_S)
            if not records and not some:
                waited_s = time.monotonic() - begun_s
            for record in some:
                records.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
            size += self._count(some)
            now_s = time.monotonic()
            is_all = bool(records) and not is_full and now_s >= begun_s + GATHER_S
            if should_end() or size >= limit or now_s >= deadline_s or is_all:
                return Taken(records, size, is_full, waited_s)

    def _store(
        self, cycle: RunCycle, records: Records
    ) -> tuple[dict[TopicPartition, int], tuple[RefusedPartitions, ...], list[Written], tuple[Rejected, ...]]:
        """Returns the next offsets of the stored partitions, the partitions that another consumer took over, what each
        table took, and the bad records that were left out."""
        stored: dict[TopicPartition, int] = {}
        dropped: list[RefusedPartitions] = []
        took: list[Written] = []
        bad: dict[TopicPartition, dict[int, str]] = {}
        for file, partitions in _by_table(records, cycle.topics).items():
            written = self._write(file, partitions, cycle, records, bad)
            if written is not None:
                took.append(written)
                stored |= {p: records[p][-1].offset + 1 for p in partitions if p not in written.refused}
                dropped += [_replaced(file, p, cycle.positions[p], at) for p, at in written.refused.items()]
        left_out = {p: of for p, of in bad.items() if of and p in stored}
        return stored, tuple(dropped), took, tuple(self._left_out(p, of, cycle) for p, of in left_out.items())

    def _left_out(self, partition: TopicPartition, bad: Mapping[int, str], cycle: RunCycle) -> Rejected:
        """Counts and logs the bad records of a partition that are left out of its table."""
        rejects = cycle.topics[partition.topic].on_bad_record == "reject"
        self._bad_rate.add(partition.topic, len(bad), time.monotonic())
        what = "rejected into the table rejected of its file" if rejects else "skipped"
        for offset, reason in sorted(bad.items())[:MOST_NAMED]:
            log.warning("%s at offset %d is %s: %s", partition, offset, what, self._secrets.redact(reason))
        return Rejected(partition.topic, len(bad) if rejects else 0, 0 if rejects else len(bad))

    def _rows(self, at: int, records: list[Record], service: TopicService, bad: dict[int, str]) -> PartitionRows:
        """Adds the bad records to `bad`. Raises TransformError."""
        next_offset = records[-1].offset + 1
        if service.on_bad_record == "stop":
            return PartitionRows(at, next_offset, rows_of(service.transform, records))
        most = service.most_rejected_per_min
        try:
            rows, found = split(
                service.transform, records, self._bad_rate.left(records[0].topic, most, time.monotonic())
            )
        except TooManyBad as error:
            raise TransformError(too_many(error.found, most, f"the table {service.table}")) from None
        bad.update(found)
        is_rejected = found if service.on_bad_record == "reject" else {}
        rejected = tuple((each, found[each.offset]) for each in records if each.offset in is_rejected)
        return PartitionRows(at, next_offset, rows, rejected)

    def _write(
        self,
        file: str | None,
        partitions: Iterable[TopicPartition],
        cycle: RunCycle,
        records: Records,
        bad: dict[TopicPartition, dict[int, str]],
    ) -> Written | None:
        """Returns None if the table failed and all records are to be read again. Adds the bad records to `bad`."""

        def batch() -> dict[TopicPartition, PartitionRows]:
            bad.update({p: {} for p in partitions})
            services = {p: cycle.topics[p.topic] for p in partitions}
            return {p: self._rows(cycle.positions[p], records[p], services[p], bad[p]) for p in partitions}

        return Written() if file is None else self._stores.write(file, batch)

    def _throttle(self, should_end: ShouldEnd) -> None:
        while (left_s := self._throttled_until_s - time.monotonic()) > 0 and not should_end():
            time.sleep(min(SLICE_S, left_s))

    def _limit_bytes(self) -> float:
        rate = self._limits.light_bytes_per_s
        return self._most_bytes if rate is None else min(self._most_bytes, rate * self._limits.cycle_s)

    def _count(self, records: list[Record]) -> int:
        size = total_size(records)
        if records:
            self._record_bytes += (size / len(records) - self._record_bytes) / 4
        if self._limits.light_bytes_per_s is not None:
            self._throttled_until_s = (
                max(self._throttled_until_s, time.monotonic()) + size / self._limits.light_bytes_per_s
            )
        return size


def _by_table(
    partitions: Iterable[TopicPartition], topics: Mapping[str, TopicService]
) -> dict[str | None, list[TopicPartition]]:
    found: dict[str | None, list[TopicPartition]] = {}
    for partition in sorted(partitions):
        found.setdefault(topics[partition.topic].table, []).append(partition)
    return found


def _bytes_by_topic(stored: Iterable[TopicPartition], records: Records) -> SortedMapping[str, int]:
    found: dict[str, int] = {}
    for partition in stored:
        found[partition.topic] = found.get(partition.topic, 0) + total_size(records[partition])
    return SortedMapping(found)


def _replaced(file: str | None, partition: TopicPartition, wanted: int, found: int | None) -> RefusedPartitions:
    has = "doesn't know it" if found is None else f"has it at {found}"
    reason = f"{partition} was to continue at {wanted}, but the table {file} {has}: another consumer took it over"
    return RefusedPartitions((partition,), "replaced", reason)


def _partitions_of(dropped: Iterable[RefusedPartitions]) -> set[TopicPartition]:
    return {partition for refused in dropped for partition in refused.partitions}
