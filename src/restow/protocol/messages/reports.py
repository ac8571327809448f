"""A consumer's report: lag, throughput, gaps, failures, rejected records, and work for learning its capacity."""

from dataclasses import dataclass, field

from restow.errors import InvalidInput
from restow.model import FIRST_CONSUMER, ConsumerId, SortedMapping, TopicPartition
from restow.protocol import checks
from restow.protocol.digests import Digests
from restow.protocol.field_types import ADDED, NO_OFFSETS, Offsets
from restow.protocol.platform_identity import PlatformIdentity


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
