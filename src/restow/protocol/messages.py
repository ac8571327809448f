"""Every message of the protocol. Commands are imperative, events are past; all are frozen, and wrong ones can't exist.

The controller numbers its commands: `epoch` is the offset of its own ControllerStarted on partition 0 of the controller
topic, `sequence` counts within an epoch and a consumer. Each start of a consumer process is an *incarnation*, and its
number is the offset of its ConsumerReady on the same partition: both grow for ever, and no clock and no store is asked
for them. A command names the incarnation it is meant for, so that one which comes back late obeys nothing.

A definition's digest stands for what a topic's records become; a consumer tells the digests it works by, and the
controller starts a partition again where they differ from what is wanted.
"""

import hashlib
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from restow.errors import InvalidInput
from restow.model import FIRST_CONSUMER, ConsumerId, SortedMapping, TopicPartition
from restow.protocol import checks

RECOVER: Final = "recover"
"""Instead of an offset: go on where the table is, else the group's committed offset, else the topic's start."""

StartFrom = int | Literal["recover"]
Offsets = SortedMapping[TopicPartition, int]
Digests = SortedMapping[str, str]

ADDED: Final = {"left_out_by_default": True}
"""Of a field that came after the first records were written: as long as it has its default it is not written, so that
those records are what they were."""

ON_GAP: Final = ("go on", "stop")
"""What may follow when records were deleted before they were read."""


@dataclass(frozen=True, slots=True)
class TopicService:
    """What becomes of a topic's records."""

    table: str | None = None
    """Where they are stored, as a path or address; nothing: they are read and not stored."""
    transform: str | None = None
    """The function that makes rows of them, as `module:function`; nothing: the records as they are."""
    start: str = "earliest"
    """Where to begin a partition that was never read: earliest, latest, or a time in UTC like 2026-03-01T12:00:00Z."""
    refuses_late_writes: bool = True
    """Whether the table itself refuses what a replaced consumer writes. If not, a partition waits until its last
    consumer is really gone."""
    lineage: bool = field(default=True, metadata=ADDED)
    """Whether each row says which record it is from: _topic, _partition, _offset and _timestamp."""
    on_gap: str = field(default="go on", metadata=ADDED)
    """When records were deleted before they were read: `go on` after them, or `stop` reading that partition. Either
    way it is said which they are."""
    from_group: str | None = field(default=None, metadata=ADDED)
    """A consumer group whose committed offsets are gone on from, where neither the table nor our own group has any."""

    def __post_init__(self) -> None:
        if self.start not in ("earliest", "latest") and not checks.is_time(self.start):
            raise InvalidInput(
                f"start is '{self.start}'; it must be earliest, latest or a time like 2026-03-01T12:00:00Z"
            )
        if self.transform is not None and not checks.FUNCTION.fullmatch(self.transform):
            raise InvalidInput(f"transform is '{self.transform}'; it must be module:function")
        if self.on_gap not in ON_GAP:
            raise InvalidInput(f"on_gap is '{self.on_gap}'; it must be {' or '.join(ON_GAP)}")

    @property
    def digest(self) -> str:
        """Differs when anything that matters to a running partition differs."""
        # What is as it was before these could be said has the digest that it had.
        said = () if self.lineage and self.on_gap == ON_GAP[0] else (self.lineage, self.on_gap)
        return _digest(self.table, self.transform, self.refuses_late_writes, *said)


