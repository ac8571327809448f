"""The measures of a run: consumers and their cost, moves, pauses, latency, overload and backlog.

They are taken from the world itself, not from what the controller assumes.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from restow.model import ConsumerId, TopicPartition
from restow.simulator.data import RECORD_BYTES, Data

if TYPE_CHECKING:
    from restow.simulator.ranges import PendingRange


SAMPLE_S: Final = 10.0
SLICES: Final = 4
"""The records of a cycle differ in age: they are counted as this many groups of equal age."""


class Histogram:
    """Weights by value, in bins that are each 2 % wider than the one before: quantiles are exact to 2 %."""

    EDGES: Final = [0.01 * 1.02**step for step in range(900)]

    def __init__(self) -> None:
        self._weights = [0] * (len(self.EDGES) + 1)

    def add(self, value: float, weight: int) -> None:
        self._weights[bisect_left(self.EDGES, value)] += weight

    def quantile(self, share: float) -> float:
        total = sum(self._weights)
        seen = 0
        for edge, weight in zip([*self.EDGES, self.EDGES[-1]], self._weights, strict=True):
            seen += weight
            if seen >= share * total and seen:
                return edge
        return 0.0


@dataclass(slots=True)
class Series:
    """One value per sample."""

    time_s: list[float] = field(default_factory=list)
    consumers: list[int] = field(default_factory=list)
    load_bytes_per_s: list[float] = field(default_factory=list)
    backlog_bytes: list[float] = field(default_factory=list)
    overloaded: list[int] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)
    latency_s: list[float] = field(default_factory=list)
    """Mean over the records stored since the last sample."""


class Measures:
    def __init__(self, data: Data) -> None:
        self._data = data
        self.series = Series()
        self.latency = Histogram()
        self.pauses: list[float] = []
        self.moves = 0
        self.holdings: list[tuple[float, TopicPartition, ConsumerId]] = []
        """When a partition began to be read by another consumer than before."""
        self._stored: list[int] = [0] * len(data.partitions)
        """The next offset to be stored, by partition."""
        self._stored_s: list[float] = [0.0] * len(data.partitions)
        """Everything written before this time is stored, by partition."""
        self._idle_since: dict[TopicPartition, float] = {}
        self._last_holder: dict[TopicPartition, ConsumerId] = {}
        self._aged_records = 0
        self._aged_s = 0.0

    def grown(self) -> None:
        more = len(self._data.partitions) - len(self._stored)
        self._stored += [0] * more
        self._stored_s += [0.0] * more

    def begun(self, row: int, offset: int, now_s: float) -> None:
        """A partition is read for the first time, from this offset; records before it don't count."""
        if offset > self._stored[row]:
            self._stored[row], self._stored_s[row] = offset, now_s

    def stored(self, ranges: Sequence["PendingRange"], planned_s: float, now_s: float) -> None:
        """Counts records when they are first stored; ranges of the same age are counted together."""
        ages: dict[tuple[float, float], int] = {}
        stored, stored_s = self._stored, self._stored_s
        for each in ranges:
            row = each.row
            count = each.following - stored[row]
            if count > 0:
                newest_s = self._data.written_s(row, each.following) if each.left else planned_s
                key = (stored_s[row], newest_s)
                ages[key] = ages.get(key, 0) + count
                stored[row], stored_s[row] = each.following, newest_s
        for (oldest_s, newest_s), count in ages.items():
            span_s = (newest_s - oldest_s) / SLICES
            for part in range(SLICES):
                share = (count * (part + 1)) // SLICES - (count * part) // SLICES
                age_s = now_s - oldest_s - span_s * (part + 0.5)
                self.latency.add(age_s, share)
                self._aged_s += age_s * share
            self._aged_records += count

    def held(self, partition: TopicPartition, consumer: ConsumerId, now_s: float) -> None:
        since_s = self._idle_since.pop(partition, None)
        if since_s is not None:
            self.pauses.append(now_s - since_s)
        if self._last_holder.get(partition, consumer) != consumer:
            self.moves += 1
        if self._last_holder.get(partition) != consumer:
            self.holdings.append((now_s, partition, consumer))
        self._last_holder[partition] = consumer

    def released(self, partition: TopicPartition, now_s: float) -> None:
        self._idle_since[partition] = now_s

    def forget(self, topic: str) -> None:
        """A topic that is not consumed has no pauses."""
        for partition in [partition for partition in self._idle_since if partition.topic == topic]:
            del self._idle_since[partition]

    def sample(
        self, now_s: float, consumers: int, loads: Sequence[float], capacity: float, rows: NDArray[np.int64]
    ) -> None:
        """`loads`: of each consumer; `rows`: of the consumed partitions."""
        ends = self._data.end_offsets(now_s)
        behind = np.clip(ends - np.array(self._stored), 0, None)[rows]
        series = self.series
        series.time_s.append(now_s)
        series.consumers.append(consumers)
        series.load_bytes_per_s.append(float(self._data.speeds[rows].sum()))
        series.backlog_bytes.append(float(behind.sum()) * RECORD_BYTES)
        series.overloaded.append(sum(load > capacity for load in loads))
        series.moves.append(self.moves)
        series.latency_s.append(self._aged_s / self._aged_records if self._aged_records else 0.0)
        self._aged_records, self._aged_s = 0, 0.0

    def waiting_s(self, partition: TopicPartition, now_s: float) -> float:
        """The age of the oldest record that is not stored."""
        row = self._data.index[partition]
        if self._data.end_offset(row, now_s) <= self._stored[row]:
            return 0.0
        return now_s - max(self._stored_s[row], self._data.written_s(row, self._stored[row]))

    def waiting_records(self, partition: TopicPartition, now_s: float) -> int:
        row = self._data.index[partition]
        return self._data.end_offset(row, now_s) - self._stored[row]

    def pause_quantile(self, share: float) -> float:
        ordered = sorted(self.pauses)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
