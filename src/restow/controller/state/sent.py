"""A command that a consumer has not answered."""

from dataclasses import dataclass, replace

from restow.model import SortedMapping, TopicPartition
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.messages.unions import Command


@dataclass(frozen=True)
class Sent:
    """An unanswered command."""

    command: Command
    since_s: float
    """When it was last sent, in listened seconds."""
    left: frozenset[TopicPartition]
    """The partitions without an answer: some of a command's may be started and others refused."""
    tries: int = 1

    @property
    def starts(self) -> bool:
        return isinstance(self.command, StartConsumingCommand)

    @property
    def unanswered(self) -> Command:
        """The command for the partitions without an answer: another consumer may have been given the others since."""
        if not isinstance(self.command, StartConsumingCommand):
            return replace(self.command, partitions=tuple(self.left))
        partitions = {p: start for p, start in self.command.partitions.items() if p in self.left}
        topics = {p.topic: self.command.topics[p.topic] for p in partitions}
        return replace(self.command, topics=SortedMapping(topics), partitions=SortedMapping(partitions))
