"""What was seen of a consumer group."""

import math
from dataclasses import dataclass

from restow.model import Assignment, ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.monitor.group_look import Member


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    bytes_per_s: float
    """Written; the mean over the watch."""
    records_per_s: float
    read_records_per_s: float
    """Committed; the mean over the watch."""
    lag_records: int | None
    """At the end of the watch. None without a committed offset."""
    first_lag_records: int | None
    """At its beginning."""
    record_bytes: float

    @property
    def read_bytes_per_s(self) -> float:
        return self.read_records_per_s * self.record_bytes

    @property
    def lag_bytes(self) -> float:
        return (self.lag_records or 0) * self.record_bytes


@dataclass(frozen=True, slots=True)
class GroupFacts:
    group: str
    watched_s: float
    state: str
    protocol: str
    assignor: str
    members: SortedMapping[ConsumerId, Member]
    """Numbered in the order of their ids, from 1 on."""
    partitions: SortedMapping[TopicPartition, PartitionFacts]
    lags: tuple[tuple[float, int], ...]
    """Seconds into the watch, and the lag of the whole group in records."""
    peak_bytes_per_s: float
    """The highest speed of all partitions together, over a window of the monitor."""
    has_rebalanced: bool
    """Whether a member came, went or got other partitions during the watch."""

    @property
    def speeds(self) -> Speeds:
        return Speeds({partition: facts.bytes_per_s for partition, facts in self.partitions.items()})

    @property
    def assignment(self) -> Assignment:
        return Assignment.of_consumers({number: member.partitions for number, member in self.members.items()})

    @property
    def records_per_s(self) -> float:
        return math.fsum(facts.records_per_s for facts in self.partitions.values())

    @property
    def lag_records(self) -> int:
        return sum(facts.lag_records or 0 for facts in self.partitions.values())

    @property
    def without_offset(self) -> tuple[TopicPartition, ...]:
        return tuple(partition for partition, facts in self.partitions.items() if facts.lag_records is None)

    def read_bytes_per_s(self, member: ConsumerId) -> float:
        return math.fsum(self.partitions[each].read_bytes_per_s for each in self._held(member))

    def lag_of(self, member: ConsumerId) -> int:
        return sum(self.partitions[each].lag_records or 0 for each in self._held(member))

    def _held(self, member: ConsumerId) -> tuple[TopicPartition, ...]:
        return tuple(each for each in self.members[member].partitions if each in self.partitions)
