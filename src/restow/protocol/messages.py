"""The messages of the protocol: frozen dataclasses, validated on construction. Commands are imperatives, events facts.

Commands are fenced. `epoch` is the offset of the controller's ControllerStarted on partition 0 of the controller topic;
`sequence` counts the commands to one consumer within an epoch. Each start of a consumer's process is an *incarnation*,
numbered by the offset of its ConsumerReady on the same partition. Both numbers only grow, without a clock or a store.
A command names the incarnation it is for, so that a stale process ignores it.

A topic's definition (TopicService) has a digest. Consumers report the digests they run, and the controller starts a
partition again where one differs from the definition that is wanted.
"""

import hashlib
import json
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Final, Literal

from restow.errors import InvalidInput
from restow.model import FIRST_CONSUMER, ConsumerId, SortedMapping, TopicPartition
from restow.protocol import checks
from restow.protocol.definitions import (
    ON_BAD_RECORD,
    SUBJECT,
    TOPIC,
    check_bad_records,
    check_names,
    check_parsing,
    check_rows,
    check_table,
    rejected_table,
)
from restow.protocol.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly

RECOVER: Final = "recover"
"""In place of an offset: resume at the table's offset, or else the group's committed one, or else the topic's
`start`."""

StartFrom = int | Literal["recover"]
Offsets = SortedMapping[TopicPartition, int]
Digests = SortedMapping[str, str]
BrokenTransforms = SortedMapping[str, str]
"""Transforms that can't be run, each with the error."""

Options = SortedMapping[str, str | int | float | bool]
"""What a transform gets beside the records."""

NO_OFFSETS: Final[Offsets] = SortedMapping()
NO_OPTIONS: Final[Options] = SortedMapping()

ADDED: Final = {"left_out_by_default": True}
"""Marks a field that was added later: it is not written while it has its default, so that existing messages keep their
encoding."""

ON_GAP: Final = ("go on", "stop")
"""The valid values of `on_gap`."""
MOST_REJECTED_PER_MIN: Final = 100


