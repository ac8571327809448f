"""The margin to retention: how long until Kafka may delete records that are not in their table yet.

Kafka deletes whole segments, by age or by size. A record may stay longer than its retention says, so that a margin is
the least time that is left.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from restow.model import Retention, TopicPartition
from restow.picture.picture import Lag, PartitionStatus
from restow.text import counted, spanned

FLAG: Final = "retention margin"
WHOLE_SHARE: Final = 0.5
"""A short retention has no hour of margin: below this share of it the margin is small."""
MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Writing:
    """How a partition is written."""

    bytes_per_s: float
    records_per_s: float


@dataclass(frozen=True, slots=True)
class Margin:
    seconds: float
    """Until the oldest unread record may be deleted; 0 if that may happen at any moment."""
    of_s: float
    """What it was when that record was new."""

    def is_small(self, least_s: float) -> bool:
        return self.seconds < min(least_s, WHOLE_SHARE * self.of_s)


def margin(retention: Retention, lag: Lag, writing: Writing | None) -> Margin | None:
    """The smaller of the margins by time and by size. Returns None if nothing is unread, or nothing limits it."""
    if not lag.records:
        return None
    found = [each for each in (_by_time(retention, lag), _by_size(retention, lag, writing)) if each is not None]
    return min(found, key=lambda each: each.seconds, default=None)


def _by_time(retention: Retention, lag: Lag) -> Margin | None:
    if retention.seconds is None or lag.seconds is None:
        return None
    return Margin(max(0.0, retention.seconds - lag.seconds), retention.seconds)


def _by_size(retention: Retention, lag: Lag, writing: Writing | None) -> Margin | None:
    """New records push out old ones. The unread bytes are estimated from the present size of a record."""
    if retention.bytes is None or writing is None or writing.bytes_per_s <= 0 or writing.records_per_s <= 0:
        return None
    unread_bytes = lag.records * writing.bytes_per_s / writing.records_per_s
    of_s = retention.bytes / writing.bytes_per_s
    return Margin(max(0.0, (retention.bytes - unread_bytes) / writing.bytes_per_s), of_s)


def words(small: Mapping[TopicPartition, PartitionStatus]) -> str:
    """The flag's words on the partitions whose margin is small, which are not none."""
    worst = sorted(small, key=lambda partition: (small[partition].retention_margin_s or 0.0, partition))
    named = ", ".join(_named(partition, small[partition]) for partition in worst[:MOST_NAMED])
    others = f" and {counted(len(worst) - MOST_NAMED, 'partition')} more" if len(worst) > MOST_NAMED else ""
    return (
        f"Kafka will delete unread records: {named}{others}; let the consumers catch up, with more of them or a higher "
        "capacity, or raise retention.ms or retention.bytes of the topic until they have"
    )


def _named(partition: TopicPartition, status: PartitionStatus) -> str:
    left_s = status.retention_margin_s or 0.0
    when = f"in {spanned(left_s)}" if left_s else "at any moment"
    if status.consumer is None:
        return f"{partition} {when} (no consumer reads it)"
    if status.catch_up_s is None:
        return f"{partition} {when} (its lag does not shrink)"
    return f"{partition} {when} (caught up in {spanned(status.catch_up_s)})"
