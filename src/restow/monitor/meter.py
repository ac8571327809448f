"""The meter turns samples into speeds. It keeps what was written in the last window (30 s), and nothing older.

`restow monitor` and `restow study monitor` pass it every sample they take. All state is columns over the partitions:
time per sample and memory grow only with the number of partitions.
"""

import math
from collections import deque
from dataclasses import dataclass, replace
from itertools import compress
from typing import Final

import numpy as np

from restow.errors import InvalidInput
from restow.model import SortedMapping, TopicPartition
from restow.monitor.changes import Changes, detected, since_change, standing_out
from restow.monitor.increments import Increment, Knowledge, between, continued
from restow.monitor.sample import NO_ANSWER, UNREADABLE, Flags, Floats, Integers, Sample
from restow.protocol.measurement import Measurement, PartitionSpeed

SLOTS: Final = 75
"""A window has at most about this many intervals; more frequent samples are joined, so that memory stays bounded, and a
change is believed after two intervals of 0.4 s at the earliest. Samples every 0.5 s are never exactly on time, and not
joined."""

FULL: Final = 0.9
"""The share of the window from which on the mean is smoothed; before that the window grows and the mean is stable."""

FADING: Final = 3.0
"""How many times faster than the window the known size of records decays, so that it follows the present."""

MOST_ERRORS_OFF: Final = 2.0
"""The smoothed speed stays this close to the mean, in standard errors of the mean: it lags only where the mean is
uncertain, as when a burst enters the window, and not when the burst leaves it."""


DECIMALS: Final = 1
"""Of the speeds in a Measurement."""


@dataclass(frozen=True, slots=True)
class MeterSettings:
    window_s: float = 30.0
    """Seconds over which the raw speed is averaged, and the filtered speed at most."""
    threshold: float = 30.0
    """How significant a change must be before the filter drops what was before it: see changes.py."""
    smoothing_s: float = 6.0
    """Time constant of the low-pass filter on the mean of a full window; 0 switches it off."""

    def __post_init__(self) -> None:
        for name, least in (("window_s", 0.0), ("threshold", 0.0)):
            if not least < getattr(self, name) < math.inf:
                raise InvalidInput(
                    f"the monitor's {name} is {getattr(self, name)}; it must be a number above {least:g}"
                )
        if not 0 <= self.smoothing_s < math.inf:
            raise InvalidInput(f"the monitor's smoothing_s is {self.smoothing_s}; it must be a number, 0 or more")


