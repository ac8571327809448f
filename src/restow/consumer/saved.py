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
