"""What a consumer keeps on its volume, so that it can go on after a crash."""

from dataclasses import dataclass, field

from restow.model import ConsumerId, SortedMapping
from restow.protocol.messages import Offsets, TopicService


@dataclass(frozen=True, slots=True)
class Saved:
    consumer: ConsumerId
    epoch: int = 0
    """The greatest that it has seen."""
    clean: bool = True
    """It ended as it should, and holds nothing."""
    positions: Offsets = field(default_factory=SortedMapping)
    """What it holds, and where each was when it was last saved; the table knows better."""
    topics: SortedMapping[str, TopicService] = field(default_factory=SortedMapping)


@dataclass(frozen=True, slots=True)
class Stage:
    """What a cycle is about to store in one table. All of a cycle's are its plan, which is on the volume while the
    cycle is under way: whoever comes after a crash knows what may be half done."""

    table: str
    """By the address that `[consume.NAME]` has; nothing where records are only counted."""
    directory: str
    """Below the table's root: where the files are written that become part of it."""
    first: Offsets
    next: Offsets
    """Of the same partitions: the offset that is stored first, and the one after the last."""


@dataclass(frozen=True, slots=True)
class Plan:
    consumer: ConsumerId
    stages: tuple[Stage, ...]
