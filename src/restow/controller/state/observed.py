"""Small records of what was observed: bad records, crashes, speeds, moves, scale-ups. Fields of the state have them."""

from dataclasses import dataclass

from restow.model import ConsumerId, SortedMapping


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Bad records of a topic that are not in its table."""

    rejected: int = 0
    skipped: int = 0
    last_s: float = 0.0
    """When a consumer last reported some."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """The end offsets of the consumed topics, summed by topic, and since when they have not changed."""

    ends: SortedMapping[str, int]
    since_s: float


@dataclass(frozen=True, slots=True)
class PartitionCrash:
    """The last crash of a consumer that held a partition, unless the partition was read beyond it since (poison.py)."""

    at_s: float
    """In listened seconds."""
    offset: int | None = None
    """Where the next consumer started it; None until one has."""
    consumer: ConsumerId | None = None
    """The consumer that crashed; None in older logs."""


@dataclass(frozen=True, slots=True)
class TotalSpeed:
    """The total speed of the consumed partitions at a time."""

    time_s: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class MovesBegun:
    """Moves whose Stop was commanded within one minute."""

    minute_s: float
    """When the minute began."""
    count: int


@dataclass(frozen=True, slots=True)
class ForeignConsumers:
    """Consumers of this group that report from another platform."""

    name: str
    """The platform, in words."""
    consumers: frozenset[ConsumerId]
    heard_s: float
    """When one of them was last heard, in listened seconds."""


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """A scale-up that is not judged yet (gains.py)."""

    consumers: int
    """Before it."""
    bytes_per_s: float
    """The throughput of all of them."""
    wanted: int
    """Consumers after it."""


@dataclass(frozen=True, slots=True)
class NoGain:
    """A scale-up that did not raise the throughput (gains.py)."""

    consumers: int
    """After it."""
    bytes_per_s: float
    """What was written then."""
    enough_bytes_per_s: float
    """The throughput that would have been a gain."""
    terms: str
    """The settings then."""