@dataclass(frozen=True, slots=True)
class TopicService:
    """The definition of a topic: what consumers do with its records."""

    table: str | None = None
    """The table they are stored in: a URL, or a path, relative to the consumer's restow.toml. `{topic}` in it stands
    for the topic's name, so that each topic of a regular expression has its own. Without it, they are read and not
    stored."""
    transform: str | None = None
    """The function that turns records into rows, as `module:function`. Without it, records are stored as they are."""
    start: str = "earliest"
    """Where to start a partition that was never read: earliest, latest, or a time in UTC like 2026-03-01T12:00:00Z."""
    refuses_late_writes: bool = True
    """Whether the table fences off a consumer that was replaced. If not, a partition waits until its last consumer is
    confirmed gone."""
    lineage: bool = field(default=True, metadata=ADDED)
    """Whether each row has the columns _topic, _partition, _offset and _timestamp of its record."""
    on_gap: str = field(default="go on", metadata=ADDED)
    """When records were deleted before they were read: `go on` after them, or `stop` reading the partition. The missing
    offsets are reported either way."""
    from_group: str | None = field(default=None, metadata=ADDED)
    """A consumer group to take offsets over from, for partitions without an offset in the table and in our own
    group."""
    cost: float | None = field(default=None, metadata=ADDED)
    """How much work a byte of the topic is, relative to the mean of the group's topics: with 1.5, a partition fills
    half as much again of its consumer as its speed alone would. Without it, the cost is learned if the capacity of
    consumers is, and 1 otherwise."""
    format: str | None = field(default=None, metadata=ADDED)
    """How values are parsed: `json`, `avro`, `protobuf`, `text` or `bytes`. The transform gets the parsed columns.
    Without it, it gets the bytes. docs/formats.md has the details."""
    schema: str | None = field(default=None, metadata=ADDED)
    """The file with the schema of the values: a path, relative to the consumer's restow.toml. For `json` a JSON Schema
    or Spark's DDL, for `avro` an Avro schema, for `protobuf` a .proto file or a descriptor set."""
    registry: str | None = field(default=None, metadata=ADDED)
    """The URL of a schema registry with Confluent's API: values begin with a zero byte and the id of their schema.
    Credentials are in [registry]."""
    subject: str | None = field(default=None, metadata=ADDED)
    """The registry's name of the topic's schemas; the newest gives the columns. Without it, `{topic}-value`."""
    message: str | None = field(default=None, metadata=ADDED)
    """The name of the Protobuf message, with its package. Without it, the first one of the schema."""
    sql: str | None = field(default=None, metadata=ADDED)
    """A query that turns records into rows, in place of a transform: `select id, amount from records`."""
    options: Options = field(default=NO_OPTIONS, metadata=ADDED)
    """Texts, numbers and truth values for the transform, which gets them as `context.options`."""
    evolve: str = field(default="add columns", metadata=ADDED)
    """What happens to columns that the table lacks: `add columns` to the table, or `none`, which makes them an
    error."""
    partition_by: tuple[str, ...] = field(default=(), metadata=ADDED)
    """The table's partition columns, when it is created: columns of the rows, or `year`, `month`, `day` or `hour` of a
    date or timestamp, like `day(created_at)`, which adds the column `created_at_day`."""
    on_bad_record: str = field(default=ON_BAD_RECORD[0], metadata=ADDED)
    """What to do with a record that doesn't parse, or on which the transform fails: `reject` stores it in the
    dead-letter table, `skip` only counts it, and `stop` stores nothing more of the topic until it can be stored."""
    most_rejected_per_min: int = field(default=MOST_REJECTED_PER_MIN, metadata=ADDED)
    """How many records a consumer may reject or skip in a minute. Beyond it, it stops as with `on_bad_record = "stop"`:
    a broken transform must not turn all records into dead letters."""
    rejected_table: str | None = field(default=None, metadata=ADDED)
    """The dead-letter table: a URL, or a path, relative to the consumer's restow.toml. Without it, the name of the
    table with `_rejected` at its end."""

    def __post_init__(self) -> None:
        check_names(table=self.table, subject=self.subject, rejected_table=self.rejected_table)
        check_table(self.evolve, self.partition_by)
        check_bad_records(self.on_bad_record, self.most_rejected_per_min, self.table, self.rejected_table)
        check_parsing(self.format, self.schema, self.registry, self.subject, self.message)
        check_rows(self.transform, self.sql, bool(self.options))
        if self.start not in ("earliest", "latest") and not checks.is_time(self.start):
            raise InvalidInput(
                f"start is '{self.start}'; it must be earliest, latest or a time like 2026-03-01T12:00:00Z"
            )
        if self.transform is not None and not checks.FUNCTION.fullmatch(self.transform):
            raise InvalidInput(f"transform is '{self.transform}'; it must be module:function")
        checks.above_0(cost=self.cost)
        if self.on_gap not in ON_GAP:
            raise InvalidInput(f"on_gap is '{self.on_gap}'; it must be {' or '.join(ON_GAP)}")

    @property
    def digest(self) -> str:
        """Changes with every field that matters to a partition that is being read."""
        return _definition_digest(self)

    @property
    def _named(self) -> str:
        """The other fields that were added later, with their names."""
        given = {name: getattr(self, name) for name in self._given if name != "options"}
        return json.dumps({**given, "options": dict(self.options)}, sort_keys=True)

    @property
    def _given(self) -> tuple[str, ...]:
        """The fields of SINCE_VERSION that don't have their defaults."""
        return tuple(name for name in SINCE_VERSION if (value := getattr(self, name)) and value != DEFAULTS[name])

    @property
    def readers_version(self) -> int:
        """The version of a message below which a reader would do something else with the records."""
        names_topic = 2 if TOPIC in (self.table or "") else 1
        return max([names_topic, *(SINCE_VERSION[name] for name in self._given)])

    @property
    def dead_letters(self) -> str | None:
        """The dead-letter table; None if the topic has no table."""
        return rejected_table(self.table, self.rejected_table)

    def for_topic(self, topic: str) -> "TopicService":
        """The definition with all names that are made from the topic's."""
        subject = self.subject or (SUBJECT if self.registry else None)
        if subject is None and TOPIC not in (self.table or "") + (self.rejected_table or ""):
            return self
        table = None if self.table is None else self.table.replace(TOPIC, topic)
        rejected = self.rejected_table and self.rejected_table.replace(TOPIC, topic)
        return replace(self, table=table, subject=subject and subject.replace(TOPIC, topic), rejected_table=rejected)


