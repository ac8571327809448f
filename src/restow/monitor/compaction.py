"""What compaction hid: a compacted log that grew by less than its records must have taken.

Compaction rewrites old segments while new records come, so that a log may grow, and yet by too little. Offsets tell the
records; what is known of a partition's own bytes a record tells what they should have taken. `increments.py` calls this
for the partitions of compacted topics, and for the intervals whose growth it would take for what was written.

    learning    in the first intervals there is nothing to check growth by: it is told as it is, and as an estimate
    believed    growth is about what the records must have taken, or more: compaction never makes a log grow
    raised      growth is too low, by more than the bytes a record vary: records x bytes a record is told, an estimate
    relearnt    too low, but three times in a row by the same: the records became smaller; what was raised is withdrawn

A sample's offsets are a moment younger than its sizes: a burst that came in between has its records in one interval and
its bytes in the next. What was raised for the one is withdrawn when the next has as much too much.

Two things are not seen: a compaction that takes the same share of every interval, and one that takes just as much as
larger records bring.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from restow.monitor.sample import Flags, Floats, Integers

LEARNT_FROM: Final = 5
"""Intervals from which a partition's bytes a record, and how much these vary, are known."""

REMEMBERED: Final = 20
"""Intervals over which they are averaged."""

LEAST_SLACK: Final = 0.03
DEVIATIONS: Final = 3.0
"""Growth is too low when it is below what was to be expected by this share, and by so many standard deviations."""

MOST_DOUBT: Final = 0.1
"""Growth that could be too low by more than this share and still be believed is told as an estimate."""

AGREED: Final = 3
"""So many intervals in a row that are too low by the same are no compaction."""

FORGOTTEN_AFTER_S: Final = 30.0
"""When all growth was too low for so long, what was known is of no use any more."""

FRAME_BYTES: Final = 61
"""Of a batch of records. At a higher speed more records share one, so that each takes less."""