@dataclass(frozen=True, slots=True, eq=False)
class MeterReading:
    """The speeds up to one sample, in columns over the partitions."""

    window_s: float
    """How much time the raw speeds cover: less than the window at the start."""
    partitions: tuple[TopicPartition, ...]
    bytes_per_s: Floats
    """The mean over the window."""
    filtered_bytes_per_s: Floats
    """The mean since the speed last changed, smoothed: follows a step at once, and varies less than the window's."""
    records_per_s: Floats
    """The mean over the window."""
    end_offset: Integers
    size_bytes: Integers
    """Of the leader's log, or UNREADABLE."""
    estimated: Flags
    """Whether some of the window's bytes are an estimate, or there is no window yet."""
    newest_bytes_per_s: Floats
    """In the last interval alone."""
    stands_out: Flags
    """Whether the speed may just have changed: pace.py then wants the next sample sooner."""
    changed: Flags
    """Whether a change is believed, moved or revoked with this sample: pace.py wants it published."""

    def to_measurement(self, time: str) -> Measurement:
        """The record for the monitor topic, with speeds rounded to a tenth."""
        columns = (
            self.bytes_per_s.round(DECIMALS).tolist(),
            self.filtered_bytes_per_s.round(DECIMALS).tolist(),
            self.records_per_s.round(DECIMALS).tolist(),
            self.end_offset.tolist(),
            (None if size == UNREADABLE else size for size in self.size_bytes.tolist()),
            self.estimated.tolist(),
        )
        rows = map(PartitionSpeed, *columns)
        return Measurement(
            time=time,
            window_s=round(self.window_s, 3),
            partitions=SortedMapping(dict(zip(self.partitions, rows, strict=True))),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Slot:
    begins_s: float
    ends_s: float
    written: Increment


class Meter:
    def __init__(self, settings: MeterSettings | None = None) -> None:
        self._settings = settings or MeterSettings()
        self._last: Sample | None = None
        """Every partition's newest row: of the last sample, or of the last one with an answer."""
        self._seen_s = np.zeros(0)
        """The time of that row."""
        self._topic_of = np.zeros(0, np.int64)
        self._slots: deque[_Slot] = deque()
        self._knowledge = Knowledge.none(0)
        self._changes = Changes.none(0)
        self._level = np.zeros(0)

    def take(self, sample: Sample) -> MeterReading | None:
        """Returns the reading up to this sample; None for the first sample, and after a gap longer than the window."""
        last = self._last
        if last is None or not last.partitions or sample.time_s - last.time_s > self._settings.window_s:
            self._start_over(sample)
            return None
        elapsed_s = sample.time_s - last.time_s
        assert elapsed_s > 0, "a sample is later than the one before it"
        positions = self._follow(last, sample)
        before = _rows_of(last, sample, positions)
        after = _with_rows(sample, before, sample.end_offset == NO_ANSWER)
        seconds = np.where(sample.end_offset == NO_ANSWER, 0.0, sample.time_s - self._seen_s)
        known = self._knowledge.faded(math.exp(-FADING * elapsed_s / self._settings.window_s))
        written, self._knowledge, withdrawn = between(before, after, seconds, known, self._topic_of)
        self._seen_s = np.where(sample.end_offset == NO_ANSWER, self._seen_s, sample.time_s)
        self._last = after
        self._withdraw(withdrawn)
        self._add(_Slot(last.time_s, sample.time_s, written))
        return _answered(self._measure(after, elapsed_s), sample)

    def _start_over(self, sample: Sample) -> None:
        rows = len(sample.partitions)
        self._last, self._topic_of = sample, _topic_numbers(sample.partitions)
        self._seen_s = np.full(rows, sample.time_s)
        self._slots.clear()
        self._knowledge, self._changes, self._level = Knowledge.none(rows), Changes.none(rows), np.zeros(rows)

    def _follow(self, last: Sample, sample: Sample) -> Integers:
        """Aligns all state with the partitions of the sample.

        Returns their positions in the last sample; -1 for partitions that start over: new ones, recreated ones, and
        those whose last answer is older than the window.
        """
        same_rows = last.partitions == sample.partitions
        positions = np.arange(len(sample.partitions)) if same_rows else _positions(last.partitions, sample.partitions)
        before = _rows_of(last, sample, positions)
        silent = sample.end_offset == NO_ANSWER
        seen_s = np.where(positions >= 0, self._seen_s[positions], sample.time_s)
        past = (continued(before, sample) | silent) & (before.end_offset != NO_ANSWER)
        past &= sample.time_s - seen_s <= self._settings.window_s
        positions = np.where(past, positions, -1)
        self._seen_s = np.where(positions >= 0, seen_s, sample.time_s)
        if not same_rows:
            self._topic_of = _topic_numbers(sample.partitions)
        if not same_rows or (positions < 0).any():
            self._slots = deque(replace(slot, written=slot.written.taken(positions)) for slot in self._slots)
            self._knowledge, self._changes = self._knowledge.taken(positions), self._changes.taken(positions)
            self._level = np.where(positions >= 0, self._level[positions], 0.0)
        return positions

    def _withdraw(self, bytes_: Floats) -> None:
        """Withdraws bytes that compaction.py raised in the newest intervals and that were not written."""
        for index in reversed(range(len(self._slots) if bytes_.any() else 0)):
            slot = self._slots[index]
            here = np.minimum(bytes_, slot.written.raised)
            self._slots[index] = replace(slot, written=slot.written.lowered(here))
            bytes_ = bytes_ - here

    def _add(self, slot: _Slot) -> None:
        newest = self._slots[-1] if self._slots else None
        if newest and newest.ends_s - newest.begins_s < self._settings.window_s / SLOTS:
            self._slots[-1] = _Slot(newest.begins_s, slot.ends_s, slot.written.joined_to(newest.written))
        else:
            self._slots.append(slot)
        # Drops slots that began before the window. Samples are never exactly on time: half a slot is tolerated.
        oldest_s = slot.ends_s - self._settings.window_s * (1 + 0.5 / SLOTS)
        while self._slots[0].begins_s < oldest_s and len(self._slots) > 1:
            self._slots.popleft()

    def _measure(self, sample: Sample, elapsed_s: float) -> MeterReading:
        begins_s = np.array([slot.begins_s for slot in self._slots])
        seconds = np.stack([slot.written.seconds for slot in self._slots])
        written = np.stack([slot.written.bytes for slot in self._slots])
        whole_s = seconds.sum(axis=0)
        before = self._changes
        filtered = self._filtered(begins_s, seconds, written, elapsed_s)
        return MeterReading(
            window_s=sample.time_s - self._slots[0].begins_s,
            partitions=sample.partitions,
            bytes_per_s=_speed(written.sum(axis=0), whole_s),
            filtered_bytes_per_s=filtered,
            records_per_s=_speed(sum((slot.written.records for slot in self._slots), np.zeros_like(whole_s)), whole_s),
            end_offset=sample.end_offset,
            size_bytes=sample.size_bytes,
            estimated=np.logical_or.reduce([slot.written.estimated for slot in self._slots]) | (whole_s == 0),
            newest_bytes_per_s=_speed(written[-1], seconds[-1]),
            stands_out=standing_out(self._changes, begins_s, seconds, written),
            changed=np.asarray(self._changes.latest_s != before.latest_s),
        )

    def _filtered(self, begins_s: Floats, seconds: Floats, written: Floats, elapsed_s: float) -> Floats:
        self._changes = detected(self._changes, begins_s, seconds, written, self._settings.threshold)
        present = since_change(self._changes, begins_s, seconds)
        seconds, written = np.where(present, seconds, 0.0), np.where(present, written, 0.0)
        present_s = seconds.sum(axis=0)
        mean = _speed(written.sum(axis=0), present_s)
        if self._settings.smoothing_s > 0:
            is_sliding = present_s >= FULL * self._settings.window_s
            gain = -math.expm1(-elapsed_s / self._settings.smoothing_s)
            smooth = self._level + gain * (mean - self._level)
            leash = MOST_ERRORS_OFF * _standard_error(mean, seconds, written)
            mean = np.where(is_sliding, np.clip(smooth, mean - leash, mean + leash), mean)
        self._level = mean
        return mean


def _standard_error(mean: Floats, seconds: Floats, written: Floats) -> Floats:
    """The standard error of the mean, from the variance of the intervals."""
    squares = (written * _speed(written, seconds)).sum(axis=0)
    variance = np.maximum(squares - mean * written.sum(axis=0), 0.0) / np.maximum((seconds > 0).sum(axis=0) - 1, 1)
    return np.asarray(np.sqrt(_speed(variance, seconds.sum(axis=0))))


def _positions(of: tuple[TopicPartition, ...], wanted: tuple[TopicPartition, ...]) -> Integers:
    place = {partition: position for position, partition in enumerate(of)}
    return np.fromiter((place.get(partition, -1) for partition in wanted), dtype=np.int64, count=len(wanted))


def _topic_numbers(partitions: tuple[TopicPartition, ...]) -> Integers:
    numbers: dict[str, int] = {}
    return np.fromiter(
        (numbers.setdefault(partition.topic, len(numbers)) for partition in partitions),
        dtype=np.int64,
        count=len(partitions),
    )


def _rows_of(last: Sample, sample: Sample, positions: Integers) -> Sample:
    """The last sample, over the partitions of the new one. A partition that starts over has its present row."""
    aligned = replace(
        last,
        partitions=sample.partitions,
        leader=last.leader[positions],
        start_offset=last.start_offset[positions],
        end_offset=last.end_offset[positions],
        size_bytes=last.size_bytes[positions],
        compacted=sample.compacted,
    )
    return _with_rows(aligned, sample, positions < 0)


def _with_rows(sample: Sample, other: Sample, chosen: Flags) -> Sample:
    """The sample with the chosen rows of another one."""
    if not chosen.any():
        return sample
    return replace(
        sample,
        leader=np.where(chosen, other.leader, sample.leader),
        start_offset=np.where(chosen, other.start_offset, sample.start_offset),
        end_offset=np.where(chosen, other.end_offset, sample.end_offset),
        size_bytes=np.where(chosen, other.size_bytes, sample.size_bytes),
    )


def _answered(reading: MeterReading, sample: Sample) -> MeterReading:
    """Leaves out the partitions that gave no answer this time, whose speeds would be stale."""
    kept = sample.end_offset != NO_ANSWER
    if kept.all():
        return reading
    return MeterReading(
        window_s=reading.window_s,
        partitions=tuple(compress(reading.partitions, kept)),
        bytes_per_s=reading.bytes_per_s[kept],
        filtered_bytes_per_s=reading.filtered_bytes_per_s[kept],
        records_per_s=reading.records_per_s[kept],
        end_offset=reading.end_offset[kept],
        size_bytes=reading.size_bytes[kept],
        estimated=reading.estimated[kept],
        newest_bytes_per_s=reading.newest_bytes_per_s[kept],
        stands_out=reading.stands_out[kept],
        changed=reading.changed[kept],
    )


def _speed(written: Floats, seconds: Floats) -> Floats:
    return np.divide(written, seconds, out=np.zeros_like(written), where=seconds > 0)
