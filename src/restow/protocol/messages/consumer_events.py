"""What a consumer says of itself and answers to commands: ready, started, stopped, refused, and what it holds."""

from dataclasses import dataclass, field
from typing import Literal

from restow.errors import InvalidInput
from restow.model import FIRST_CONSUMER, ConsumerId, SortedMapping, TopicPartition
from restow.protocol import checks
from restow.protocol.digests import Digests
from restow.protocol.field_types import ADDED, BrokenTransforms, Offsets
from restow.protocol.platform_identity import PlatformIdentity


@dataclass(frozen=True, slots=True)
class StartConsumingEvent:
    """The consumer is reading these partitions."""

    consumer: ConsumerId
    incarnation: int
    epoch: int
    sequence: int
    partitions: Offsets
    """The offset at which it started each partition."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, incarnation=self.incarnation, epoch=self.epoch)
        checks.at_least(1, sequence=self.sequence)
        checks.offsets("partitions", self.partitions)


@dataclass(frozen=True, slots=True)
class StopConsumingEvent:
    """The consumer stopped reading these partitions and stored all that it read: another consumer may start them."""

    consumer: ConsumerId
    incarnation: int
    epoch: int
    sequence: int | None
    """The number of the answered command; null if the consumer is shutting down without one."""
    partitions: SortedMapping[TopicPartition, int | None]
    """The next offset of each partition; null if the consumer did not hold it and does not know."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, incarnation=self.incarnation, epoch=self.epoch)
        checks.at_least(1, sequence=self.sequence)
        checks.offsets("partitions", self.partitions)


Refusal = Literal["transform", "table", "replaced", "gap"]
"""The transform can't be used; the table can't be opened; another consumer has written to the table since; records were
deleted before they were read, and `on_gap` is `stop`."""


@dataclass(frozen=True, slots=True)
class ConsumingRefused:
    """The consumer does not read these partitions: it refused to start them, or gave up partitions that it held."""

    consumer: ConsumerId
    incarnation: int
    epoch: int
    sequence: int | None
    """The number of the answered command; null if the consumer gave up partitions by itself."""
    partitions: tuple[TopicPartition, ...]
    """The partitions that it does not hold, or no longer holds."""
    kind: Refusal
    """Why: the transform or the table can't be used, another consumer replaced this one, or records were deleted."""
    reason: str
    """The details, for people."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, incarnation=self.incarnation, epoch=self.epoch)
        checks.at_least(1, sequence=self.sequence)
        checks.not_empty(partitions=self.partitions)
        object.__setattr__(self, "partitions", checks.sorted_partitions(self.partitions))


@dataclass(frozen=True, slots=True)
class ConsumerReady:
    """A consumer's process has started. The offset of this record is the number of the incarnation."""

    consumer: ConsumerId
    clean: bool
    """Whether the previous process shut down cleanly, or there was none."""
    partitions: tuple[TopicPartition, ...]
    """The partitions that it resumes from its checkpoint."""
    definitions: Digests
    """The digest of the definition that it runs, for each topic among the partitions."""
    versions: SortedMapping[str, int]
    """The highest version of each message that it can read."""
    broken: BrokenTransforms = field(default_factory=SortedMapping, metadata=ADDED)
    """The transforms of restow.toml that it can't run, each with the error."""
    platform: PlatformIdentity | None = field(default=None, metadata=ADDED)
    """Where the consumer runs: a controller on another platform starts none beside it."""
    claims: tuple[TopicPartition, ...] = field(default=(), metadata=ADDED)
    """The partitions of its checkpoint, if its last controller answers claims: it reads none of them until it is
    commanded to start it. A Stop ends a claim. Without an answer it resumes, after a while, the claims in tables that
    refuse late writes. In version 2."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        object.__setattr__(self, "partitions", checks.sorted_partitions(self.partitions))
        object.__setattr__(self, "claims", checks.sorted_partitions(self.claims))
        for name, version in self.versions.items():
            if version < 1:
                raise InvalidInput(f"versions.{name} is {version}; it must be 1 or more")


@dataclass(frozen=True, slots=True)
class StateQueryResponse:
    """What a consumer holds after all commands that preceded the query."""

    consumer: ConsumerId
    incarnation: int
    epoch: int
    query: int
    """The number of the answered query."""
    partitions: Offsets
    """The partitions that it holds, with the next offset of each."""
    definitions: Digests
    """The digest of the definition that it runs, for each topic among the partitions."""
    last_sequence: int
    """The last command of this epoch that it applied; 0 if none."""
    platform: PlatformIdentity | None = field(default=None, metadata=ADDED)
    """Where the consumer runs: a controller on another platform starts none beside it."""
    claims: tuple[TopicPartition, ...] = field(default=(), metadata=ADDED)
    """The claims of its ConsumerReady that are not answered yet."""
    will_claim: bool = field(default=False, metadata=ADDED)
    """Whether its next process, after a crash, claims what it holds and resumes nothing at once."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, incarnation=self.incarnation, epoch=self.epoch, last_sequence=self.last_sequence)
        checks.at_least(1, query=self.query)
        checks.offsets("partitions", self.partitions)
        object.__setattr__(self, "claims", checks.sorted_partitions(self.claims))
