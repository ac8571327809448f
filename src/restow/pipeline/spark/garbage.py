"""Warns of a Java heap that is too small: a JVM whose heap is full runs, but does little else than collect garbage.

Nothing fails then, brokers are idle, and cycles take many times as long. The engine looks before its cycles.
"""

import logging
from collections.abc import Sequence
from typing import Final, Protocol

log = logging.getLogger(__name__)

EVERY_S: Final = 60.0
HIGH, NORMAL = 0.3, 0.15
"""Shares of the time. At full load 5 to 10 % is usual, and 25 % with many partitions in the first minute."""


class Collector(Protocol):
    """Java's GarbageCollectorMXBean."""

    def getCollectionTime(self) -> int: ...  # noqa: N802  Java's name


class GarbageWatch:
    def __init__(self, collectors: Sequence[Collector], heap_bytes: int, now_s: float) -> None:
        self._collectors, self._heap_bytes = collectors, heap_bytes
        self._since_s, self._collected_s = now_s, self._total_s()
        self._is_high = False

    def look(self, now_s: float) -> None:
        """Logs once that collecting takes too much time, and once that it doesn't any more."""
        lasted_s = now_s - self._since_s
        if lasted_s < EVERY_S:
            return
        before_s, self._since_s, self._collected_s = self._collected_s, now_s, self._total_s()
        share = (self._collected_s - before_s) / lasted_s
        if share > HIGH and not self._is_high:
            self._is_high = True
            log.warning(
                "garbage collection took %.0f %% of the last %.0f s: the Java heap of %.0f MB is too small for what "
                "this consumer reads and does; raise memory_mb in [consumer]",
                share * 100,
                lasted_s,
                self._heap_bytes / 1e6,
            )
        elif share < NORMAL and self._is_high:
            self._is_high = False
            log.info("garbage collection takes little time again")

    def _total_s(self) -> float:
        return sum(each.getCollectionTime() for each in self._collectors) / 1000
