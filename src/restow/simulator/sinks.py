"""Simulated sinks: tables that know their offsets and refuse late writes, and ordinary sinks that accept everything.

The group's committed offsets are here too; they count where no table knows better.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from restow.model import TopicPartition
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.topic_service import TopicService

Key = tuple[str, TopicPartition]


@dataclass(slots=True)
class Sinks:
    next_offset: dict[Key, int] = field(default_factory=dict)
    """By table and partition, for tables that know it."""
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    """The group's offsets."""
    broken_until_s: dict[str, float] = field(default_factory=dict)
    """Topics whose table can't be opened or written until then."""
    gap_until_s: dict[TopicPartition, float] = field(default_factory=dict)
    """Partitions with unread records deleted, until they are restored."""

    def is_broken(self, topic: str, now_s: float) -> bool:
        return now_s < self.broken_until_s.get(topic, 0.0)

    def has_gap(self, partition: TopicPartition, now_s: float) -> bool:
        return now_s < self.gap_until_s.get(partition, 0.0)

    def position(self, partition: TopicPartition, service: TopicService, start: StartFrom, end: int) -> int:
        """The table's offset, else the command's, else the group's, else the topic's start. The topic's start is
        committed at once, so that the partition begins there again after a crash before the first write."""
        if service.refuses_late_writes:
            known = self.next_offset.get((service.table or "", partition))
            if known is not None:
                return known
        if start != RECOVER:
            return start
        if partition not in self.committed:
            self.committed[partition] = end if service.start == "latest" else 0
        return self.committed[partition]

    def take(self, partition: TopicPartition, service: TopicService, first: int, following: int) -> bool:
        """Returns whether the write is accepted. A table that refuses late writes accepts what begins at its end."""
        if service.refuses_late_writes:
            key = (service.table or "", partition)
            if self.next_offset.get(key, first) != first:
                return False
            self.next_offset[key] = following
        return True

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.committed.update(offsets)
