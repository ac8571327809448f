"""Corrects the growth of a compacted log: bytes that compaction removed while new records were written.

Compaction rewrites old segments while records arrive, so that a log may grow by less than was written to it. The
offsets give the number of records, and the partition's usual bytes per record the growth to expect. `increments.py`
calls this for partitions of compacted topics, in intervals whose growth it would otherwise trust.

    learning    in the first intervals there is nothing to compare with: growth is taken as it is, as an estimate
    trusted     growth is about as expected, or more: compaction never makes a log grow
    raised      growth is too low by more than the usual variation: records x bytes per record instead, an estimate
    relearnt    three times in a row too low by the same: records became smaller, and what was raised is withdrawn

A sample reads offsets shortly after sizes: a burst in between has its records in one interval and its bytes in the
next. What was raised for the first interval is withdrawn when the second has the same excess.

Two things go unnoticed: a compaction that removes the same share in every interval, and a compaction that removes
exactly as much as larger records add.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from restow.monitor.sample import Flags, Floats, Integers

LEARNT_FROM: Final = 5
"""Intervals after which a partition's bytes per record and their variance are known."""

REMEMBERED: Final = 20
"""Intervals over which both are averaged."""

LEAST_SLACK: Final = 0.03
DEVIATIONS: Final = 3.0
"""Growth is too low if it is below the expected growth by this share and by this many standard deviations."""

MOST_UNCERTAIN: Final = 0.1
"""Growth is marked as estimated if it could be too low by more than this share without being noticed."""

AGREED: Final = 3
"""This many intervals in a row that are too low by the same amount are no compaction."""

FORGOTTEN_AFTER_S: Final = 30.0
"""After this long with growth that is always too low, the known record size is discarded."""

FRAME_BYTES: Final = 61
"""Overhead of a batch of records. At a higher speed more records share a batch, so that each takes less."""


