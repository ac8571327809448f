"""Tells cold cycles from warm ones. Pure; the Spark pipeline keeps one `Warmth` for its process.

A JVM interprets its code at first and compiles it while it runs, and a partition that is read for the first time needs
a Kafka client. Such cycles take several times as long as later ones, so that they say nothing about the pace that the
consumer can keep, nor about its capacity.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from restow.model import TopicPartition

COLD_S: Final = 20.0
"""Seconds of work after which the JVM counts as warm: by then a cycle reached three quarters of its later speed."""
COLD_CYCLES: Final = 5
"""The same in cycles: on a machine that has little time for it, a single one may take longer than COLD_S."""


@dataclass(frozen=True, slots=True)
class Warmth:
    busy_s: float = 0.0
    """Seconds of work in cycles so far."""
    cycles: int = 0
    read: frozenset[TopicPartition] = frozenset()
    """Every partition that a cycle has read."""

    def is_cold(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether a cycle over these partitions will be a cold one."""
        return self.busy_s < COLD_S or self.cycles < COLD_CYCLES or not self.read.issuperset(partitions)

    def after(self, partitions: Iterable[TopicPartition], busy_s: float) -> "Warmth":
        return Warmth(self.busy_s + busy_s, self.cycles + 1, self.read.union(partitions))
