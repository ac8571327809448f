"""Claims: what a process that starts after a crash would resume, and does not read before a controller has answered.

The controller may have given these partitions to another consumer meanwhile. A Start grants a claim and a Stop ends it.
If nothing is heard of a controller for `resume_after_s`, the claims in tables that refuse late writes are resumed, so
that a group without a controller heals: at worst the table refuses the writes of one of two readers. All others wait.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from restow.consumer.checkpoint import Checkpoint
from restow.consumer.commands import CommandBatch, Topics
from restow.model import SortedMapping, TopicPartition
from restow.protocol.field_types import RECOVER, Offsets, StartFrom
from restow.protocol.messages.unions import Command


@dataclass(frozen=True, slots=True)
class Claims:
    positions: Offsets = field(default_factory=SortedMapping)
    topics: Topics = field(default_factory=SortedMapping)
    """The definitions of their topics."""
    resume_after_s: float = 0.0
    since_s: float | None = None
    """Since when nothing was heard of a controller; None until the next tick."""
    is_due: bool = False
    """Whether to resume, without an answer, the claims for which that is safe."""

    @classmethod
    def of(cls, checkpoint: Checkpoint, resume_after_s: float) -> "Claims":
        return cls(checkpoint.positions, checkpoint.topics, resume_after_s)

    def ticked(self, now_s: float) -> "Claims":
        if not self.positions or self.is_due:
            return self
        if self.since_s is None:
            return replace(self, since_s=now_s)
        is_due = now_s - self.since_s >= self.resume_after_s and bool(self._resumable(SortedMapping()))
        return replace(self, is_due=is_due) if is_due else self

    def heard(self) -> "Claims":
        """A controller has sent something: it answers soon."""
        return replace(self, since_s=None, is_due=False) if self.positions else self

    def answered(self, commands: Iterable[Command]) -> "Claims":
        """Without the claims that the commands name."""
        if not self.positions:
            return self
        named = {partition for command in commands for partition in command.partitions}
        return self._without(named)

    def resumed(self, held: Topics) -> tuple["Claims", CommandBatch]:
        """What is left, and the batch that resumes what may be resumed unasked beside the topics that are `held`."""
        start = self._resumable(held)
        topics = {partition.topic: self.topics[partition.topic] for partition in start}
        batch = CommandBatch(start=start, topics=SortedMapping({**held, **topics}))
        return replace(self._without(set(start)), is_due=False), batch

    def saved_beside(self, positions: Offsets, topics: Topics) -> tuple[Offsets, Topics]:
        """Positions and topics of a checkpoint that has both what is held and what is claimed."""
        if not self.positions:
            return positions, topics
        return SortedMapping({**self.positions, **positions}), SortedMapping({**self.topics, **topics})

    def _resumable(self, held: Topics) -> SortedMapping[TopicPartition, StartFrom]:
        """A topic that is read here by another definition waits for the controller."""
        start: dict[TopicPartition, StartFrom] = {
            partition: RECOVER
            for partition in self.positions
            if (service := self.topics[partition.topic]).refuses_late_writes
            and held.get(partition.topic, service).digest == service.digest
        }
        return SortedMapping(start)

    def _without(self, partitions: set[TopicPartition]) -> "Claims":
        positions = {p: offset for p, offset in self.positions.items() if p not in partitions}
        topics = {partition.topic for partition in positions}
        kept = SortedMapping({topic: service for topic, service in self.topics.items() if topic in topics})
        return replace(self, positions=SortedMapping(positions), topics=kept)


NO_CLAIMS: Final = Claims()
