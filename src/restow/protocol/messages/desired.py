"""Desired state of the group on the service topic: pause, recommend only, restarts and pins. The CLI writes it.

Every controller reads all of the service topic at each start, so that a record here is a state and never an act: a
restart is "no process of consumer 2 up to incarnation 790", which stays true when it is read again. The topic is
compacted: the newest record of a key counts, and a tombstone returns its key to the default.

Each record says who wrote it, when and why. Compaction forgets older ones; the event log and the picture have them.
"""

from dataclasses import dataclass
from typing import Final

from restow.errors import InvalidInput
from restow.model import FIRST_CONSUMER, ConsumerId, TopicPartition
from restow.protocol import checks

PAUSE_KEY: Final = ":pause"
RECOMMEND_KEY: Final = ":recommend"
RESTART_KEY: Final = ":restart:"
PIN_KEY: Final = ":pin:"
"""Keys begin with a colon, which no topic's name has."""


@dataclass(frozen=True, slots=True)
class GroupPause:
    """Whether the group is paused. While it is, nothing is scaled, moved for load or restarted with new settings;
    partitions that no consumer reads are still recovered. Key: `:pause`; a tombstone resumes."""

    paused: bool
    """False resumes."""
    until: str | None = None
    """When the pause ends by itself, in UTC; null: not before it is resumed."""
    by: str = ""
    """Who wrote this: user@host, for people."""
    at: str | None = None
    """When it was written, in UTC."""
    reason: str = ""
    """Why, for people."""

    def __post_init__(self) -> None:
        checks.authored(self.by, self.at, self.reason)
        checks.times(until=self.until)
        if self.until is not None and not self.paused:
            raise InvalidInput("until is set; it must be null unless paused is true")

    @property
    def key(self) -> str:
        return PAUSE_KEY


@dataclass(frozen=True, slots=True)
class RecommendOnly:
    """Whether the controller only recommends. Then it makes, explains and publishes every decision and carries none
    out; partitions that no consumer reads are still recovered. Key: `:recommend`; a tombstone turns it off."""

    on: bool
    """False: decisions are carried out."""
    by: str = ""
    """Who wrote this: user@host, for people."""
    at: str | None = None
    """When it was written, in UTC."""
    reason: str = ""
    """Why, for people."""

    def __post_init__(self) -> None:
        checks.authored(self.by, self.at, self.reason)

    @property
    def key(self) -> str:
        return RECOMMEND_KEY


@dataclass(frozen=True, slots=True)
class ConsumerRestart:
    """No process of this consumer up to this incarnation: the controller restarts an older one, once. Key: `:restart:`
    and the consumer's number; a tombstone asks for no restart."""

    consumer: ConsumerId
    """The consumer."""
    up_to: int | None
    """The last incarnation that may not run any more, as the picture has it; null: each may."""
    by: str = ""
    """Who wrote this: user@host, for people."""
    at: str | None = None
    """When it was written, in UTC."""
    reason: str = ""
    """Why, for people."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, up_to=self.up_to)
        checks.authored(self.by, self.at, self.reason)

    @property
    def key(self) -> str:
        return f"{RESTART_KEY}{self.consumer}"


@dataclass(frozen=True, slots=True)
class PartitionPin:
    """A partition that one consumer reads until a time, whatever the plan would be without this. Key: `:pin:` and the
    partition; a tombstone unpins it."""

    partition: TopicPartition
    """The partition."""
    consumer: ConsumerId | None
    """The consumer that reads it; null: the partition is not pinned."""
    until: str | None = None
    """When the pin ends by itself, in UTC; null only if the partition is not pinned."""
    by: str = ""
    """Who wrote this: user@host, for people."""
    at: str | None = None
    """When it was written, in UTC."""
    reason: str = ""
    """Why, for people."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.authored(self.by, self.at, self.reason)
        checks.times(until=self.until)
        if not checks.TOPIC.fullmatch(self.partition.topic):
            raise InvalidInput(f"partition is '{self.partition}'; it must be a partition, like orders-7")
        if (self.consumer is None) != (self.until is None):
            raise InvalidInput("until is needed with a consumer, and only then; it must be a time, or both null")

    @property
    def key(self) -> str:
        return f"{PIN_KEY}{self.partition}"


DesiredState = GroupPause | RecommendOnly | ConsumerRestart | PartitionPin


def default_of(key: str) -> DesiredState:
    """What a tombstone of the key means. Raises InvalidInput if it is no key of desired state."""
    if key == PAUSE_KEY:
        return GroupPause(False)
    if key == RECOMMEND_KEY:
        return RecommendOnly(False)
    if key.startswith(RESTART_KEY) and checks.CONSUMER.fullmatch(number := key.removeprefix(RESTART_KEY)):
        return ConsumerRestart(ConsumerId(int(number)), None)
    if key.startswith(PIN_KEY):
        return PartitionPin(TopicPartition.parse(key.removeprefix(PIN_KEY)), None)
    raise InvalidInput(
        f"the key is '{key}'; it must be a topic's name, :consumers, {PAUSE_KEY}, {RECOMMEND_KEY}, {RESTART_KEY}2 or "
        f"{PIN_KEY}orders-7"
    )
