"""Ranges that crashed the process while they were stored: finds a record that kills the JVM, such as one on which a
transform runs out of memory. No error names such a record, because the process that would raise it is gone.

The plan of the running cycle is on the consumer's volume. If the next process finds it, and the table has not taken it,
the range is a suspect. After the second crash on the same range within ten minutes it is read carefully: in pieces of a
sixteenth, one target at a time and nothing beside it. A piece that is stored is cleared; a piece that crashes is the
suspect from then on. So a range of a million records takes five more crashes. A record that crashed the process alone
is bad.

Pure: cycle.py owns it, and the volume keeps it across crashes.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from restow.consumer.checkpoint import Suspect, TableWrite
from restow.consumer.planning import Range
from restow.model import SortedMapping, TopicPartition

WITHIN_S: Final = 600.0
CAREFUL_FROM: Final = 2
"""Crashes."""
BAD_FROM: Final = 3
"""Crashes, the last of which was of one record alone, read carefully."""
PIECES: Final = 16

Ranges = Mapping[TopicPartition, Range]


def after_crash(known: Iterable[Suspect], writes: Iterable[TableWrite], now_s: float) -> tuple[Suspect, ...]:
    """`writes` were running when the process ended, and are not stored."""
    recent = [suspect for suspect in known if now_s - suspect.last_s <= WITHIN_S]
    found: list[Suspect] = []
    for write in writes:
        earlier = [each for each in recent if each.table == write.table and _has_part_of(each, write)]
        crashes = 1 + max((each.crashes for each in earlier), default=0)
        found.append(Suspect(write.table, write.first, write.next, crashes, now_s))
        recent = [each for each in recent if each not in earlier]
    return (*recent, *found)


def after_store(known: Iterable[Suspect], table: str, ranges: Ranges) -> tuple[Suspect, ...]:
    """These ranges of a table are stored: nothing before their ends is suspect."""
    found = []
    for suspect in known:
        if suspect.table != table:
            found.append(suspect)
            continue
        firsts = {p: max(at, ranges[p].next) if p in ranges else at for p, at in suspect.first.items()}
        left = {p: at for p, at in firsts.items() if at < suspect.next[p]}
        if left:
            nexts = {p: suspect.next[p] for p in left}
            found.append(Suspect(table, SortedMapping(left), SortedMapping(nexts), suspect.crashes, suspect.last_s))
    return tuple(found)


def careful_ranges(known: Iterable[Suspect], table: str, ranges: Ranges) -> dict[TopicPartition, Range] | None:
    """The piece of these ranges that is read next, and alone; None if none of them is suspect."""
    for suspect in known:
        parts = {p: taken for p, taken in ranges.items() if _is_in(suspect, p, taken.position)}
        if suspect.table == table and suspect.crashes >= CAREFUL_FROM and parts:
            left = max(1, _size(suspect) // PIECES)
            return _first_of(parts, suspect, left)
    return None


def killers(known: Iterable[Suspect], table: str) -> dict[TopicPartition, dict[int, str]]:
    """Records that crashed the process alone, each with the reason in words."""
    found: dict[TopicPartition, dict[int, str]] = {}
    for suspect in known:
        if suspect.table == table and suspect.crashes >= BAD_FROM and _size(suspect) == 1:
            [(partition, offset)] = suspect.first.items()
            reason = f"the process ended {suspect.crashes} times while storing it, the last time with no other record"
            found.setdefault(partition, {})[offset] = reason
    return found


def _first_of(parts: Ranges, suspect: Suspect, left: int) -> dict[TopicPartition, Range]:
    found: dict[TopicPartition, Range] = {}
    for partition, taken in sorted(parts.items()):
        next_offset = min(taken.next, suspect.next[partition], taken.first + left)
        if next_offset > taken.position and left > 0:
            found[partition] = taken._replace(next=max(next_offset, taken.first))
            left -= max(0, next_offset - taken.first)
    return found


def _is_in(suspect: Suspect, partition: TopicPartition, position: int) -> bool:
    return partition in suspect.first and suspect.first[partition] <= position < suspect.next[partition]


def _has_part_of(suspect: Suspect, write: TableWrite) -> bool:
    """Whether the write begins within the suspect range."""
    return any(_is_in(suspect, partition, first) for partition, first in write.first.items())


def _size(suspect: Suspect) -> int:
    return sum(suspect.next[partition] - first for partition, first in suspect.first.items())
