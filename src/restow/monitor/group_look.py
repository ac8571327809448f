"""A look at any consumer group: its members, what each reads, committed offsets and ends. kafka/groups.py takes it;
advice/ makes facts of several."""

from collections.abc import Mapping
from dataclasses import dataclass

from restow.model import TopicPartition


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group, as its coordinator describes it."""

    id: str
    client: str
    host: str
    partitions: tuple[TopicPartition, ...] = ()

    @property
    def name(self) -> str:
        """Its client id and the end of its member id, which alone is unique."""
        return f"{self.client}…{self.id[-6:]}" if self.id != self.client else self.id


@dataclass(frozen=True, slots=True)
class GroupLook:
    """The group at one moment."""

    time_s: float
    """On a monotonic clock; only differences count."""
    state: str
    """`stable`, `empty`, `preparing rebalance` and so on."""
    protocol: str
    """`classic` or `consumer` (KIP-848)."""
    assignor: str
    members: tuple[Member, ...]
    committed: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]

    @property
    def lag_records(self) -> int:
        """Of the partitions with a committed offset."""
        return sum(self.lag_of(partition) or 0 for partition in self.ends)

    def lag_of(self, partition: TopicPartition) -> int | None:
        """None without a committed offset, or without an answer about the partition's end."""
        position, end = self.committed.get(partition), self.ends.get(partition)
        return None if position is None or end is None else max(0, end - position)
