"""The highest speed of each partition in the last minutes, from measurements alone. closing.py asks for it.

The time is cut into buckets, and a bucket has the highest speed of each partition in it. An older bucket keeps a
partition only if it was faster there than in every later one, so that a group of steady speeds has little more than one
entry for each. A measurement costs a pass over its partitions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from restow.model import Speeds, TopicPartition

BUCKETS: Final = 5
"""A speed is remembered for up to a fifth longer than asked for: more buckets would be more exact, and more to keep."""


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

    def measured(self, speeds: Speeds, now_s: float, for_s: float) -> "Peaks":
        """With another measurement; `for_s` is how long its speeds are to be remembered."""
        if for_s <= 0:
            return Peaks()
        width_s = for_s / BUCKETS
        if not self.buckets or now_s - self.buckets[-1].begun_s >= width_s:
            kept = tuple(bucket for bucket in self.buckets if bucket.begun_s + width_s > now_s - for_s)
            newest = Bucket(now_s, speeds.to_dict())
            return Peaks((*_faster_than_later((*kept, newest)),), self.since_s if kept else now_s)
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


def _faster_than_later(buckets: tuple[Bucket, ...]) -> Iterator[Bucket]:
    """Each bucket without what later ones make superfluous."""
    highest: dict[TopicPartition, float] = {}
    faster: list[Bucket] = []
    for bucket in reversed(buckets):
        above = {each: speed for each, speed in bucket.highest.items() if speed > highest.get(each, -1.0)}
        highest |= above
        faster.append(replace(bucket, highest=above))
    return reversed(faster)
