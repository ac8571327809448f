"""What the controller sends to a consumer: start, stop, and the query of a starting controller."""

from dataclasses import dataclass, field

from restow.errors import InvalidInput
from restow.model import SortedMapping, TopicPartition
from restow.protocol import checks
from restow.protocol.field_types import ADDED, RECOVER, StartFrom
from restow.protocol.topic_service import TopicService


@dataclass(frozen=True, slots=True)
class StartConsumingCommand:
    """Start reading these partitions. The consumer answers with StartConsumingEvent, ConsumingRefused, or one of
    each."""

    epoch: int
    sequence: int
    incarnation: int
    """The incarnation that the command is for; others ignore it."""
    topics: SortedMapping[str, TopicService]
    """The definition of each topic among the partitions."""
    partitions: SortedMapping[TopicPartition, StartFrom]
    """Where to start each partition: the offset at which its last consumer stopped, or `recover`."""
    answers_claims: bool = field(default=False, metadata=ADDED)
    """Whether this controller answers claims: a process that starts after a crash then claims what it held, in its
    ConsumerReady, in place of resuming it."""
    suspects: tuple[TopicPartition, ...] = field(default=(), metadata=ADDED)
    """Those of the partitions whose consumers crashed while reading them: read each alone and in small ranges."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch, incarnation=self.incarnation)
        checks.at_least(1, sequence=self.sequence)
        checks.not_empty(partitions=self.partitions)
        object.__setattr__(self, "suspects", checks.sorted_partitions(self.suspects))
        for (topic, number), position in self.partitions.items():
            if position != RECOVER and position < 0:
                raise InvalidInput(f"partitions.{topic}.{number} is {position}; it must be 0 or more, or {RECOVER}")
        if set(self.topics) != {partition.topic for partition in self.partitions}:
            raise InvalidInput("topics and partitions name different topics; each topic must be in both")


@dataclass(frozen=True, slots=True)
class StopConsumingCommand:
    """Stop reading these partitions. The consumer answers with StopConsumingEvent once all that it read is stored."""

    epoch: int
    sequence: int
    incarnation: int
    """The incarnation that the command is for; others ignore it."""
    partitions: tuple[TopicPartition, ...]
    """The partitions to stop. The answer includes partitions that the consumer does not hold."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch, incarnation=self.incarnation)
        checks.at_least(1, sequence=self.sequence)
        checks.not_empty(partitions=self.partitions)
        object.__setattr__(self, "partitions", checks.sorted_partitions(self.partitions))


@dataclass(frozen=True, slots=True)
class StateQuery:
    """A starting controller asks a consumer what it holds. The consumer applies all earlier commands, then answers with
    StateQueryResponse."""

    epoch: int
    query: int
    """The number of the query within its epoch, which the answer repeats."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch)
        checks.at_least(1, query=self.query)
