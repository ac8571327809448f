"""The answers to a batch of commands, once its change is made. `machine.py` tells them in order and keeps them for
repeats. Each command is answered as if it had been applied alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from restow.consumer.commands import Batch, Owed
from restow.consumer.events import AssignmentChanged, Refused
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages import (
    RECOVER,
    Command,
    ConsumingRefused,
    Offsets,
    StartConsumingCommand,
    StartConsumingEvent,
    StartFrom,
    StopConsumingCommand,
    StopConsumingEvent,
)

Answer = StartConsumingEvent | StopConsumingEvent | ConsumingRefused

REMEMBERED: Final = 64
"""Answers that are kept for repeats. The controller repeats what wasn't answered, and has few such commands at once."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A batch that was applied: who did it, what was held before, and what became of it."""

    consumer: ConsumerId
    incarnation: int
    batch: Batch
    before: Offsets
    changed: AssignmentChanged

    def positions(self) -> Offsets:
        kept = {partition: offset for partition, offset in self.before.items() if partition not in self.batch.stop}
        refused = {partition for refused in self.changed.refused for partition in refused.partitions}
        started = {p: self.changed.started[p] for p in self.batch.start if p not in refused}
        return SortedMapping({p: offset for p, offset in kept.items() if p not in refused} | started)

    def answers(self) -> Iterator[tuple[Command, tuple[Answer, ...] | None]]:
        """In the order of the commands; nothing to a repeat, which is answered with what was remembered."""
        for owed in self.batch.owed:
            if owed.is_repeat:
                yield owed.command, None
                continue
            match owed.command:
                case StartConsumingCommand() as command:
                    yield command, tuple(self._to_start(command, owed))
                case StopConsumingCommand() as command:
                    yield command, (self._to_stop(command, owed),)

    def refused_unasked(self) -> tuple[Refused, ...]:
        """What was refused and no command had named: partitions of the volume that could not be opened again."""
        asked = {
            partition
            for owed in self.batch.owed
            if isinstance(owed.command, StartConsumingCommand)
            for partition in owed.command.partitions
        }
        left = (
            Refused(tuple(p for p in refused.partitions if p not in asked), refused.kind, refused.reason)
            for refused in self.changed.refused
        )
        return tuple(refused for refused in left if refused.partitions)

    def _to_start(self, command: StartConsumingCommand, owed: Owed) -> Iterator[Answer]:
        refused = list(_share_of(owed.begun, self.changed.refused))
        told = {partition for each in refused for partition in each.partitions}
        offsets = {p: self._begun_at(p, start) for p, start in owed.begun.items() if p not in told}
        known: Offsets = SortedMapping({p: offset for p, offset in offsets.items() if offset is not None})
        if owed.contradicted:
            refused.append(Refused(owed.contradicted, "table", _contradiction(owed.contradicted)))
        head = (self.consumer, self.incarnation, command.epoch, command.sequence)
        if known or not refused:
            yield StartConsumingEvent(*head, known)
        for each in refused:
            yield ConsumingRefused(*head, each.partitions, each.kind, each.reason)

    def _to_stop(self, command: StopConsumingCommand, owed: Owed) -> StopConsumingEvent:
        offsets = {p: self._ended_at(p, owed.begun[p]) if p in owed.begun else None for p in command.partitions}
        return StopConsumingEvent(
            self.consumer, self.incarnation, command.epoch, command.sequence, SortedMapping(offsets)
        )

    def _begun_at(self, partition: TopicPartition, start: StartFrom) -> int | None:
        """Nothing for what was stopped again before it was opened, and whose position only its table knows."""
        known = self.changed.started.get(partition, self.before.get(partition))
        return known if known is not None or start == RECOVER else start

    def _ended_at(self, partition: TopicPartition, start: StartFrom) -> int | None:
        """Where it ended. Of what went on, or began again, in the same batch: where that is. Of what was never opened:
        where it was to begin."""
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


def _share_of(partitions: Mapping[TopicPartition, StartFrom], refused: Iterable[Refused]) -> Iterator[Refused]:
    for each in refused:
        share = tuple(sorted(partition for partition in each.partitions if partition in partitions))
        if share:
            yield Refused(share, each.kind, each.reason)


def _contradiction(partitions: tuple[TopicPartition, ...]) -> str:
    topics = ", ".join(sorted({partition.topic for partition in partitions}))
    return f"other partitions of {topics} are read here by another definition; stop them first"