@dataclass(frozen=True, slots=True, eq=False)
class TypicalSizes:
    """The usual size of each partition's records: means over the intervals whose growth was trusted."""

    intervals: Floats
    """The number of those intervals."""
    bytes: Floats
    records: Floats
    variance: Floats
    """Relative variance of the bytes per record."""

    @classmethod
    def none(cls, partitions: int) -> "TypicalSizes":
        return cls(*np.zeros((4, partitions)))

    def taken(self, positions: Integers) -> "TypicalSizes":
        return TypicalSizes(*_taken((self.intervals, self.bytes, self.records, self.variance), positions))

    @property
    def per_record(self) -> Floats:
        return _ratio(self.bytes, self.records)

    @property
    def is_known(self) -> Flags:
        return np.asarray((self.intervals >= LEARNT_FROM) & (self.bytes > 0))

    def with_interval(self, growth: Floats, records: Floats, rows: Flags) -> "TypicalSizes":
        """With one more interval in the given rows."""
        share = 1.0 / np.minimum(self.intervals + 1, REMEMBERED)
        off = np.where(self.bytes > 0, _ratio(_ratio(growth, records), self.per_record) - 1.0, 0.0)
        # Compaction only lowers growth: once the mean is known, the values above it show the natural variation.
        square = np.where(self.is_known, 2 * np.maximum(off, 0.0) ** 2, off**2) / _fewer(records, self.records)

        def moved(mean: Floats, value: Floats) -> Floats:
            return np.where(rows, mean + share * (value - mean), mean)

        return TypicalSizes(
            np.where(rows, self.intervals + 1, self.intervals),
            moved(self.bytes, growth),
            moved(self.records, records),
            moved(self.variance, square),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Shortfall:
    """The newest consecutive intervals whose growth was too low by the same amount; 0 where growth was trusted."""

    intervals: Floats
    bytes: Floats
    records: Floats
    raised: Floats
    """Bytes that were added to the growth."""
    seconds: Floats
    """Since growth was last trusted, whether or not it was too low by the same amount."""

    @classmethod
    def none(cls, partitions: int) -> "Shortfall":
        return cls(*np.zeros((5, partitions)))

    def taken(self, positions: Integers) -> "Shortfall":
        return Shortfall(*_taken((self.intervals, self.bytes, self.records, self.raised, self.seconds), positions))


@dataclass(frozen=True, slots=True, eq=False)
class CompactionState:
    """What the next interval of compacted partitions needs from the earlier ones."""

    usual: TypicalSizes
    shortfall: Shortfall

    @classmethod
    def none(cls, partitions: int) -> "CompactionState":
        return cls(TypicalSizes.none(partitions), Shortfall.none(partitions))

    def taken(self, positions: Integers) -> "CompactionState":
        return CompactionState(self.usual.taken(positions), self.shortfall.taken(positions))


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """The correction of an interval's growth; none in rows that were not asked for."""

    estimated: Flags
    raised: Floats
    """Bytes to add to the growth."""
    withdrawn: Floats
    """Bytes that were raised in earlier intervals and turned out not to have been written."""

    @classmethod
    def none(cls, partitions: int) -> "Correction":
        no, nothing = np.zeros(partitions, np.bool_), np.zeros(partitions)
        return cls(no, nothing, nothing)


def corrected(
    asked: Flags, growth: Floats, records: Floats, seconds: Floats, state: CompactionState
) -> tuple[Correction, CompactionState]:
    """Checks the growth in the rows asked for. Returns its correction, and the state for the next interval."""
    usual, shortfall = state.usual, state.shortfall
    expected, known, slack = records * usual.per_record, usual.is_known, _slack(records, usual)
    least = records * _least_per_record(records, usual) * (1.0 - slack)
    written = asked & (records > 0)
    too_low = written & known & (growth < least)
    run = _with_interval(shortfall, growth, records, seconds, too_low, slack)
    relearnt = too_low & (run.intervals >= AGREED)
    forgotten = too_low & (run.seconds > FORGOTTEN_AFTER_S) & ~relearnt

    raised = np.where(too_low & ~relearnt & ~forgotten, expected - growth, 0.0)
    excess = np.where(asked & known & (growth > expected * (1.0 + slack)), growth - expected, 0.0)
    withdrawn = np.where(relearnt, shortfall.raised, np.minimum(excess, shortfall.raised))
    unchecked = written & (~known | (least < (1.0 - MOST_UNCERTAIN) * expected))
    trusted = written & ~too_low
    correction = Correction(unchecked | too_low | (withdrawn > 0), raised, withdrawn)

    run = replace(run, raised=np.where(too_low & (run.intervals <= 1), 0.0, shortfall.raised - withdrawn) + raised)
    usual = _chosen(
        relearnt, _known_from(run, usual.variance), _chosen(forgotten, TypicalSizes.none(len(growth)), usual)
    )
    usual = usual.with_interval(growth, records, trusted | forgotten)
    return correction, CompactionState(
        usual, run.taken(np.where(trusted | relearnt | forgotten, -1, np.arange(len(growth))))
    )


def _slack(records: Floats, usual: TypicalSizes) -> Floats:
    """The share by which an interval's bytes per record may be below the usual ones: few records vary more."""
    return np.clip(DEVIATIONS * np.sqrt(usual.variance * _fewer(records, usual.records)), LEAST_SLACK, 1.0)


def _least_per_record(records: Floats, usual: TypicalSizes) -> Floats:
    """More records than usual may have come in the same number of batches, with less overhead each."""
    return np.maximum(usual.per_record - FRAME_BYTES * (1.0 - 1.0 / _fewer(usual.records, records)), 0.0)


def _fewer(records: Floats, others: Floats) -> Floats:
    """How many times more the others are; 1 where they are fewer."""
    return np.maximum(_ratio(others, records), 1.0)


def _with_interval(
    shortfall: Shortfall, growth: Floats, records: Floats, seconds: Floats, too_low: Flags, slack: Floats
) -> Shortfall:
    """Continues the run with an interval that is too low by the same amount, or starts a new run with another one."""
    so_far, now = _ratio(shortfall.bytes, shortfall.records), _ratio(growth, records)
    continues = (shortfall.intervals > 0) & (np.abs(now - so_far) <= slack * so_far)

    def added(before: Floats, value: Floats) -> Floats:
        # No growth at all starts no run: however small records became, they take some bytes.
        fresh = np.where(growth > 0, value, 0.0)
        return np.where(too_low, np.where(continues, before + value, fresh), before)

    return Shortfall(
        added(shortfall.intervals, np.ones_like(growth)),
        added(shortfall.bytes, growth),
        added(shortfall.records, records),
        shortfall.raised,
        shortfall.seconds + np.where(too_low, seconds, 0.0),
    )


def _known_from(run: Shortfall, variance: Floats) -> TypicalSizes:
    intervals = np.maximum(run.intervals, 1.0)
    return TypicalSizes(np.full_like(variance, LEARNT_FROM), run.bytes / intervals, run.records / intervals, variance)


def _chosen(rows: Flags, one: TypicalSizes, other: TypicalSizes) -> TypicalSizes:
    return TypicalSizes(
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
