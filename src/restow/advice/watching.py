"""Gathers looks at a group and the monitor's readings, and turns them into facts."""

from collections.abc import Mapping
from statistics import fmean

from restow.advice.facts import GroupFacts, PartitionFacts
from restow.errors import RestowError
from restow.model import FIRST_CONSUMER, ConsumerId, SortedMapping, TopicPartition
from restow.monitor.group_look import GroupLook
from restow.monitor.meter import MeterReading


class Watching:
    def __init__(self, group: str) -> None:
        self._group = group
        self._looks: list[GroupLook] = []
        self._bytes: dict[TopicPartition, list[float]] = {}
        self._records: dict[TopicPartition, list[float]] = {}
        self._peak_bytes_per_s = 0.0

    def add_look(self, look: GroupLook) -> None:
        self._looks.append(look)

    def add_reading(self, reading: MeterReading) -> None:
        """The means over the monitor's window. Their mean over the watch is what counts."""
        for partition, size, records in zip(
            reading.partitions, reading.bytes_per_s.tolist(), reading.records_per_s.tolist(), strict=True
        ):
            self._bytes.setdefault(partition, []).append(size)
            self._records.setdefault(partition, []).append(records)
        self._peak_bytes_per_s = max(self._peak_bytes_per_s, float(reading.bytes_per_s.sum()))

    @property
    def is_enough(self) -> bool:
        """Whether there are two looks and a reading between them."""
        return len(self._looks) > 1 and bool(self._bytes)

    def facts(self) -> GroupFacts:
        """Raises RestowError if the watch was too short."""
        if not self.is_enough:
            raise RestowError("the watch was too short to measure a speed; watch longer with --for")
        first, last = self._looks[0], self._looks[-1]
        watched_s = last.time_s - first.time_s
        sizes = self._record_sizes()
        return GroupFacts(
            group=self._group,
            watched_s=watched_s,
            state=last.state,
            protocol=last.protocol,
            assignor=last.assignor,
            members=SortedMapping(
                {
                    ConsumerId(FIRST_CONSUMER + place): member
                    for place, member in enumerate(sorted(last.members, key=lambda member: member.id))
                }
            ),
            partitions=SortedMapping(
                {each: self._partition(each, first, last, watched_s, sizes) for each in sorted(self._bytes)}
            ),
            lags=tuple((look.time_s - first.time_s, look.lag_records) for look in self._looks),
            peak_bytes_per_s=self._peak_bytes_per_s,
            has_rebalanced=any(_holders(look) != _holders(last) for look in self._looks),
        )

    def _partition(
        self, each: TopicPartition, first: GroupLook, last: GroupLook, watched_s: float, sizes: Mapping[str, float]
    ) -> PartitionFacts:
        written, records = fmean(self._bytes[each]), fmean(self._records[each])
        position, before = last.committed.get(each), first.committed.get(each)
        read = max(0, position - before) if position is not None and before is not None else 0
        return PartitionFacts(
            bytes_per_s=written,
            records_per_s=records,
            read_records_per_s=read / watched_s,
            lag_records=last.lag_of(each),
            first_lag_records=first.lag_of(each),
            record_bytes=written / records if records else sizes.get(each.topic, sizes.get("", 0.0)),
        )

    def _record_sizes(self) -> dict[str, float]:
        """The mean size by topic, for partitions that nothing was written to; under "" that of all topics."""
        written: dict[str, float] = {"": 0.0}
        records: dict[str, float] = {"": 0.0}
        for partition, sizes in self._bytes.items():
            for key in ("", partition.topic):
                written[key] = written.get(key, 0.0) + fmean(sizes)
                records[key] = records.get(key, 0.0) + fmean(self._records[partition])
        return {key: size / records[key] for key, size in written.items() if records[key]}


def _holders(look: GroupLook) -> set[tuple[str, tuple[TopicPartition, ...]]]:
    return {(member.id, member.partitions) for member in look.members}
