"""Plans which offsets a cycle of the Spark pipeline reads: as many as its limits allow, shared out fairly.

Bytes are shared by max-min fairness: a partition with a small backlog gets all of it, and the others share the rest
evenly. So a long backlog never delays the other partitions, and spare capacity goes to the backlog.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, NamedTuple

from restow.model import SortedMapping, TopicPartition

LEAST_SHARE: Final = 1 / 8
"""Of `cycle_bytes`: a cycle may read that much however long it takes. Every cycle has fixed costs, so that on a slow
machine smaller and smaller cycles would only lower the throughput."""


class Backlog(NamedTuple):
    """The records of a partition that wait to be read."""

    position: int
    """The next offset to store."""
    first: int
    """The oldest offset that retention has left."""
    end: int
    """The last stable offset."""
    record_bytes: float
    """An estimate of the mean."""


class Range(NamedTuple):
    """The offsets of one partition that a cycle reads."""

    position: int
    first: int
    """The first offset that is read: after the position if retention deleted records in between."""
    next: int

    @property
    def records(self) -> int:
        return self.next - self.first

    @property
    def missed(self) -> int:
        """How many offsets retention deleted before they were read."""
        return self.first - self.position


@dataclass(frozen=True, slots=True)
class ReadPlan:
    ranges: SortedMapping[TopicPartition, Range]
    bytes: float
    """An estimate."""
    is_cut: bool
    """The backlog exceeds the limit."""
    truncated: tuple[TopicPartition, ...] = ()
    """Partitions whose log ends before the position: their topic was recreated, and they are not read."""


def plan_reads(backlogs: Mapping[TopicPartition, Backlog], limit_bytes: float) -> ReadPlan:
    """Every partition with a backlog gets at least one record, even beyond the limit."""
    begun = {partition: max(at.position, at.first) for partition, at in backlogs.items()}
    records = {partition: at.end - begun[partition] for partition, at in backlogs.items()}
    sizes = {p: count * backlogs[p].record_bytes for p, count in records.items() if count > 0}
    fair_share = _fair_share(sorted(sizes.values()), limit_bytes)
    ranges: dict[TopicPartition, Range] = {}
    planned_bytes, is_cut = 0.0, False
    for partition, at in backlogs.items():
        is_over = sizes.get(partition, 0.0) > fair_share
        most = max(1, int(fair_share / at.record_bytes)) if is_over else records[partition]
        count = min(records[partition], most)
        if count > 0 or (count == 0 and at.first > at.position):
            ranges[partition] = Range(at.position, begun[partition], begun[partition] + count)
            planned_bytes += count * at.record_bytes
            is_cut = is_cut or count < records[partition]
    truncated = tuple(sorted(partition for partition, at in backlogs.items() if at.end < at.position))
    return ReadPlan(SortedMapping(ranges), planned_bytes, is_cut, truncated)


def _fair_share(sizes: list[float], limit: float) -> float:
    """The most bytes that one partition may have so that all together stay within the limit. `sizes` ascend."""
    left = limit
    for index, size in enumerate(sizes):
        share = left / (len(sizes) - index)
        if size > share:
            return share
        left -= size
    return sizes[-1] if sizes else 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How many bytes a cycle may read to end within `cycle_s`, learned from the cycles before."""

    cycle_s: float
    most_bytes: float
    bytes: float

    @classmethod
    def at_first(cls, cycle_s: float, most_bytes: float) -> "Pace":
        return cls(cycle_s, most_bytes, most_bytes)

    def after(self, read_bytes: float, took_s: float) -> "Pace":
        """A small cycle teaches nothing: its fixed costs decided how long it took."""
        if took_s <= 0 or read_bytes < self.bytes / 2:
            return self
        wanted = self.bytes * min(2.0, max(0.5, self.cycle_s / took_s))
        return replace(self, bytes=min(self.most_bytes, max(wanted, self.most_bytes * LEAST_SHARE)))


def tasks(read_bytes: float, cores: int, bytes_per_task: float) -> int:
    """How many Spark tasks share a cycle's work. Every task writes a file of its own, so that few records are one."""
    return max(1, min(cores, ceil(read_bytes / bytes_per_task)))