@dataclass(frozen=True, slots=True, eq=False)
class Usual:
    """What is known of partitions: means over the intervals whose growth was believed, a column each."""

    intervals: Floats
    """How many there were."""
    bytes: Floats
    records: Floats
    variance: Floats
    """Of the bytes a record, as a share of their mean."""

    @classmethod
    def none(cls, partitions: int) -> "Usual":
        return cls(*np.zeros((4, partitions)))

    def taken(self, positions: Integers) -> "Usual":
        return Usual(*_taken((self.intervals, self.bytes, self.records, self.variance), positions))

    @property
    def per_record(self) -> Floats:
        return _ratio(self.bytes, self.records)

    @property
    def is_known(self) -> Flags:
        return np.asarray((self.intervals >= LEARNT_FROM) & (self.bytes > 0))

    def with_interval(self, growth: Floats, records: Floats, rows: Flags) -> "Usual":
        """With one more interval in these rows."""
        share = 1.0 / np.minimum(self.intervals + 1, REMEMBERED)
        off = np.where(self.bytes > 0, _ratio(_ratio(growth, records), self.per_record) - 1.0, 0.0)
        # Compaction only lowers growth: once something is known, what lies above it tells how much it varies by itself.
        square = np.where(self.is_known, 2 * np.maximum(off, 0.0) ** 2, off**2) / _fewer(records, self.records)

        def moved(mean: Floats, value: Floats) -> Floats:
            return np.where(rows, mean + share * (value - mean), mean)

        return Usual(
            np.where(rows, self.intervals + 1, self.intervals),
            moved(self.bytes, growth),
            moved(self.records, records),
            moved(self.variance, square),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """The newest intervals in a row whose growth was too low by the same, a column each; 0 where it was believed."""

    intervals: Floats
    bytes: Floats
    records: Floats
    raised: Floats
    """Bytes that were told above the growth."""
    seconds: Floats
    """Since growth was last believed, whether they were too low by the same or not."""

    @classmethod
    def none(cls, partitions: int) -> "Doubt":
        return cls(*np.zeros((5, partitions)))

    def taken(self, positions: Integers) -> "Doubt":
        return Doubt(*_taken((self.intervals, self.bytes, self.records, self.raised, self.seconds), positions))


@dataclass(frozen=True, slots=True, eq=False)
class Sense:
    """What the next interval of compacted partitions needs from those before it."""

    usual: Usual
    doubt: Doubt

    @classmethod
    def none(cls, partitions: int) -> "Sense":
        return cls(Usual.none(partitions), Doubt.none(partitions))

    def taken(self, positions: Integers) -> "Sense":
        return Sense(self.usual.taken(positions), self.doubt.taken(positions))


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """Of an interval, a column each. Rows that were not asked for are told as they grew."""

    estimated: Flags
    raised: Floats
    """Bytes to be told above the growth."""
    withdrawn: Floats
    """Bytes that were raised in the intervals before this one, and were never written."""

    @classmethod
    def none(cls, partitions: int) -> "Judgement":
        no, nothing = np.zeros(partitions, np.bool_), np.zeros(partitions)
        return cls(no, nothing, nothing)


def judged(asked: Flags, growth: Floats, records: Floats, seconds: Floats, sense: Sense) -> tuple[Judgement, Sense]:
    """What to make of the growth in the rows asked for, and what is known afterwards."""
    usual, doubt = sense.usual, sense.doubt
    expected, known, slack = records * usual.per_record, usual.is_known, _slack(records, usual)
    least = records * _least_per_record(records, usual) * (1.0 - slack)
    written = asked & (records > 0)
    too_low = written & known & (growth < least)
    run = _with_interval(doubt, growth, records, seconds, too_low, slack)
    relearnt = too_low & (run.intervals >= AGREED)
    forgotten = too_low & (run.seconds > FORGOTTEN_AFTER_S) & ~relearnt

    raised = np.where(too_low & ~relearnt & ~forgotten, expected - growth, 0.0)
    excess = np.where(asked & known & (growth > expected * (1.0 + slack)), growth - expected, 0.0)
    withdrawn = np.where(relearnt, doubt.raised, np.minimum(excess, doubt.raised))
    unchecked = written & (~known | (least < (1.0 - MOST_DOUBT) * expected))
    believed = written & ~too_low
    judgement = Judgement(unchecked | too_low | (withdrawn > 0), raised, withdrawn)

    run = replace(run, raised=np.where(too_low & (run.intervals <= 1), 0.0, doubt.raised - withdrawn) + raised)
    usual = _chosen(relearnt, _known_from(run, usual.variance), _chosen(forgotten, Usual.none(len(growth)), usual))
    usual = usual.with_interval(growth, records, believed | forgotten)
    return judgement, Sense(usual, run.taken(np.where(believed | relearnt | forgotten, -1, np.arange(len(growth)))))


def _slack(records: Floats, usual: Usual) -> Floats:
    """By what share an interval's bytes a record may lie below the usual ones: those of few records vary more."""
    return np.clip(DEVIATIONS * np.sqrt(usual.variance * _fewer(records, usual.records)), LEAST_SLACK, 1.0)


def _least_per_record(records: Floats, usual: Usual) -> Floats:
    """Where there are more records than usual, as many batches may have held them: each took less of their frames."""
    return np.maximum(usual.per_record - FRAME_BYTES * (1.0 - 1.0 / _fewer(usual.records, records)), 0.0)


def _fewer(records: Floats, others: Floats) -> Floats:
    """How many times fewer the records are than the others; 1 where they aren't."""
    return np.maximum(_ratio(others, records), 1.0)


def _with_interval(
    doubt: Doubt, growth: Floats, records: Floats, seconds: Floats, too_low: Flags, slack: Floats
) -> Doubt:
    """The run goes on with an interval that is too low by the same, and begins anew with another one."""
    so_far, now = _ratio(doubt.bytes, doubt.records), _ratio(growth, records)
    goes_on = (doubt.intervals > 0) & (np.abs(now - so_far) <= slack * so_far)

    def added(before: Floats, value: Floats) -> Floats:
        # Growth of nothing begins no run: whatever became smaller, a record takes something.
        anew = np.where(growth > 0, value, 0.0)
        return np.where(too_low, np.where(goes_on, before + value, anew), before)

    return Doubt(
        added(doubt.intervals, np.ones_like(growth)),
        added(doubt.bytes, growth),
        added(doubt.records, records),
        doubt.raised,
        doubt.seconds + np.where(too_low, seconds, 0.0),
    )


def _known_from(run: Doubt, variance: Floats) -> Usual:
    intervals = np.maximum(run.intervals, 1.0)
    return Usual(np.full_like(variance, LEARNT_FROM), run.bytes / intervals, run.records / intervals, variance)


def _chosen(rows: Flags, one: Usual, other: Usual) -> Usual:
    return Usual(
        np.where(rows, one.intervals, other.intervals),
        np.where(rows, one.bytes, other.bytes),
        np.where(rows, one.records, other.records),
        np.where(rows, one.variance, other.variance),
    )


def _taken(columns: tuple[Floats, ...], positions: Integers) -> tuple[Floats, ...]:
    known = positions >= 0
    return tuple(np.where(known, column[positions], 0.0) for column in columns)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