SINCE_VERSION: Final = {
    **dict.fromkeys(("format", "schema", "registry", "subject", "message", "sql", "options"), 2),
    **dict.fromkeys(("evolve", "partition_by"), 3),
    # An older reader may pass over these: it stops at a bad record, and stores no other rows.
    **dict.fromkeys(("on_bad_record", "most_rejected_per_min", "rejected_table"), 1),
}
"""Fields that older readers would pass over, and the version of StartConsumingCommand and ServiceUpdate that has them
(versions.py). They have their names in a definition's digest, so that a definition without them keeps its digest."""

DEFAULTS: Final = {each.name: each.default for each in fields(TopicService)}


@lru_cache(maxsize=1024)  # decisions and reports compare it again and again
def _definition_digest(service: TopicService) -> str:
    # A definition without the fields that were added later keeps its digest.
    added = () if service.lineage and service.on_gap == ON_GAP[0] else (service.lineage, service.on_gap)
    named = (service._named,) if service._given else ()
    return _digest(service.table, service.transform, service.refuses_late_writes, *added, *named)


def _digest(*definition: str | bool | None) -> str:
    return hashlib.sha256(json.dumps(definition).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """The resources and environment of consumers. A field that is not set has its value from restow.toml."""

    image: str | None = None
    """The container image, where the platform runs containers."""
    memory_mb: int | None = None
    """Memory in MiB."""
    cores: float | None = None
    """CPU cores; fractions are allowed."""
    capacity_bytes_per_s: float | None = None
    """The throughput that a consumer sustains."""
    env: SortedMapping[str, str] = field(default_factory=SortedMapping)
    """Additional environment variables. Anyone who may read the topic sees them: no secrets here."""
    code: str | None = field(default=None, metadata=ADDED)
    """The digest of the transforms' modules that local consumers load. The controller finds it: no update has it."""
    least_consumers: int | None = field(default=None, metadata=ADDED)
    """The group never has fewer consumers. It overrides `least_consumers` in [controller]."""
    most_consumers: int | None = field(default=None, metadata=ADDED)
    """The group never has more consumers. It overrides `most_consumers` in [controller]."""

    def __post_init__(self) -> None:
        checks.at_least(1, memory_mb=self.memory_mb, most_consumers=self.most_consumers)
        checks.at_least(0, least_consumers=self.least_consumers)
        if self.most_consumers is not None and (self.least_consumers or 0) > self.most_consumers:
            least = self.least_consumers
            raise InvalidInput(f"most_consumers is {self.most_consumers}; it must be least_consumers ({least}) or more")
        checks.above_0(cores=self.cores, capacity_bytes_per_s=self.capacity_bytes_per_s)
        checks.variables("env", self.env)

    @property
    def fingerprint(self) -> str:
        """Changes with everything that a process is started with, and is readable: `{"image": "restow:2", …}`. It
        leaves out the capacity and the limits of the group, which change no process, and has a digest in place of the
        variables' values."""
        return self.fingerprint_with(self.env_digest)

    def fingerprint_with(self, env_digest: str) -> str:
        """The fingerprint if the variables' values had this digest."""
        cores = None if self.cores is None else float(self.cores)
        env = f"{','.join(self.env)} {env_digest}".strip()
        code = {} if self.code is None else {"code": self.code}  # without it the fingerprint is that of older versions
        return json.dumps({"image": self.image, "memory_mb": self.memory_mb, "cores": cores, "env": env, **code})

    @property
    def env_digest(self) -> str:
        return _digest(*(text for pair in self.env.items() for text in pair)) if self.env else ""


@dataclass(frozen=True, slots=True)
class PlatformIdentity:
    """Where consumers run: a machine and a directory on it, or a cluster and a namespace in it."""

    id: str
    """Differs between any two platforms."""
    name: str
    """The same in words, for people: `host-a:/srv/lake/restow-data`."""


@dataclass(frozen=True, slots=True)
class ControllerStarted:
    """A controller took over. The offset of this record is the epoch of all its commands."""

    controller: str
    """The controller's host and process, for people."""
    platform: PlatformIdentity | None = field(default=None, metadata=ADDED)
    """The platform of its consumers."""
    lock: str | None = field(default=None, metadata=ADDED)
    """The name of the lock that it holds on its platform as long as it lives. If the lock is free, it is dead."""


@dataclass(frozen=True, slots=True)
class ControllerAlive:
    """A sign of life of the controller in charge, every few seconds. Other controllers of the group wait as standbys
    while it comes."""

    epoch: int
    controller: str
    """The controller's host and process, for people."""
    platform: PlatformIdentity | None = None
    """The platform of its consumers."""
    lock: str | None = None
    """The name of the lock that it holds on its platform as long as it lives. If the lock is free, it is dead."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch)


@dataclass(frozen=True, slots=True)
class ControllerStopped:
    """The controller in charge ended cleanly: the next one takes over without waiting."""

    epoch: int
    controller: str
    """The controller's host and process, for people."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch)


@dataclass(frozen=True, slots=True)
class PlatformChangeIntended:
    """The controller commits this before it changes the platform, so that a controller that was replaced is fenced off
    first."""

    epoch: int
    create: tuple[ConsumerId, ...] = ()
    """Consumers to create."""
    delete: tuple[ConsumerId, ...] = ()
    """Consumers to delete."""
    restart: tuple[ConsumerId, ...] = ()
    """Consumers to stop and start again on the same volumes."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch)
        checks.consumers(create=self.create, delete=self.delete, restart=self.restart)


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
    """The partitions to stop. The answer includes those that the consumer does not hold."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch, incarnation=self.incarnation)
        checks.at_least(1, sequence=self.sequence)
        checks.not_empty(partitions=self.partitions)
        object.__setattr__(self, "partitions", checks.sorted_partitions(self.partitions))


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
class StateQuery:
    """A starting controller asks a consumer what it holds. The consumer applies all earlier commands, then answers with
    StateQueryResponse."""

    epoch: int
    query: int
    """The number of the query within its epoch, which the answer repeats."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch)
        checks.at_least(1, query=self.query)


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


@dataclass(frozen=True, slots=True)
class Gap:
    """Records of a partition that Kafka deleted before they were read."""

    partition: TopicPartition
    """The partition."""
    first: int
    """The first missing offset."""
    next: int
    """The offset after the last missing one, where reading resumes."""

    def __post_init__(self) -> None:
        checks.at_least(0, first=self.first)
        checks.at_least(self.first + 1, next=self.next)

    @property
    def records(self) -> int:
        """An upper bound: offsets of a log may have had holes."""
        return self.next - self.first

    def __str__(self) -> str:
        return (
            f"{self.partition}: the records from {self.first} to {self.next - 1}, {self.records} in all, were deleted "
            "before they were read"
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """Records of a topic that a consumer can't store now, because the transform fails on one of them or the table can't
    be written. The consumer keeps their partitions and retries."""

    topic: str
    """The topic."""
    reason: str
    """The error with its place, and the record where it is known; for people."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """Records of a topic that a consumer could not store, and left out of the table."""

    topic: str
    """The topic."""
    rejected: int = 0
    """How many it stored in the dead-letter table."""
    skipped: int = 0
    """How many it skipped, because `on_bad_record` is `skip` or the topic has no table."""

    def __post_init__(self) -> None:
        checks.at_least(0, rejected=self.rejected, skipped=self.skipped)


@dataclass(frozen=True, slots=True)
class Work:
    """What a consumer's cycles since its last report say about its capacity. Only warm and undisturbed cycles of at
    least 1 MB count: fixed costs decide how long smaller ones take."""

    cycles: int
    """How many cycles count."""
    busy_s: float
    """Seconds of work in them, without waits for records."""
    bytes: SortedMapping[str, int]
    """What they stored, by topic: the 32 topics with the most."""
    other_bytes: int = field(default=0, metadata=ADDED)
    """What they stored of other topics."""

    def __post_init__(self) -> None:
        checks.at_least(1, cycles=self.cycles)
        checks.above_0(busy_s=self.busy_s)
        checks.at_least(0, other_bytes=self.other_bytes)
        for topic, size in self.bytes.items():
            if size < 0:
                raise InvalidInput(f"bytes.{topic} is {size}; it must be 0 or more")

    @property
    def total_bytes(self) -> int:
        return sum(self.bytes.values()) + self.other_bytes


@dataclass(frozen=True, slots=True)
class ConsumerReport:
    """A consumer's lag and throughput since its last report, sent every few seconds; also its heartbeat."""

    consumer: ConsumerId
    incarnation: int
    lag_records: Offsets
    """Records that are not yet stored, for each partition that it holds."""
    definitions: Digests
    """The digest of the definition that it runs, for each topic among the partitions."""
    records_per_s: float
    """Throughput: records read and stored."""
    bytes_per_s: float
    """The same in bytes of Kafka's log."""
    saturated: bool
    """Whether it worked without idling, so that its throughput is its capacity."""
    cycle_s_mean: float
    """Mean duration of a cycle, from reading to stored."""
    cycle_s_max: float
    """Duration of the slowest cycle."""
    gaps: tuple[Gap, ...] = field(default=(), metadata=ADDED)
    """Records that it skipped because they were deleted before it read them."""
    failures: tuple[Failure, ...] = field(default=(), metadata=ADDED)
    """The topics that it can't store now."""
    next_offsets: Offsets = field(default=NO_OFFSETS, metadata=ADDED)
    """The next offset of each partition that it holds: all records before it are stored."""
    platform: PlatformIdentity | None = field(default=None, metadata=ADDED)
    """Where the consumer runs: a controller on another platform starts none beside it."""
    work: Work | None = field(default=None, metadata=ADDED)
    """What its cycles say about its capacity; null if none of them counts."""
    rejected: tuple[Rejected, ...] = field(default=(), metadata=ADDED)
    """The bad records that it left out of tables since its last report."""
    will_claim: bool = field(default=False, metadata=ADDED)
    """Whether its next process, after a crash, claims what it holds and resumes nothing at once."""
    suspects: tuple[TopicPartition, ...] = field(default=(), metadata=ADDED)
    """The partitions that it reads in small ranges, because consumers crashed while they read them."""

    def __post_init__(self) -> None:
        checks.at_least(FIRST_CONSUMER, consumer=self.consumer)
        checks.at_least(0, incarnation=self.incarnation)
        checks.offsets("lag_records", self.lag_records)
        checks.offsets("next_offsets", self.next_offsets)
        object.__setattr__(self, "suspects", checks.sorted_partitions(self.suspects))
        checks.finite(
            records_per_s=self.records_per_s,
            bytes_per_s=self.bytes_per_s,
            cycle_s_mean=self.cycle_s_mean,
            cycle_s_max=self.cycle_s_max,
        )


Action = Literal["add", "change", "remove", "reset", "consumers"]


@dataclass(frozen=True, slots=True)
class ServiceUpdate:
    """The desired state of a topic that the group consumes, or of its consumers. The service topic is compacted: the
    newest record of a key counts, so that `add` and `change` mean the same. `reset` returns a topic to its definition
    in restow.toml; so does a tombstone, a record without a value."""

    action: Action
    """The change: `add`, `change`, `remove` or `reset` a topic, or set what `consumers` run as."""
    topic: str | None = None
    """The topic, unless the action is `consumers`; also the record's key."""
    service: TopicService | None = None
    """The definition, for `add` and `change`."""
    consumers: ConsumerSettings | None = None
    """The settings, for `consumers`."""
    by: str = field(default="", metadata=ADDED)
    """Who wrote this: user@host, for people."""
    at: str | None = field(default=None, metadata=ADDED)
    """When it was written, in UTC."""
    reason: str = field(default="", metadata=ADDED)
    """Why, for people."""

    def __post_init__(self) -> None:
        checks.authored(self.by, self.at, self.reason)
        wanted = {
            "topic": self.action != "consumers",
            "service": self.action in ("add", "change"),
            "consumers": self.action == "consumers",
        }
        for name, is_wanted in wanted.items():
            if (getattr(self, name) is not None) != is_wanted:
                raise InvalidInput(f"action {self.action} {'needs' if is_wanted else 'has no'} '{name}'")
        if self.consumers is not None and self.consumers.code is not None:
            raise InvalidInput("consumers.code can't be set; the controller finds the code beside its restow.toml")
        if self.topic is not None and not checks.TOPIC.fullmatch(self.topic):
            raise InvalidInput(f"topic is '{self.topic}'; it must be a topic's name")


Command = StartConsumingCommand | StopConsumingCommand
FromConsumer = (
    StartConsumingEvent | StopConsumingEvent | ConsumingRefused | ConsumerReady | StateQueryResponse | ConsumerReport
)
OfController = ControllerStarted | ControllerAlive | ControllerStopped | PlatformChangeIntended
"""The controller's own records, on partition 0. Each is a sign of life, but for ControllerStopped."""
OnService = ServiceUpdate | GroupPause | RecommendOnly | ConsumerRestart | PartitionPin
"""The records of the service topic: all are desired state."""
Message = OfController | Command | FromConsumer | StateQuery | OnService
