"""What `restow init` knows of a topic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from restow.protocol.topic_names import topics_of_groups
from restow.starter.columns import Shape

UNLOOKED = Shape("unknown")


@dataclass(frozen=True, slots=True)
class TopicFacts:
    name: str
    partitions: int = 0
    records: int = 0
    size_bytes: float | None = None
    """Of the log, or estimated from a sample of records. None if neither could be read."""
    records_per_s: float = 0.0
    shape: Shape = UNLOOKED

    @property
    def record_bytes(self) -> float | None:
        return self.size_bytes / self.records if self.size_bytes is not None and self.records else None

    @property
    def bytes_per_s(self) -> float | None:
        """None if the size of its records is not known. Not from two sizes: retention would make it negative."""
        if not self.records_per_s:
            return 0.0
        return None if self.record_bytes is None else self.records_per_s * self.record_bytes


def consumable(leaders: Mapping[str, object]) -> tuple[str, ...]:
    """The topics of a cluster without internal ones, whose names start with an underscore by convention, and without
    those of restow's groups."""
    restows = topics_of_groups(leaders)
    return tuple(sorted(name for name in leaders if not name.startswith("_") and name not in restows))


def needed_consumers(topics: Sequence[TopicFacts], capacity_bytes_per_s: float, fill_to: float) -> int:
    """How many consumers the measured speeds would take, if they could be packed without loss."""
    total = sum(topic.bytes_per_s or 0.0 for topic in topics)
    return max(1, -int(-total // (capacity_bytes_per_s * fill_to)))