@lru_cache(maxsize=1024)  # it is compared for every partition, in every decision
def _digest(*definition: str | bool | None) -> str:
    return hashlib.sha256(json.dumps(definition).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """What each consumer runs as; what is left out stays as restow.toml says."""

    image: str | None = None
    """The image that runs it, where consumers run in containers."""
    memory_mb: int | None = None
    """Memory that it may use."""
    cores: float | None = None
    """Processors, also in parts."""
    capacity_bytes_per_s: float | None = None
    """What it sustains."""
    env: SortedMapping[str, str] = field(default_factory=SortedMapping)
    """Variables of its environment, besides those it has anyway. They stand readable on the topic: no secrets here."""

    def __post_init__(self) -> None:
        checks.at_least(1, memory_mb=self.memory_mb)
        checks.above_0(cores=self.cores, capacity_bytes_per_s=self.capacity_bytes_per_s)
        checks.variables("env", self.env)

    @property
    def fingerprint(self) -> str:
        """Differs when anything that a process is started with differs, and can be read: `{"image": "restow:2", …}`.
        A capacity is only believed, so that it is no part of it; of variables it has the names and a digest."""
        return self.fingerprint_with(self.env_digest)

    def fingerprint_with(self, env_digest: str) -> str:
        """As it is with values of variables that have this digest."""
        cores = None if self.cores is None else float(self.cores)
        env = f"{','.join(self.env)} {env_digest}".strip()
        return json.dumps({"image": self.image, "memory_mb": self.memory_mb, "cores": cores, "env": env})

    @property
    def env_digest(self) -> str:
        return _digest(*(text for pair in self.env.items() for text in pair)) if self.env else ""


@dataclass(frozen=True, slots=True)
class ControllerStarted:
    """A controller took over; its offset is the epoch of all that it commands."""

    controller: str
    """Who it is, for people: host and process."""


@dataclass(frozen=True, slots=True)
class PlatformChangeIntended:
    """Committed before the platform is touched, so that a controller which was replaced dies before it does harm."""

    epoch: int
    create: tuple[ConsumerId, ...] = ()
    """Those that are to be created."""
    delete: tuple[ConsumerId, ...] = ()
    """Those that are to go."""
    restart: tuple[ConsumerId, ...] = ()
    """Those that are to be ended and started again, on their own volumes."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch)
        checks.consumers(create=self.create, delete=self.delete, restart=self.restart)


@dataclass(frozen=True, slots=True)
class StartConsumingCommand:
    """Read these partitions too. Answered with StartConsumingEvent or ConsumingRefused, or both for parts of it."""

    epoch: int
    sequence: int
    incarnation: int
    """The one it is meant for; others pass it over."""
    topics: SortedMapping[str, TopicService]
    """What becomes of the records, for each topic among the partitions."""
    partitions: SortedMapping[TopicPartition, StartFrom]
    """Where each begins: the offset at which its last consumer stopped, or `recover`."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch, incarnation=self.incarnation)
        checks.at_least(1, sequence=self.sequence)
        checks.some(partitions=self.partitions)
        for (topic, number), position in self.partitions.items():
            if position != RECOVER and position < 0:
                raise InvalidInput(f"partitions.{topic}.{number} is {position}; it must be 0 or more, or {RECOVER}")
        if set(self.topics) != {partition.topic for partition in self.partitions}:
            raise InvalidInput("topics and partitions name different topics; each topic must be in both")


@dataclass(frozen=True, slots=True)
class StopConsumingCommand:
    """Read these partitions no more. Answered with StopConsumingEvent, when all that was read of them is stored."""

    epoch: int
    sequence: int
    incarnation: int
    """The one it is meant for; others pass it over."""
    partitions: tuple[TopicPartition, ...]
    """Those to stop. One that isn't held is answered too."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch, incarnation=self.incarnation)
        checks.at_least(1, sequence=self.sequence)
        checks.some(partitions=self.partitions)
        object.__setattr__(self, "partitions", checks.in_order(self.partitions))


@dataclass(frozen=True, slots=True)
class StartConsumingEvent:
    """These partitions are being read."""

    consumer: ConsumerId
    incarnation: int
    epoch: int
    sequence: int
    partitions: Offsets
    """The offset that each is read from."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, incarnation=self.incarnation, epoch=self.epoch)
        checks.at_least(1, sequence=self.sequence)
        checks.offsets("partitions", self.partitions)


@dataclass(frozen=True, slots=True)
class StopConsumingEvent:
    """These partitions are read no more, and all that was read of them is stored: another consumer may begin."""

    consumer: ConsumerId
    incarnation: int
    epoch: int
    sequence: int | None
    """Of the command that it answers; nothing: no command asked for it, the consumer is about to end."""
    partitions: SortedMapping[TopicPartition, int | None]
    """The next offset to be read of each; nothing where it wasn't held and isn't known."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, incarnation=self.incarnation, epoch=self.epoch)
        checks.at_least(1, sequence=self.sequence)
        checks.offsets("partitions", self.partitions)


Refusal = Literal["transform", "table", "replaced", "gap"]
"""The transform can't be used; the table can't be opened; another consumer has written to the table meanwhile; records
were deleted before they were read, and that is not to be passed over."""


@dataclass(frozen=True, slots=True)
class ConsumingRefused:
    """These partitions are not read, though they were commanded or held."""

    consumer: ConsumerId
    incarnation: int
    epoch: int
    sequence: int | None
    """Of the command that it answers; nothing: no command asked, the consumer dropped what it had."""
    partitions: tuple[TopicPartition, ...]
    """Those that it doesn't hold, or holds no more."""
    kind: Refusal
    """A transform or a table that can't be used, another consumer that took over, or records that were deleted."""
    reason: str
    """In words, for people."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, incarnation=self.incarnation, epoch=self.epoch)
        checks.at_least(1, sequence=self.sequence)
        checks.some(partitions=self.partitions)
        object.__setattr__(self, "partitions", checks.in_order(self.partitions))


@dataclass(frozen=True, slots=True)
class ConsumerReady:
    """Sent on every start; its own offset is the number of the incarnation that sent it."""

    consumer: ConsumerId
    clean: bool
    """Whether the process before it ended as it should, or was the first."""
    partitions: tuple[TopicPartition, ...]
    """Those it goes on with."""
    definitions: Digests
    """Of each topic among them: the digest of the definition it works by."""
    versions: SortedMapping[str, int]
    """The highest version of each message that it can read."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        object.__setattr__(self, "partitions", checks.in_order(self.partitions))
        for name, version in self.versions.items():
            if version < 1:
                raise InvalidInput(f"versions.{name} is {version}; it must be 1 or more")


@dataclass(frozen=True, slots=True)
class StateQuery:
    """What do you hold? Asked by a controller that starts. The consumer applies the commands before it, then answers
    with StateQueryResponse."""

    epoch: int
    query: int
    """Its number within the epoch, which the answer repeats."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch)
        checks.at_least(1, query=self.query)


@dataclass(frozen=True, slots=True)
class StateQueryResponse:
    """What a consumer holds, after all commands that came before the question."""

    consumer: ConsumerId
    incarnation: int
    epoch: int
    query: int
    """The number of the question."""
    partitions: Offsets
    """What it holds, and the next offset of each."""
    definitions: Digests
    """Of each topic among them: the digest of the definition it works by."""
    last_sequence: int
    """The last command of this epoch that it applied; 0: none."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, incarnation=self.incarnation, epoch=self.epoch, last_sequence=self.last_sequence)
        checks.at_least(1, query=self.query)
        checks.offsets("partitions", self.partitions)


@dataclass(frozen=True, slots=True)
class Gap:
    """Records of a partition that were deleted before they were read."""

    partition: TopicPartition
    """Whose they were."""
    first: int
    """The offset of the first of them."""
    next: int
    """The offset after the last: where reading goes on."""

    def __post_init__(self) -> None:
        checks.at_least(0, first=self.first)
        checks.at_least(self.first + 1, next=self.next)

    @property
    def records(self) -> int:
        """At most: a log may have had holes."""
        return self.next - self.first

    def __str__(self) -> str:
        return (
            f"{self.partition}: the records from {self.first} to {self.next - 1}, {self.records} in all, were deleted "
            "before they were read"
        )


@dataclass(frozen=True, slots=True)
class ConsumerReport:
    """Sent every few seconds: how a consumer is doing, since its last report."""

    consumer: ConsumerId
    incarnation: int
    lag_records: Offsets
    """Of each partition that it holds: records that are there and not yet stored."""
    definitions: Digests
    """Of each topic among them: the digest of the definition it works by."""
    records_per_s: float
    """What it read and stored."""
    bytes_per_s: float
    """The same in bytes, as they are in Kafka's log."""
    saturated: bool
    """Whether it works without a pause, so that its speed is its capacity."""
    cycle_s_mean: float
    """How long a cycle took, from reading to stored."""
    cycle_s_max: float
    """How long the slowest one took."""
    gaps: tuple[Gap, ...] = field(default=(), metadata=ADDED)
    """What was passed over, since it was deleted before it was read."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, incarnation=self.incarnation)
        checks.offsets("lag_records", self.lag_records)
        checks.finite(
            records_per_s=self.records_per_s,
            bytes_per_s=self.bytes_per_s,
            cycle_s_mean=self.cycle_s_mean,
            cycle_s_max=self.cycle_s_max,
        )


Action = Literal["add", "change", "remove", "reset", "consumers"]


@dataclass(frozen=True, slots=True)
class ServiceUpdate:
    """What the group consumes, or what its consumers run as. The topic is compacted: the newest word on a topic is the
    one that counts, so `add` and `change` both say what is wanted now. `reset` takes back all that was said of a topic:
    it is as restow.toml says. So does a record without a value, which Kafka itself forgets in time."""

    action: Action
    """What changes: a topic of interest, or the consumers."""
    topic: str | None = None
    """Of all but `consumers`; also the record's key."""
    service: TopicService | None = None
    """Of `add` and `change`."""
    consumers: ConsumerSettings | None = None
    """Of `consumers`."""

    def __post_init__(self) -> None:
        wanted = {
            "topic": self.action != "consumers",
            "service": self.action in ("add", "change"),
            "consumers": self.action == "consumers",
        }
        for name, is_wanted in wanted.items():
            if (getattr(self, name) is not None) != is_wanted:
                raise InvalidInput(f"action {self.action} {'needs' if is_wanted else 'has no'} '{name}'")
        if self.topic is not None and not checks.TOPIC.fullmatch(self.topic):
            raise InvalidInput(f"topic is '{self.topic}'; it must be a topic's name")


Command = StartConsumingCommand | StopConsumingCommand
FromConsumer = (
    StartConsumingEvent | StopConsumingEvent | ConsumingRefused | ConsumerReady | StateQueryResponse | ConsumerReport
)
Message = ControllerStarted | PlatformChangeIntended | Command | FromConsumer | StateQuery | ServiceUpdate
