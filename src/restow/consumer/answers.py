"""The answers to a batch of commands, after its change. Each command is answered as if it had been applied alone.

`machine.py` sends the answers in the order of the commands and remembers them for repeats.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from restow.consumer.commands import CommandBatch, PendingAnswer
from restow.consumer.events import AssignmentChanged, RefusedPartitions
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.field_types import RECOVER, Offsets, StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumingRefused, StartConsumingEvent, StopConsumingEvent
from restow.protocol.messages.unions import Command

Answer = StartConsumingEvent | StopConsumingEvent | ConsumingRefused

REMEMBERED: Final = 64
"""How many commands' answers are kept for repeats. The controller has few unanswered commands at a time."""


@dataclass(frozen=True, slots=True)
class AppliedBatch:
    """A batch, the positions before it, and the change that the pipeline made."""

    consumer: ConsumerId
    incarnation: int
    batch: CommandBatch
    before: Offsets
    changed: AssignmentChanged

    def positions(self) -> Offsets:
        """The positions after the batch."""
        kept = {partition: offset for partition, offset in self.before.items() if partition not in self.batch.stop}
        refused = {partition for refused in self.changed.refused for partition in refused.partitions}
        started = {p: self.changed.started[p] for p in self.batch.start if p not in refused}
        return SortedMapping({p: offset for p, offset in kept.items() if p not in refused} | started)

    def answers(self) -> Iterator[tuple[Command, tuple[Answer, ...] | None]]:
        """The answers to each command, in order; None for a repeat, which gets the remembered answers."""
        for pending in self.batch.pending:
            if pending.is_repeat:
                yield pending.command, None
                continue
            match pending.command:
                case StartConsumingCommand() as command:
                    yield command, tuple(self._to_start(command, pending))
                case StopConsumingCommand() as command:
                    yield command, (self._to_stop(command, pending),)

    def unsolicited_refusals(self) -> tuple[RefusedPartitions, ...]:
        """Refused partitions that no command named: those of the checkpoint that could not be reopened."""
        asked = {
            partition
            for pending in self.batch.pending
            if isinstance(pending.command, StartConsumingCommand)
            for partition in pending.command.partitions
        }
        left = (
            RefusedPartitions(tuple(p for p in refused.partitions if p not in asked), refused.kind, refused.reason)
            for refused in self.changed.refused
        )
        return tuple(refused for refused in left if refused.partitions)

    def _to_start(self, command: StartConsumingCommand, pending: PendingAnswer) -> Iterator[Answer]:
        refused = list(_share_of(pending.begun, self.changed.refused))
        refused_partitions = {partition for each in refused for partition in each.partitions}
        offsets = {p: self._begun_at(p, start) for p, start in pending.begun.items() if p not in refused_partitions}
        known: Offsets = SortedMapping({p: offset for p, offset in offsets.items() if offset is not None})
        if pending.contradicted:
            refused.append(RefusedPartitions(pending.contradicted, "table", _contradiction(pending.contradicted)))
        head = (self.consumer, self.incarnation, command.epoch, command.sequence)
        if known or not refused:
            yield StartConsumingEvent(*head, known)
        for each in refused:
            yield ConsumingRefused(*head, each.partitions, each.kind, each.reason)

    def _to_stop(self, command: StopConsumingCommand, pending: PendingAnswer) -> StopConsumingEvent:
        offsets = {p: self._ended_at(p, pending.begun[p]) if p in pending.begun else None for p in command.partitions}
        return StopConsumingEvent(
            self.consumer, self.incarnation, command.epoch, command.sequence, SortedMapping(offsets)
        )

    def _begun_at(self, partition: TopicPartition, start: StartFrom) -> int | None:
        """Where the partition began. None if the batch stopped it before it was opened and only its table knows the
        offset."""
        known = self.changed.started.get(partition, self.before.get(partition))
        return known if known is not None or start == RECOVER else start

    def _ended_at(self, partition: TopicPartition, start: StartFrom) -> int | None:
        """Where the partition ended. If the batch kept or restarted it: its offset then. If it was never opened: where
        it was to begin."""
        for offsets in (self.changed.stopped, self.before, self.changed.started):
            if partition in offsets:
                return offsets[partition]
        return None if start == RECOVER else start


def remember(
    answers: Mapping[int, tuple[Answer, ...]], sequence: int, answer: tuple[Answer, ...]
) -> SortedMapping[int, tuple[Answer, ...]]:
    newest = sorted({*answers, sequence})[-REMEMBERED:]
    every = {**answers, sequence: answer}
    return SortedMapping({number: every[number] for number in newest})


def _share_of(
    partitions: Mapping[TopicPartition, StartFrom], refused: Iterable[RefusedPartitions]
) -> Iterator[RefusedPartitions]:
    for each in refused:
        share = tuple(sorted(partition for partition in each.partitions if partition in partitions))
        if share:
            yield RefusedPartitions(share, each.kind, each.reason)


def _contradiction(partitions: tuple[TopicPartition, ...]) -> str:
    topics = ", ".join(sorted({partition.topic for partition in partitions}))
    return f"other partitions of {topics} are read here by another definition; stop them first"
