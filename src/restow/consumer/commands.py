"""A batch of commands and the one change of an assignment that it makes.

`machine.py` plans a batch when a cycle has ended and has the change made; `answers.py` answers its commands then. They
are taken in order and become one change, so that a partition which is started and stopped by them is never opened.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from restow.model import SortedMapping, TopicPartition
from restow.protocol.messages import (
    RECOVER,
    Command,
    StartConsumingCommand,
    StartFrom,
    StopConsumingCommand,
    TopicService,
)

Topics = SortedMapping[str, TopicService]


@dataclass(frozen=True, slots=True)
class Owed:
    """A command that is to be answered when the change is made."""

    command: Command
    is_repeat: bool = False
    begun: SortedMapping[TopicPartition, StartFrom] = field(default_factory=SortedMapping)
    """Those of its partitions that are held when a Start is done, or were when a Stop began, and where each was to
    begin: of what is never opened, nothing else is known."""
    contradicted: tuple[TopicPartition, ...] = ()
    """Of a Start: what was refused before it was tried."""


@dataclass(frozen=True, slots=True)
class Batch:
    stop: tuple[TopicPartition, ...] = ()
    start: SortedMapping[TopicPartition, StartFrom] = field(default_factory=SortedMapping)
    topics: Topics = field(default_factory=SortedMapping)
    """Of all that is held after it."""
    owed: tuple[Owed, ...] = ()
    ends: bool = False
    """It is the last: everything is stopped, and nothing follows."""

    @property
    def changes_something(self) -> bool:
        return bool(self.stop or self.start)


def plan(held: Iterable[TopicPartition], topics: Topics, commands: Iterable[Command], last_sequence: int) -> Batch:
    """`topics` has the definition of each topic that something is held of. A command that is not after the last one is
    a repeat and changes nothing."""
    draft, owed = _Draft(frozenset(held), topics), []
    for command in commands:
        if command.sequence <= last_sequence:
            owed.append(Owed(command, is_repeat=True))
        else:
            owed.append(draft.take(command))
            last_sequence = command.sequence
    return draft.batch(tuple(owed))


class _Draft:
    """The assignment as it would be after each of the commands."""

    def __init__(self, before: frozenset[TopicPartition], topics: Topics) -> None:
        self._before, self._topics_before = before, topics
        self._after: dict[TopicPartition, StartFrom] = dict.fromkeys(before, RECOVER)
        self._topics = dict(topics)

    def take(self, command: Command) -> Owed:
        match command:
            case StartConsumingCommand():
                return self._start(command)
            case StopConsumingCommand():
                return self._stop(command)

    def batch(self, owed: tuple[Owed, ...]) -> Batch:
        changed = {topic for topic, service in self._topics.items() if self._is_new_definition(topic, service)}
        start = {
            partition: position
            for partition, position in self._after.items()
            if partition not in self._before or partition.topic in changed
        }
        stop = [partition for partition in self._before if partition not in self._after or partition in start]
        return Batch(tuple(sorted(stop)), SortedMapping(start), SortedMapping(self._topics), owed)

    def _start(self, command: StartConsumingCommand) -> Owed:
        contradicted = []
        for partition, position in command.partitions.items():
            if partition in self._after:
                continue
            service = command.topics[partition.topic]
            if self._topics.get(partition.topic, service).digest != service.digest:
                contradicted.append(partition)
            else:
                self._after[partition] = position
                self._topics[partition.topic] = service
        begun = {partition: self._after[partition] for partition in command.partitions if partition in self._after}
        return Owed(command, begun=SortedMapping(begun), contradicted=tuple(contradicted))

    def _stop(self, command: StopConsumingCommand) -> Owed:
        begun = {partition: self._after.pop(partition) for partition in command.partitions if partition in self._after}
        still = {partition.topic for partition in self._after}
        self._topics = {topic: service for topic, service in self._topics.items() if topic in still}
        return Owed(command, begun=SortedMapping(begun))

    def _is_new_definition(self, topic: str, service: TopicService) -> bool:
        """All of the topic was stopped and some of it started to become something else: it can't just go on."""
        before = self._topics_before.get(topic)
        return before is not None and before.digest != service.digest


def named_start(partition: TopicPartition, commands: Iterable[Command]) -> int | None:
    """The offset that the last of these Starts gave for it, if it gave one."""
    named = None
    for command in commands:
        if isinstance(command, StartConsumingCommand) and partition in command.partitions:
            start = command.partitions[partition]
            named = None if start == RECOVER else start
    return named
