"""Simulated sinks: tables that know where they are and refuse what doesn't fit, and ordinary ones that take everything.

Beside them the group's committed offsets, which say where to go on where no table does. Consumers ask for positions and
store; every write that was taken is told to the checkers.
"""

from dataclasses import dataclass, field

from restow.model import TopicPartition
from restow.protocol.messages import RECOVER, StartFrom, TopicService

Key = tuple[str, TopicPartition]


@dataclass(slots=True)
class Sinks:
    next_offset: dict[Key, int] = field(default_factory=dict)
    """Of each table and partition, where the table knows it."""
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    """The group's own."""
    broken_until_s: dict[str, float] = field(default_factory=dict)
    """Tables, by topic, that can't be opened or written until then."""
    gap_until_s: dict[TopicPartition, float] = field(default_factory=dict)
    """Partitions of which records were deleted that nobody has read, until somebody has put them back."""

    def is_broken(self, topic: str, now_s: float) -> bool:
        return now_s < self.broken_until_s.get(topic, 0.0)

    def has_gap(self, partition: TopicPartition, now_s: float) -> bool:
        return now_s < self.gap_until_s.get(partition, 0.0)

    def position(self, partition: TopicPartition, service: TopicService, start: StartFrom, end: int) -> int:
        """The table's own record, else what the command says, else the group's offset, else the topic's start. Where it
        is the topic's start it is committed at once, so that a crash before the first write doesn't begin elsewhere."""
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
        """Whether the write is taken. A table that refuses late writes takes what begins where it ends."""
        if service.refuses_late_writes:
            key = (service.table or "", partition)
            if self.next_offset.get(key, first) != first:
                return False
            self.next_offset[key] = following
        return True

    def commit(self, partition: TopicPartition, offset: int) -> None:
        self.committed[partition] = offset
