"""Seconds behind: the age of the oldest record that is not in its table yet.

The monitor measures end offsets every second. `OffsetHistory` keeps some minutes of them; the record at a position was
appended between the last sample whose end was at or below the position and the first whose end was above it. So the
age is right to a second whatever the producers write as timestamps, and it grows on while producers are silent.
"""

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from restow.model import SortedMapping, TopicPartition
from restow.picture.picture import Lag
from restow.protocol.messages import (
    ConsumerReport,
    FromConsumer,
    Offsets,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)

LONGEST_S: Final = 300.0
MOST_OFFSETS: Final = 8_000_000
"""Of all samples together, eight bytes each: a group of 100,000 partitions keeps 80 samples."""


@dataclass(frozen=True, slots=True)
class _Sample:
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
        self._samples: list[_Sample] = []

    def add(self, time_s: float, ends: Mapping[TopicPartition, int]) -> None:
        """`time_s` is when the ends were measured, on the clock of `age_s`. An out-of-order sample is ignored."""
        last = self._samples[-1] if self._samples else None
        if last is not None and time_s <= last.time_s:
            return
        same = last is not None and last.columns.keys() == ends.keys()
        columns = last.columns if same and last is not None else {each: at for at, each in enumerate(ends)}
        self._samples.append(_Sample(time_s, columns, array("q", (ends[partition] for partition in columns))))
        most = max(2, self._most // max(1, len(columns)))
        kept = self._samples[-most:]
        self._samples = kept[bisect_right(kept, time_s - self._longest_s, key=lambda sample: sample.time_s) :]

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


def _or_unknown(end: int | None) -> int:
    """A sample that does not have the partition sorts before all that do."""
    return -1 if end is None else end


class LagTracker:
    """The lag of every partition whose position is known, read or not."""

    def __init__(self) -> None:
        self._history = OffsetHistory()
        self._positions: dict[TopicPartition, int] = {}

    def measured(self, time_s: float, ends: Mapping[TopicPartition, int]) -> None:
        """New end offsets. `time_s` is when they were measured, on the clock of `lags`."""
        self._history.add(time_s, ends)

    def heard(self, message: FromConsumer) -> None:
        """A message of the consumer that holds, or held, its partitions."""
        match message:
            case ConsumerReport(lag_records=lags, next_offsets=offsets):
                self._positions.update(offsets or self._estimated(lags))
            case StartConsumingEvent(partitions=offsets) | StateQueryResponse(partitions=offsets):
                self._positions.update(offsets)
            case StopConsumingEvent(partitions=stopped):
                known = ((partition, offset) for partition, offset in stopped.items() if offset is not None)
                self._positions.update(known)
            case _:
                pass

    def lags(self, now_s: float) -> dict[TopicPartition, Lag]:
        found: dict[TopicPartition, Lag] = {}
        for partition, position in self._positions.items():
            end = self._history.end(partition)
            if end is not None:
                age_s = self._history.age_s(partition, position, now_s)
                found[partition] = Lag(max(0, end - position), None if age_s is None else round(age_s, 1))
        return found

    def _estimated(self, lags: Offsets) -> Offsets:
        """The positions of a consumer that reports lags only, as older ones do."""
        ends = {partition: self._history.end(partition) for partition in lags}
        return SortedMapping(
            {partition: max(0, end - lags[partition]) for partition, end in ends.items() if end is not None}
        )
