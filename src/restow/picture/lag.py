"""Lag of every partition: records behind, and seconds behind, the age of the oldest record not in its table yet.

Within the history of end offsets (offset_history.py) the age is right to a second. Of what is older, the timestamp of
the record at the position tells it. `LagTracker` names the positions that it has to know more about, the controller's
process looks them up (roles/lookups.py) and hands the answers back.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from restow.model import FirstUnread, SortedMapping, TopicPartition
from restow.picture.offset_history import OffsetHistory, Sample
from restow.picture.picture import Lag
from restow.protocol.field_types import Offsets
from restow.protocol.messages.consumer_events import StartConsumingEvent, StateQueryResponse, StopConsumingEvent
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import FromConsumer

MOST_LOOKUPS: Final = 200
"""At once, those of which nothing is known first: 10,000 partitions that fall behind together are known in minutes, and
cost little."""
LOOK_AGAIN_S: Final = 30.0
"""After this a partition is looked up again if its position has moved. In between its age is interpolated."""
DOUBTED_AFTER_S: Final = 10.0
"""A consumer that reads to the end stays behind it by the markers of transactions, which are no records."""


class Clock(NamedTuple):
    """A moment by both clocks of the process."""

    monotonic_s: float
    wall_s: float


class _Lookup(NamedTuple):
    position: int
    found: FirstUnread
    time_s: float


class LagTracker:
    """The lag of every partition whose position is known, read or not."""

    def __init__(self) -> None:
        self._history = OffsetHistory()
        self._positions: dict[TopicPartition, int] = {}
        self._caught_up: dict[TopicPartition, int] = {}
        """Positions at which consumers found nothing to read, although ends may be higher."""
        self._lookups: dict[TopicPartition, _Lookup] = {}
        self._ahead_s: float | None = None
        """The monotonic clock minus the monitor's, by the newest measurement."""

    def measured(self, time_s: float, ends: Mapping[TopicPartition, int], monitor_s: float) -> None:
        """New end offsets, at `time_s` by the monotonic clock and `monitor_s` by the monitor's."""
        self._history.add(time_s, ends)
        self._ahead_s = time_s - monitor_s

    def restored(self, older: Iterable[Sample]) -> bool:
        """Samples from before this process, by the monitor's clock. Returns False if they have to wait, since no
        measurement has shown how far that clock is from ours."""
        ahead_s = self._ahead_s
        if ahead_s is None:
            return False
        self._history.restore(replace(sample, time_s=sample.time_s + ahead_s) for sample in older)
        return True

    def heard(self, message: FromConsumer) -> None:
        """A message of the consumer that holds, or held, its partitions."""
        match message:
            case ConsumerReport(lag_records=lags, next_offsets=offsets):
                self._positions.update(offsets or self._estimated(lags))
                self._caught_up.update((each, at) for each, at in offsets.items() if lags.get(each) == 0)
            case StartConsumingEvent(partitions=offsets) | StateQueryResponse(partitions=offsets):
                self._positions.update(offsets)
            case StopConsumingEvent(partitions=stopped):
                known = ((partition, offset) for partition, offset in stopped.items() if offset is not None)
                self._positions.update(known)
            case _:
                pass

    def knows(self, partition: TopicPartition) -> bool:
        return partition in self._positions

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The group's committed offsets: positions of partitions of which no consumer has said where it is."""
        for partition, offset in offsets.items():
            self._positions.setdefault(partition, offset)

    def looked_up(
        self, asked: Mapping[TopicPartition, int], found: Mapping[TopicPartition, FirstUnread], now: Clock
    ) -> None:
        """Answers to `unexplained`."""
        for partition, record in found.items():
            self._lookups[partition] = _Lookup(asked[partition], record, now.monotonic_s)

    def lags(self, now: Clock) -> dict[TopicPartition, Lag]:
        found: dict[TopicPartition, Lag] = {}
        for partition in self._positions:
            end = self._history.end(partition)
            if end is None:
                continue
            position = self._effective(partition)
            records = max(0, end - position)
            age_s = self._history.age_s(partition, position, now.monotonic_s)
            if age_s is not None:
                found[partition] = Lag(records, round(age_s, 1))
            elif (age_s := self._age_by_record_s(partition, position, now)) is not None:
                found[partition] = Lag(records, round(age_s, 1), "record timestamp")
            else:
                found[partition] = Lag(records, None)
        return found

    def unexplained(
        self, lags: Mapping[TopicPartition, Lag], now: Clock, is_wanted: Callable[[TopicPartition], bool]
    ) -> dict[TopicPartition, int]:
        """The positions whose first unread record should be looked up now, of the partitions that are wanted."""
        due = {
            partition: lookup.time_s if lookup is not None else 0.0
            for partition, lag in lags.items()
            if lag.records and is_wanted(partition)
            for lookup in [self._lookups.get(partition)]
            if self._is_due(partition, lag, lookup, now.monotonic_s)
        }
        first = sorted(due, key=lambda partition: (due[partition], partition))[:MOST_LOOKUPS]
        return {partition: self._positions[partition] for partition in first}

    def _is_due(self, partition: TopicPartition, lag: Lag, lookup: _Lookup | None, now_s: float) -> bool:
        position = self._positions[partition]
        if lag.source == "end offsets" and lag.seconds is not None:
            is_doubted = self._caught_up.get(partition) == position and lag.seconds > DOUBTED_AFTER_S
            return is_doubted and (lookup is None or lookup.position != position)
        if lookup is None or position < lookup.position:
            return True
        is_news = position > lookup.found.offset or lookup.found.is_end
        return is_news and now_s - lookup.time_s >= LOOK_AGAIN_S

    def _effective(self, partition: TopicPartition) -> int:
        """The position, behind a gap without records that a lookup found there."""
        position, lookup = self._positions[partition], self._lookups.get(partition)
        if lookup is not None and lookup.position <= position < lookup.found.offset:
            return lookup.found.offset
        return position

    def _age_by_record_s(self, partition: TopicPartition, position: int, now: Clock) -> float | None:
        """The age by the timestamp of the record that was last looked up. If the position has moved on since, it is
        between that record and the first sample of the history, as if records had come steadily. Whatever the
        timestamp says, a record from before the history is older than the history."""
        lookup, begin = self._lookups.get(partition), self._history.begin(partition)
        if lookup is None or begin is None or position < lookup.position or lookup.found.timestamp_s is None:
            return None
        least_s = max(0.0, now.monotonic_s - begin.time_s)
        age_s = max(least_s, now.wall_s - lookup.found.timestamp_s)
        ahead, known = begin.end - lookup.found.offset, position - lookup.found.offset
        if ahead > 0 and known > 0:
            age_s -= (age_s - least_s) * min(1.0, known / ahead)
        return age_s

    def _estimated(self, lags: Offsets) -> Offsets:
        """The positions of a consumer that reports lags only, as older ones do."""
        ends = {partition: self._history.end(partition) for partition in lags}
        return SortedMapping(
            {partition: max(0, end - lags[partition]) for partition, end in ends.items() if end is not None}
        )
