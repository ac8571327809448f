"""What becomes of bad records: which offsets a cycle leaves out, how many may be left out in a minute, and in which
ranges their table goes on. Pure: cycle.py owns it.

A record that is in the dead-letter table at or beyond the table's position was rejected before a crash, and is left out
of what is run again, whatever the code makes of it now. A record that a search found is left out, and rejected or
skipped by the same cycle.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from restow.consumer.planning import Range
from restow.model import TopicPartition
from restow.pipeline.locating import Spans
from restow.pipeline.searching import BadOffsets
from restow.text import counted

WINDOW_S: Final = 60.0

Offsets = Mapping[TopicPartition, frozenset[int]]
Ranges = Mapping[TopicPartition, Range]


class Findings(NamedTuple):
    """What a search found in a range that failed. Without the bad records the range can be stored."""

    spans: Spans
    bad: BadOffsets


class Rate:
    """How many records were left out in the last minute."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, deque[tuple[float, int]]] = {}

    def add(self, key: Hashable, count: int, now_s: float) -> None:
        if count:
            self._counts.setdefault(key, deque()).append((now_s, count))

    def left(self, key: Hashable, most: int, now_s: float) -> int:
        """How many more may be left out now."""
        counts = self._counts.get(key, deque())
        while counts and counts[0][0] <= now_s - WINDOW_S:
            counts.popleft()
        return max(0, most - sum(count for _, count in counts))


@dataclass
class LeftOut:
    rejected: dict[Hashable, dict[TopicPartition, frozenset[int]]] = field(default_factory=dict)
    """Offsets that are in the dead-letter table of a target, at or beyond its table's positions."""
    findings: dict[Hashable, Findings] = field(default_factory=dict)
    """By target."""

    def opened(self, target: Hashable, partitions: Iterable[TopicPartition], rejected: Offsets) -> None:
        """The partitions are opened, or a cycle of theirs is settled: `rejected` is all that is known of them."""
        again = set(partitions)
        others = {p: offsets for p, offsets in self.rejected.get(target, {}).items() if p not in again}
        self._know(target, {**others, **rejected})

    def keep(self, targets: Iterable[Hashable]) -> None:
        kept = set(targets)
        self.findings = {target: found for target, found in self.findings.items() if target in kept}
        self.rejected = {target: found for target, found in self.rejected.items() if target in kept}

    def cut(self, target: Hashable, ranges: Ranges) -> dict[TopicPartition, Range]:
        """The part of these ranges that a search has covered; all of them if there was no search, or all that it
        covered is stored."""
        found = self.findings.get(target)
        if found is None:
            return dict(ranges)
        covered = {
            p: taken._replace(next=min(taken.next, found.spans[p].next))
            for p, taken in ranges.items()
            if p in found.spans
        }
        covered = {
            p: taken for p, taken in covered.items() if taken.next > taken.position and taken.first <= taken.next
        }
        if not covered:
            del self.findings[target]
            return dict(ranges)
        return covered

    def bad(self, target: Hashable, ranges: Ranges) -> dict[TopicPartition, dict[int, str]]:
        """The bad records of these ranges that are not rejected yet."""
        found = self.findings.get(target)
        offsets = {} if found is None else {p: found.bad.get(p, {}) for p in ranges}
        return {p: kept for p, of in offsets.items() if (kept := self.new_in(target, p, ranges[p], of))}

    def rejected_in(self, target: Hashable, ranges: Ranges) -> dict[TopicPartition, frozenset[int]]:
        known = {p: self.rejected.get(target, {}).get(p, frozenset()) for p in ranges}
        within = {p: frozenset(o for o in of if ranges[p].first <= o < ranges[p].next) for p, of in known.items()}
        return {p: offsets for p, offsets in within.items() if offsets}

    def new_in(
        self, target: Hashable, partition: TopicPartition, taken: Range, bad: Mapping[int, str]
    ) -> dict[int, str]:
        """Those of these bad records that the range has, and that are not rejected yet."""
        known = self.rejected.get(target, {}).get(partition, frozenset())
        return {o: reason for o, reason in bad.items() if taken.first <= o < taken.next and o not in known}

    def stored(self, target: Hashable, ranges: Ranges) -> None:
        if target in self.rejected:
            ends = {p: taken.next for p, taken in ranges.items()}
            left = {
                p: frozenset(offset for offset in offsets if offset >= ends.get(p, offset))
                for p, offsets in self.rejected[target].items()
            }
            self._know(target, left)

    def _know(self, target: Hashable, rejected: Offsets) -> None:
        found = {p: offsets for p, offsets in rejected.items() if offsets}
        self.rejected.pop(target, None)
        if found:
            self.rejected[target] = found


def too_many(found: BadOffsets, most: int, what: str) -> str:
    """Why nothing more is stored. `found` are a few of the bad records."""
    partition, offsets = min(found.items())
    offset, reason = min(offsets.items())
    return (
        f"more than {counted(most, 'record')} in a minute can't be stored in {what} (most_rejected_per_min); "
        f"nothing more is stored until that is corrected. The first: {partition} at offset {offset}: {reason}"
    )
