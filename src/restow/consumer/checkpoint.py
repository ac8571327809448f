"""What a consumer keeps on its volume across crashes: its assignment, and the plan of the running cycle."""

from dataclasses import dataclass, field

from restow.model import ConsumerId, SortedMapping
from restow.protocol.field_types import Offsets
from restow.protocol.topic_service import TopicService


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The assignment that a restarted consumer resumes, or claims."""

    consumer: ConsumerId
    epoch: int = 0
    """The greatest epoch seen."""
    clean: bool = True
    """The process shut down in order and holds no partition."""
    positions: Offsets = field(default_factory=SortedMapping)
    """The partitions it holds or claims. The offsets are those of the last save; the tables have the exact ones."""
    topics: SortedMapping[str, TopicService] = field(default_factory=SortedMapping)
    """The definitions of those partitions' topics."""
    will_claim: bool = False
    """Whether the controller that commanded the last Start answers claims. If so, a process that finds this checkpoint
    after a crash claims its partitions, and otherwise it resumes them."""


@dataclass(frozen=True, slots=True)
class TableWrite:
    """What a cycle is about to store in one table."""

    table: str
    """Its address as in `[consume.NAME]`; empty where records are only counted."""
    directory: str
    """The staging directory, relative to the table's root: the cycle's files are written there before the commit."""
    first: Offsets
    """The first offset to store, by partition."""
    next: Offsets
    """The offset after the last one to store, of the same partitions."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A range that was being stored when the process ended, and may have ended it."""

    table: str
    """Its address as in `[consume.NAME]`."""
    first: Offsets
    """The first offset, by partition."""
    next: Offsets
    """The offset after the last one, of the same partitions."""
    crashes: int
    """How often the process ended there in a row."""
    last_s: float
    """When it did so last, in seconds of UTC."""


@dataclass(frozen=True, slots=True)
class Suspects:
    consumer: ConsumerId
    ranges: tuple[Suspect, ...]


@dataclass(frozen=True, slots=True)
class WritePlan:
    """All writes of a cycle. It is on the volume while the cycle runs, so that the process after a crash knows which
    writes may be half done."""

    consumer: ConsumerId
    stages: tuple[TableWrite, ...]
