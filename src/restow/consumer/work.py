"""What a consumer's cycles say about its capacity, summed up between two reports. `report_window.py` adds every cycle.

The sums are all that the controller's regression needs: bytes by topic and seconds of work. Their size is bounded,
however many topics a consumer reads.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from restow.consumer.events import CycleEnded
from restow.model import SortedMapping
from restow.protocol.messages.reports import Work

LEAST_BYTES: Final = 1_000_000
"""Of a cycle that counts: fixed costs decide how long a smaller one takes."""
MOST_TOPICS: Final = 32
"""In a report. What a consumer reads of further topics counts without their names."""
MILLISECONDS: Final = 3
"""The decimals of the seconds: further ones are noise, and would be in every line of the controller's event log."""


@dataclass(frozen=True, slots=True)
class WorkWindow:
    cycles: int = 0
    busy_s: float = 0.0
    bytes_by_topic: SortedMapping[str, int] = field(default_factory=SortedMapping)

    def with_cycle(self, cycle: CycleEnded) -> "WorkWindow":
        if cycle.is_cold or cycle.is_disturbed or cycle.busy_s <= 0 or cycle.bytes < LEAST_BYTES:
            return self
        sizes = dict(self.bytes_by_topic)
        for topic, size in cycle.bytes_by_topic.items():
            sizes[topic] = sizes.get(topic, 0) + size
        return replace(
            self, cycles=self.cycles + 1, busy_s=self.busy_s + cycle.busy_s, bytes_by_topic=SortedMapping(sizes)
        )

    def work(self) -> Work | None:
        """Returns None if no cycle counts."""
        busy_s = round(self.busy_s, MILLISECONDS)
        if not self.cycles or busy_s <= 0:
            return None
        largest = sorted(self.bytes_by_topic.items(), key=lambda each: (-each[1], each[0]))
        others = sum(size for _, size in largest[MOST_TOPICS:])
        return Work(self.cycles, busy_s, SortedMapping(dict(largest[:MOST_TOPICS])), others)
