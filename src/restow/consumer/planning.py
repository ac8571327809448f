"""Plans which offsets a cycle of the Spark pipeline reads: as many as its limits allow, shared out fairly.

Bytes are shared by max-min fairness: a partition with a small backlog gets all of it, and the others share the rest
evenly. So a long backlog never delays the other partitions, and spare capacity goes to the backlog.

Retention first: partitions whose unread records Kafka is about to delete share most of a cycle before the others. A
consumer knows them by itself: Kafka deletes their oldest records, and most of what is left is unread.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor, log2
from typing import Final, NamedTuple

from restow.model import SortedMapping, TopicPartition

ENDANGERED: Final = 0.8
"""The share of the records in the log that is unread from which on a partition is endangered. At a steady speed of
writing, a fifth of the retention time is left then."""
FIRST_SHARE: Final = 0.75
"""Endangered partitions get up to this share of a cycle before the others: these must not stand still for them."""


class Backlog(NamedTuple):
    """The records of a partition that wait to be read."""

    position: int
    """The next offset to store."""
    first: int
    """The oldest offset that retention has left."""
    end: int
    """The last stable offset."""
    record_bytes: float
    """An estimate of the mean."""
    is_deleted_from: bool = False
    """Whether Kafka has deleted old records of the partition since this consumer reads it."""

    @property
    def unread(self) -> int:
        return self.end - max(self.position, self.first)

    @property
    def is_endangered(self) -> bool:
        """Whether unread records may be deleted soon."""
        return self.is_deleted_from and 0 < self.unread >= ENDANGERED * (self.end - self.first)


class Range(NamedTuple):
    """The offsets of one partition that a cycle reads."""

    position: int
    first: int
    """The first offset that is read: after the position if retention deleted records in between."""
    next: int

    @property
    def records(self) -> int:
        return self.next - self.first

    @property
    def missed(self) -> int:
        """How many offsets retention deleted before they were read."""
        return self.first - self.position


@dataclass(frozen=True, slots=True)
class ReadPlan:
    ranges: SortedMapping[TopicPartition, Range]
    bytes: float
    """An estimate."""
    is_cut: bool
    """The backlog exceeds the limit."""
    truncated: tuple[TopicPartition, ...] = ()
    """Partitions whose log ends before the position: their topic was recreated, and they are not read."""


NEW_AT_ONCE: Final = 32
"""Partitions that a cycle reads for the first time. Each needs a Kafka client, 40 ms of CPU time or more in a young
JVM: all of 144 partitions at once delayed a consumer's first commit by 7 s, and every command during that cycle."""


def few_new(
    backlogs: Mapping[TopicPartition, Backlog], known: Collection[TopicPartition]
) -> dict[TopicPartition, Backlog]:
    """Without those new partitions that are left to later cycles. Neighbours come together: they share a table."""
    new = (partition for partition, at in backlogs.items() if partition not in known and at.end > at.position)
    left = set(sorted(new)[NEW_AT_ONCE:])
    return {partition: each for partition, each in backlogs.items() if partition not in left}


def plan_reads(backlogs: Mapping[TopicPartition, Backlog], limit_bytes: float) -> ReadPlan:
    """Every partition with a backlog gets at least one record, even beyond the limit."""
    begun = {partition: max(at.position, at.first) for partition, at in backlogs.items()}
    records = {partition: at.unread for partition, at in backlogs.items()}
    sizes = {p: count * backlogs[p].record_bytes for p, count in records.items() if count > 0}
    endangered = {p for p in sizes if backlogs[p].is_endangered}
    share_of_endangered, share_of_others = _shares(sizes, endangered, limit_bytes)
    ranges: dict[TopicPartition, Range] = {}
    planned_bytes, is_cut = 0.0, False
    for partition, at in backlogs.items():
        fair_share = share_of_endangered if partition in endangered else share_of_others
        is_over = sizes.get(partition, 0.0) > fair_share
        most = max(1, int(fair_share / at.record_bytes)) if is_over else records[partition]
        count = min(records[partition], most)
        if count > 0 or (count == 0 and at.first > at.position):
            ranges[partition] = Range(at.position, begun[partition], begun[partition] + count)
            planned_bytes += count * at.record_bytes
            is_cut = is_cut or count < records[partition]
    truncated = tuple(sorted(partition for partition, at in backlogs.items() if at.end < at.position))
    return ReadPlan(SortedMapping(ranges), planned_bytes, is_cut, truncated)


