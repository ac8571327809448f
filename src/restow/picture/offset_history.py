"""The end offsets of the last minutes, and when a record was appended by them.

The monitor measures end offsets every second. The record at a position was appended between the last sample whose end
was at or below the position and the first whose end was above it. So its age is right to a second whatever producers
write as timestamps, and it grows on while they are silent.
"""

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from restow.model import TopicPartition

LONGEST_S: Final = 300.0
MOST_OFFSETS: Final = 8_000_000
"""Of all samples together, eight bytes each: a group of 100,000 partitions keeps 80 samples."""
UNKNOWN: Final = -1


class Begin(NamedTuple):
    """The first sample of a partition: what was written before it is older."""

    time_s: float
    end: int


@dataclass(frozen=True, slots=True)
class Sample:
    """End offsets at a time."""

    time_s: float
    columns: Mapping[TopicPartition, int]
    """Where each partition is in `ends`; the same object until the partitions change."""
    ends: "array[int]"

    def end(self, partition: TopicPartition) -> int | None:
        column = self.columns.get(partition)
        return None if column is None else self.ends[column]


class OffsetHistory:
    """The end offsets of the last minutes, one sample a measurement, in ascending time."""

    def __init__(self, longest_s: float = LONGEST_S, most_offsets: int = MOST_OFFSETS) -> None:
        self._longest_s, self._most = longest_s, most_offsets
        self._samples: list[Sample] = []

    def add(self, time_s: float, ends: Mapping[TopicPartition, int]) -> None:
        """`time_s` is when the ends were measured, on the clock of `age_s`. An out-of-order sample is ignored."""
        last = self._samples[-1] if self._samples else None
        if last is not None and time_s <= last.time_s:
            return
        same = last is not None and last.columns.keys() == ends.keys()
        columns = last.columns if same and last is not None else {each: at for at, each in enumerate(ends)}
        self._samples.append(Sample(time_s, columns, array("q", (ends[partition] for partition in columns))))
        self._drop_oldest()

    def restore(self, older: Iterable[Sample]) -> None:
        """Adds the samples of an earlier process that are older than the first one. They come in ascending time."""
        first_s = self._samples[0].time_s if self._samples else math.inf
        self._samples = [*(sample for sample in older if sample.time_s < first_s), *self._samples]
        self._drop_oldest()

    @property
    def samples(self) -> tuple[Sample, ...]:
        return tuple(self._samples)

    def begin(self, partition: TopicPartition) -> Begin | None:
        """The oldest sample that has the partition."""
        first = bisect_right(self._samples, UNKNOWN, key=lambda sample: _or_unknown(sample.end(partition)))
        sample = self._samples[first] if first < len(self._samples) else None
        end = None if sample is None else sample.end(partition)
        return None if sample is None or end is None else Begin(sample.time_s, end)

    def end(self, partition: TopicPartition) -> int | None:
        """The newest end offset."""
        return self._samples[-1].end(partition) if self._samples else None

    def age_s(self, partition: TopicPartition, position: int, now_s: float) -> float | None:
        """The age of the record at the position; 0 if there is none yet. Returns None if it was appended before the
        history begins, or if the partition is not in it."""
        samples = self._samples
        newest = self.end(partition)
        if newest is None:
            return None
        if newest <= position:
            return 0.0
        above = bisect_right(samples, position, key=lambda sample: _or_unknown(sample.end(partition)))
        after = samples[above].end(partition)
        before = samples[above - 1].end(partition) if above else None
        if before is None or after is None:
            return None
        between_s = samples[above].time_s - samples[above - 1].time_s
        appended_s = samples[above - 1].time_s + between_s * (position + 1 - before) / (after - before)
        return max(0.0, now_s - appended_s)

    def _drop_oldest(self) -> None:
        if not self._samples:
            return
        newest = self._samples[-1]
        kept = self._samples[-max(2, self._most // max(1, len(newest.columns))) :]
        oldest_s = newest.time_s - self._longest_s
        self._samples = kept[bisect_right(kept, oldest_s, key=lambda sample: sample.time_s) :]


def _or_unknown(end: int | None) -> int:
    """A sample that does not have the partition sorts before all that do."""
    return UNKNOWN if end is None else end
