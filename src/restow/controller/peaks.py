"""The speeds of the last minutes, from measurements alone. closing.py asks for them.

The time is cut into buckets, and a bucket has the highest speed of each partition in it. Partitions are seldom at their
highest together, so that the sum of their maxima over minutes is far above any load that there was. So a small group
has a bucket for every 5 s, and every load of the last minutes is known. A large group has five buckets, and an older
bucket keeps a partition only if it was faster there than in every later one. A measurement costs a pass over its
partitions.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from restow.model import Speeds, TopicPartition

BUCKETS: Final = 5
"""Of a large group, and at least. A speed is remembered for up to a fifth longer than asked for."""
SHORTEST_S: Final = 5.0
"""Of a bucket: measurements that are closer say little more."""
MOST_ENTRIES: Final = 20_000
"""Speeds that a small group keeps: they are in the first line of each segment of the event log. A group is large if
this is not enough for BUCKETS buckets."""


@dataclass(frozen=True, slots=True)
class Bucket:
    begun_s: float
    highest: Mapping[TopicPartition, float]


@dataclass(frozen=True, slots=True)
class Peaks:
    buckets: tuple[Bucket, ...] = ()
    """The oldest first."""
    since_s: float | None = None
    """Since when speeds have been measured without a gap as long as they are remembered; None before the first."""

    def measured(self, speeds: Speeds, now_s: float, for_s: float, *, is_fine: bool = True) -> "Peaks":
        """With another measurement; `for_s` is how long its speeds are to be remembered. `is_fine`: whether every load
        of that time is wanted, and not only the highest speed of each partition."""
        if for_s <= 0:
            return Peaks()
        is_fine = is_fine and len(speeds) * BUCKETS <= MOST_ENTRIES
        width_s = _width_s(for_s, len(speeds)) if is_fine else for_s / BUCKETS
        if not self.buckets or now_s - self.buckets[-1].begun_s >= width_s:
            kept = tuple(bucket for bucket in self.buckets if bucket.begun_s + width_s > now_s - for_s)
            buckets = (*kept, Bucket(now_s, speeds.to_dict()))
            since_s = self.since_s if kept else now_s
            return Peaks(buckets if is_fine else (*_faster_than_later(buckets),), since_s)
        newest = self.buckets[-1]
        known = newest.highest
        higher = {each: speed for each, speed in speeds.items() if speed > known.get(each, -1.0)}
        if not higher:
            return self
        return replace(self, buckets=(*self.buckets[:-1], replace(newest, highest={**known, **higher})))

    def highest(self) -> dict[TopicPartition, float]:
        """Of each partition, over all buckets."""
        found: dict[TopicPartition, float] = {}
        for bucket in reversed(self.buckets):
            found |= {each: speed for each, speed in bucket.highest.items() if speed > found.get(each, -1.0)}
        return found

    @property
    def are_whole(self) -> bool:
        """Whether every bucket has every partition, so that each is a load that there was."""
        return bool(self.buckets) and all(len(each.highest) >= len(self.buckets[-1].highest) for each in self.buckets)

    def typical(self) -> dict[TopicPartition, float]:
        """The mean speed of each partition, scaled so that their sum is the highest total: the noise of single
        partitions is left out, and a pause of all of them too."""
        sums: dict[TopicPartition, float] = {}
        for bucket in self.buckets:
            for each, speed in bucket.highest.items():
                sums[each] = sums.get(each, 0.0) + speed
        most = max((math.fsum(bucket.highest.values()) for bucket in self.buckets), default=0.0)
        total = math.fsum(sums.values())
        return {each: speed * most / total if total else 0.0 for each, speed in sums.items()}


def _width_s(for_s: float, partitions: int) -> float:
    return max(for_s / (MOST_ENTRIES // max(1, partitions)), min(SHORTEST_S, for_s / BUCKETS))


def _faster_than_later(buckets: tuple[Bucket, ...]) -> Iterator[Bucket]:
    """Each bucket without the partitions that were as fast or faster in a later one."""
    highest: dict[TopicPartition, float] = {}
    faster: list[Bucket] = []
    for bucket in reversed(buckets):
        above = {each: speed for each, speed in bucket.highest.items() if speed > highest.get(each, -1.0)}
        highest |= above
        faster.append(replace(bucket, highest=above))
    return reversed(faster)
