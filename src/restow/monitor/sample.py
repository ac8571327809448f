"""One look at the cluster: where each partition's log begins and ends, how large it is, and who leads it.

A sample is made of columns over the partitions, because a monitor may watch 50,000 of them every second. The sources
in `restow.kafka` make samples from the brokers' answers, the study makes them from a model of a broker's log, and the
meter in `meter.py` reads them.
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
"""The size of a log that no broker told: its directory is offline, or the right to ask is missing."""

NO_ANSWER: Final = -1
"""The end offset of a partition that is there, but whose leader gave no answer this time."""


class PartitionLook(NamedTuple):
    """One row of a sample, for whoever makes one by hand."""

    end_offset: int
    size_bytes: int | None
    """Of the leader's log; None: it can't be read."""
    start_offset: int = 0
    leader: int = 1
    compacted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    time_s: float
    """On a clock that never goes back; only differences count."""
    partitions: tuple[TopicPartition, ...]
    """Sorted. Give the same tuple again while the partitions stay the same: that spares a comparison."""
    topic_ids: Mapping[str, str]
    """A topic that was deleted and created again has another id. Topics without a known id may be left out."""
    leader: Integers
    """The broker whose log the size is of. Sizes of two brokers' logs are never compared."""
    start_offset: Integers
    end_offset: Integers
    """Or NO_ANSWER."""
    size_bytes: Integers
    """Of the leader's log, or UNREADABLE."""
    compacted: Flags
    """Whether the topic's cleanup.policy is to compact, as far as is known."""
    record_bytes: Mapping[TopicPartition, float] = field(default_factory=dict)
    """Of partitions whose log's size nobody has ever told: of a record, by those that were read."""

    def __post_init__(self) -> None:
        for column in (self.leader, self.start_offset, self.end_offset, self.size_bytes, self.compacted):
            assert column.shape == (len(self.partitions),), "a column has one value a partition"

    @classmethod
    def of(
        cls, time_s: float, looks: Mapping[TopicPartition, PartitionLook], topic_ids: Mapping[str, str] | None = None
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
