"""The producers' data: the end offset of each partition, and when a record was written.

There are no records: a partition is its speed over time, and offsets follow from it, with a kilobyte per record.
Consumers ask for the end of a partition, the measures for the age of a record.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from restow.model import TopicPartition
from restow.simulator.workloads import STEP_S, Table

RECORD_BYTES: Final = 1000


class Data:
    def __init__(self, partitions: Sequence[TopicPartition], speeds: Table) -> None:
        """`speeds` has one row per partition and one column per step."""
        self.partitions = list(partitions)
        self.index = {partition: row for row, partition in enumerate(partitions)}
        self._topics = list(dict.fromkeys(partition.topic for partition in partitions))
        places = {topic: place for place, topic in enumerate(self._topics)}
        self._topic_of = np.array([places[partition.topic] for partition in partitions], np.int64)
        """The place of each partition's topic in `_topics`."""
        self._speeds = speeds
        self._written = self._sums(speeds)
        self.speeds_now: list[float] = []
        self._written_before: list[float] = []
        self._column = 0
        """The present step. Its values are also kept as lists, where single ones are faster."""
        self._step_s = 0.0
        self.advance(0.0)

    @staticmethod
    def _sums(speeds: Table) -> NDArray[np.float64]:
        """Bytes before each step."""
        return np.concatenate([np.zeros((len(speeds), 1)), np.cumsum(speeds * STEP_S, axis=1)], axis=1)

    def advance(self, now_s: float) -> None:
        """Moves to the step of this time; called once per step."""
        step = self._column = min(int(now_s / STEP_S), self._speeds.shape[1] - 1)
        self._step_s = step * STEP_S
        self.speeds_now = self._speeds[:, step].tolist()
        self._written_before = self._written[:, step].tolist()

    def add(self, partition: TopicPartition, like: TopicPartition, now_s: float) -> None:
        """Adds a partition that begins now, as fast as another one."""
        row = self._speeds[self.index[like]].copy()
        row[: int(now_s / STEP_S) + 1] = 0.0
        self.index[partition] = len(self.partitions)
        self.partitions.append(partition)
        self._topic_of = np.append(self._topic_of, self._topics.index(partition.topic))
        self._speeds = np.vstack([self._speeds, row])
        self._written = np.vstack([self._written, self._sums(row[None, :])])
        self.advance(now_s)

    def end_offset(self, row: int, now_s: float) -> int:
        written = self._written_before[row] + self.speeds_now[row] * (now_s - self._step_s)
        return int(written / RECORD_BYTES)

    def ends_of_rows(self, rows: Iterable[int], now_s: float) -> list[int]:
        """As `end_offset` of each."""
        before, speeds, passed_s = self._written_before, self.speeds_now, now_s - self._step_s
        return [int((before[row] + speeds[row] * passed_s) / RECORD_BYTES) for row in rows]

    def end_offsets(self, now_s: float) -> NDArray[np.int64]:
        written = self._written[:, self._column] + self.speeds * (now_s - self._step_s)
        return (written / RECORD_BYTES).astype(np.int64)

    def ends(self, now_s: float) -> dict[TopicPartition, int]:
        return dict(zip(self.partitions, self.end_offsets(now_s).tolist(), strict=True))

    def ends_of_topics(self, now_s: float) -> dict[str, int]:
        """The sum of the end offsets of each topic."""
        ends = self.end_offsets(now_s)
        return {topic: int(ends[self._topic_of == place].sum()) for place, topic in enumerate(self._topics)}

    @property
    def speeds(self) -> NDArray[np.float64]:
        """As `speeds_now`."""
        return self._speeds[:, self._column]

    def rows_of(self, topics: Collection[str]) -> NDArray[np.int64]:
        """The rows of these topics' partitions."""
        return np.flatnonzero(np.array([topic in topics for topic in self._topics])[self._topic_of])

    def written_s(self, row: int, offset: int) -> float:
        """When the record before this offset was written."""
        sums = self._written[row]
        size = float(offset * RECORD_BYTES)
        step = int(np.searchsorted(sums, size, side="left")) - 1
        if step < 0:
            return 0.0
        step = min(step, self._speeds.shape[1] - 1)
        speed = float(self._speeds[row, step])
        within_s = (size - float(sums[step])) / speed if speed else STEP_S
        return float(step * STEP_S + within_s)
