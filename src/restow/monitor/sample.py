"""One sample of the cluster: each partition's start and end offset, leader, and the size of the leader's log.

A sample consists of columns over the partitions, because a monitor may watch 50,000 of them every second.
kafka/sampler.py makes samples from the brokers' answers, the study from a model of a broker's log; meter.py reads them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from restow.model import TopicPartition

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNREADABLE: Final = -1
"""The size of a log that no broker returned: its directory is offline, or the right Describe is missing."""

NO_ANSWER: Final = -1
"""The end offset of a partition whose leader did not answer this time."""


class PartitionSample(NamedTuple):
    """One row of a sample, for `Sample.of`."""

    end_offset: int
    size_bytes: int | None
    """Of the leader's log; None if it can't be read."""
    start_offset: int = 0
    leader: int = 1
    compacted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    time_s: float
    """On a monotonic clock; only differences count."""
    partitions: tuple[TopicPartition, ...]
    """Sorted. Pass the same tuple again while the partitions stay the same, which saves a comparison."""
    topic_ids: Mapping[str, str]
    """A topic that was deleted and created again has another id. Topics whose id is unknown may be left out."""
    leader: Integers
    """The broker whose log was sized. Sizes of different brokers' logs are never compared."""
    start_offset: Integers
    end_offset: Integers
    """Or NO_ANSWER."""
    size_bytes: Integers
    """Of the leader's log, or UNREADABLE."""
    compacted: Flags
    """Whether the topic's cleanup.policy is known to include compaction."""
    record_bytes: Mapping[TopicPartition, float] = field(default_factory=dict)
    """The mean size of records that were read, for partitions whose log has never been sized."""

    def __post_init__(self) -> None:
        for column in (self.leader, self.start_offset, self.end_offset, self.size_bytes, self.compacted):
            assert column.shape == (len(self.partitions),), "a column has one value per partition"

    @classmethod
    def of(
        cls, time_s: float, looks: Mapping[TopicPartition, PartitionSample], topic_ids: Mapping[str, str] | None = None
    ) -> "Sample":
        partitions = tuple(sorted(looks))
        rows = [looks[partition] for partition in partitions]
        return cls(
            time_s=time_s,
            partitions=partitions,
            topic_ids=topic_ids or {},
            leader=whole_numbers(row.leader for row in rows),
            start_offset=whole_numbers(row.start_offset for row in rows),
            end_offset=whole_numbers(row.end_offset for row in rows),
            size_bytes=whole_numbers(UNREADABLE if row.size_bytes is None else row.size_bytes for row in rows),
            compacted=flags(row.compacted for row in rows),
        )


def whole_numbers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)


def flags(values: Iterable[bool]) -> Flags:
    return np.fromiter(values, dtype=np.bool_)
