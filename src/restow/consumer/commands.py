"""Merges the Start and Stop commands that arrived during a cycle into one change of the assignment.

`machine.py` plans a batch when a cycle has ended; `answers.py` answers its commands after the change. Commands are
applied in order, so that a partition which one starts and a later one stops is never opened.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from restow.model import SortedMapping, TopicPartition
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StopConsumingCommand
from restow.protocol.messages.unions import Command
from restow.protocol.topic_service import TopicService

Topics = SortedMapping[str, TopicService]


@dataclass(frozen=True, slots=True)
class PendingAnswer:
    """A command of the batch and what its answer needs."""

    command: Command
    is_repeat: bool = False
    begun: SortedMapping[TopicPartition, StartFrom] = field(default_factory=SortedMapping)
    """Those of the command's partitions that are held after a Start or before a Stop, and where each was to begin: all
    that is known about a partition that is never opened."""
    contradicted: tuple[TopicPartition, ...] = ()
    """Partitions of a Start that are refused, because their topic is read here by another definition."""


@dataclass(frozen=True, slots=True)
class CommandBatch:
    stop: tuple[TopicPartition, ...] = ()
    start: SortedMapping[TopicPartition, StartFrom] = field(default_factory=SortedMapping)
    topics: Topics = field(default_factory=SortedMapping)
    """The definitions of all topics that are held after the batch."""
    pending: tuple[PendingAnswer, ...] = ()
    ends: bool = False
    """The consumer shuts down: the batch stops everything, and no other follows."""

    @property
    def changes_something(self) -> bool:
        return bool(self.stop or self.start)


def merge_commands(
    held: Iterable[TopicPartition], topics: Topics, commands: Iterable[Command], last_sequence: int
) -> CommandBatch:
    """`topics` has the definition of each topic that `held` names. A command whose sequence is not greater than
    `last_sequence` is a repeat and changes nothing."""
    draft, pending = _Draft(frozenset(held), topics), []
    for command in commands:
        if command.sequence <= last_sequence:
            pending.append(PendingAnswer(command, is_repeat=True))
        else:
            pending.append(draft.take(command))
            last_sequence = command.sequence
    return draft.batch(tuple(pending))


class _Draft:
    """The assignment after the commands taken so far."""

    def __init__(self, before: frozenset[TopicPartition], topics: Topics) -> None:
        self._before, self._topics_before = before, topics
        self._after: dict[TopicPartition, StartFrom] = dict.fromkeys(before, RECOVER)
        self._topics = dict(topics)

    def take(self, command: Command) -> PendingAnswer:
        match command:
            case StartConsumingCommand():
                return self._start(command)
            case StopConsumingCommand():
                return self._stop(command)

    def batch(self, pending: tuple[PendingAnswer, ...]) -> CommandBatch:
        changed = {topic for topic, service in self._topics.items() if self._is_new_definition(topic, service)}
        start = {
            partition: position
            for partition, position in self._after.items()
            if partition not in self._before or partition.topic in changed
        }
        stop = [partition for partition in self._before if partition not in self._after or partition in start]
        return CommandBatch(tuple(sorted(stop)), SortedMapping(start), SortedMapping(self._topics), pending)

    def _start(self, command: StartConsumingCommand) -> PendingAnswer:
        contradicted = []
        for partition, position in command.partitions.items():
            if partition in self._after:
                continue
            service = command.topics[partition.topic]
            known = self._topics.get(partition.topic, service)
            if known is not service and known.digest != service.digest:
                contradicted.append(partition)
            else:
                self._after[partition] = position
                self._topics[partition.topic] = service
        begun = {partition: self._after[partition] for partition in command.partitions if partition in self._after}
        return PendingAnswer(command, begun=SortedMapping(begun), contradicted=tuple(contradicted))

    def _stop(self, command: StopConsumingCommand) -> PendingAnswer:
        begun = {partition: self._after.pop(partition) for partition in command.partitions if partition in self._after}
        still = {partition.topic for partition in self._after}
        self._topics = {topic: service for topic, service in self._topics.items() if topic in still}
        return PendingAnswer(command, begun=SortedMapping(begun))

    def _is_new_definition(self, topic: str, service: TopicService) -> bool:
        """Whether the batch stops all of the topic and starts it with another definition: then even a partition that is
        held before and after must be reopened."""
        before = self._topics_before.get(topic)
        return before is not None and before.digest != service.digest


def named_start(partition: TopicPartition, commands: Iterable[Command]) -> int | None:
    """The offset that the last Start among the commands named for the partition, if it named one."""
    named = None
    for command in commands:
        if isinstance(command, StartConsumingCommand) and partition in command.partitions:
            start = command.partitions[partition]
            named = None if start == RECOVER else start
    return named
