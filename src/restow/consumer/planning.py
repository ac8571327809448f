"""Which offsets a cycle takes: as many as fit its limits, and fairly. The Spark pipeline plans every cycle with it.

Bytes are shared out as water fills vessels: whoever has little waiting gets all of it, and what is left is shared
evenly by those who have more. So a partition with a long backlog never keeps the others waiting, and a cycle that could
take more takes it from the backlog.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, NamedTuple

from restow.model import SortedMapping, TopicPartition

LEAST_SHARE: Final = 1 / 8
"""Of the limit of bytes, which a cycle may take however long that lasts. A cycle has costs that don't depend on what it
takes: on a slow machine ever smaller ones would only take ever less."""


class Waiting(NamedTuple):
    """A partition as a cycle finds it."""

    position: int
    """The next offset to be stored."""
    first: int
    """The oldest one that is still there."""
    end: int
    """The one up to which it may be read."""
    record_bytes: float
    """What a record of it has, as far as is known."""


class Range(NamedTuple):
    """What a cycle takes of a partition."""

    position: int
    first: int
    """Where reading begins: after the position if what was between has been deleted."""
    next: int

    @property
    def records(self) -> int:
        return self.next - self.first

    @property
    def missed(self) -> int:
        """How many were deleted before they were read."""
        return self.first - self.position


@dataclass(frozen=True, slots=True)
class Plan:
    ranges: SortedMapping[TopicPartition, Range]
    bytes: float
    """About what they have."""
    is_cut: bool
    """There is more than the cycle may take."""
    lost: tuple[TopicPartition, ...] = ()
    """Those that end before the position: their topic was made anew, and nothing is taken of them."""


def plan(waiting: Mapping[TopicPartition, Waiting], limit_bytes: float) -> Plan:
    """Every partition that has something gets a record at least, also where that is beyond the limit."""
    begun = {partition: max(at.position, at.first) for partition, at in waiting.items()}
    records = {partition: at.end - begun[partition] for partition, at in waiting.items()}
    sizes = {p: count * waiting[p].record_bytes for p, count in records.items() if count > 0}
    level = _level(sorted(sizes.values()), limit_bytes)
    ranges: dict[TopicPartition, Range] = {}
    taken, is_cut = 0.0, False
    for partition, at in waiting.items():
        most = max(1, int(level / at.record_bytes)) if sizes.get(partition, 0.0) > level else records[partition]
        count = min(records[partition], most)
        if count > 0 or (count == 0 and at.first > at.position):
            ranges[partition] = Range(at.position, begun[partition], begun[partition] + count)
            taken += count * at.record_bytes
            is_cut = is_cut or count < records[partition]
    lost = tuple(sorted(partition for partition, at in waiting.items() if at.end < at.position))
    return Plan(SortedMapping(ranges), taken, is_cut, lost)


def _level(sizes: list[float], limit: float) -> float:
    """How many bytes the fullest may have, so that all together have the limit. The sizes are in order."""
    left = limit
    for index, size in enumerate(sizes):
        share = left / (len(sizes) - index)
        if size > share:
            return share
        left -= size
    return sizes[-1] if sizes else 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How many bytes a cycle may take so that it ends in its time, learnt from the cycles before."""

    cycle_s: float
    most_bytes: float
    bytes: float

    @classmethod
    def at_first(cls, cycle_s: float, most_bytes: float) -> "Pace":
        return cls(cycle_s, most_bytes, most_bytes)

    def after(self, taken_bytes: float, took_s: float) -> "Pace":
        """One that took little says nothing: it lasted as long as any cycle does."""
        if took_s <= 0 or taken_bytes < self.bytes / 2:
            return self
        wanted = self.bytes * min(2.0, max(0.5, self.cycle_s / took_s))
        return replace(self, bytes=min(self.most_bytes, max(wanted, self.most_bytes * LEAST_SHARE)))


def tasks(taken_bytes: float, cores: int, bytes_of_a_task: float) -> int:
    """Into how many pieces a cycle's work is cut: one file each comes out, so that a few records are one piece."""
    return max(1, min(cores, ceil(taken_bytes / bytes_of_a_task)))