def _shares(
    sizes: Mapping[TopicPartition, float], endangered: set[TopicPartition], limit: float
) -> tuple[float, float]:
    """The most bytes that an endangered partition may have, and any other. An endangered one never has less than if
    all were alike."""
    first = sorted(size for partition, size in sizes.items() if partition in endangered)
    others = sorted(size for partition, size in sizes.items() if partition not in endangered)
    share = max(_fair_share(first, FIRST_SHARE * limit), _fair_share(sorted(sizes.values()), limit))
    return share, _fair_share(others, limit - sum(min(size, share) for size in first))


SUSPECT_RECORDS: Final = 1_000
"""The most that the first cycle of a process reads of a partition that consumers crashed on; each further one reads up
to twice as many. A crash begins with few again, from where the table is: so it tells about few records, and a backlog
without such a record is worked off all the same."""


MOST_DOUBLINGS: Final = 20


class Care:
    """Whose turn it is in a consumer with suspects: every other cycle reads a small range of one of them, and nothing
    else, so that a record that kills the process keeps no other partition from being read."""

    def __init__(self) -> None:
        self._last: TopicPartition | None = None
        self._was_suspects = False
        self._read: dict[TopicPartition, int] = {}
        """How many cycles have read each suspect."""

    def most_records(self, suspect: TopicPartition) -> int:
        """What the next cycle may read of it."""
        return SUSPECT_RECORDS << min(self._read.get(suspect, 0), MOST_DOUBLINGS)

    def suspect(self, suspects: Iterable[TopicPartition], others: bool) -> TopicPartition | None:
        """The suspect that the cycle reads, of those with a backlog; None if it is the turn of the others, which may
        have a backlog too."""
        waiting = sorted(suspects)
        if not waiting or (others and self._was_suspects):
            return None
        later = [each for each in waiting if self._last is not None and each > self._last]
        return (later or waiting)[0]

    def began(self, read: Iterable[TopicPartition], suspects: Collection[TopicPartition]) -> None:
        """A cycle has begun to read these."""
        chosen = [each for each in read if each in suspects]
        self._was_suspects = bool(chosen)
        self._last = chosen[0] if chosen else self._last
        self._read = {each: self._read.get(each, 0) + (each in chosen) for each in suspects}


def plan_with_care(
    backlogs: Mapping[TopicPartition, Backlog], limit_bytes: float, suspects: Collection[TopicPartition], care: Care
) -> ReadPlan:
    """As `plan_reads`, but either a small range of one suspect or the other partitions."""
    if not suspects:
        return plan_reads(backlogs, limit_bytes)
    waiting = [each for each in suspects if each in backlogs and backlogs[each].end > backlogs[each].position]
    others = {each: at for each, at in backlogs.items() if each not in suspects}
    chosen = care.suspect(waiting, any(at.end > at.position for at in others.values()))
    if chosen is None:
        return plan_reads(others, limit_bytes)
    at = backlogs[chosen]
    return plan_reads({chosen: at}, min(limit_bytes, care.most_records(chosen) * at.record_bytes))


def _fair_share(sizes: list[float], limit: float) -> float:
    """The most bytes that one partition may have so that all together stay within the limit. `sizes` ascend."""
    left = limit
    for index, size in enumerate(sizes):
        share = left / (len(sizes) - index)
        if size > share:
            return share
        left -= size
    return sizes[-1] if sizes else 0.0


def tasks(read_bytes: float, cores: int, bytes_per_task: float) -> int:
    """How many Spark tasks share a cycle's work. Every task writes a file of its own, so that few records are one."""
    return max(1, min(cores, ceil(read_bytes / bytes_per_task)))


LEAST_FETCH_BYTES: Final = 64 << 10
MOST_FETCH_BYTES: Final = 1 << 20
"""Kafka's own default."""
FETCH_SHARE: Final = 1 / 4
"""Of the heap: what the Kafka clients of all partitions may hold together."""
FETCH_COPIES: Final = 3
"""Fetches in memory at once, at the worst: one that is being parsed, the next one, and one in transit."""


def fetch_bytes(partitions: int, heap_bytes: float) -> int:
    """How much a Kafka client may fetch at once, a power of two. Every partition has a client of its own, which keeps
    what it fetched between cycles: with Kafka's default of 1 MiB, 144 of them filled a heap of 600 MB, and the JVM did
    little but collect garbage."""
    share = FETCH_SHARE * heap_bytes / FETCH_COPIES / max(1, partitions)
    return 1 << floor(log2(min(max(share, LEAST_FETCH_BYTES), MOST_FETCH_BYTES)))
