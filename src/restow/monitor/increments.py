"""The bytes and records written to each partition between two samples: never negative, never more than was written.

The growth of the leader's log is what was written, to the byte, unless something else changed the log in between:

    retention deleted segments     the start offset moved
    compaction rewrote segments    the log shrank, or it grew by too little: `compaction.py`
    another broker leads           its log is another file, with segments of its own
    a size can't be read           there is nothing to compare

Then the bytes are estimated: the number of records (always known from the offsets) times the bytes per record, from
the first of these that is known: this partition, its topic, the whole log, records that were read for it, all topics. A
partition whose topic was recreated, or whose offsets fell, starts over: it has no speed until the next sample.

A sample reads sizes before offsets. So a deletion shows in the start offset no later than in the size, and at most one
sample earlier: growth is trusted only if the start offset did not move in this interval and the one before.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from restow.monitor.compaction import CompactionState, Correction, corrected
from restow.monitor.sample import UNREADABLE, Flags, Floats, Integers, Sample


@dataclass(frozen=True, slots=True, eq=False)
class Increment:
    """What was written in one interval, in columns over the partitions of the later sample."""

    seconds: Floats
    """The length of the interval; 0 where there is nothing to compare."""
    bytes: Floats
    records: Floats
    estimated: Flags
    raised: Floats
    """The part of the bytes that was added to the log's growth because compaction must have hidden it."""

    def joined_to(self, earlier: "Increment") -> "Increment":
        """Two consecutive intervals as one."""
        return Increment(
            self.seconds + earlier.seconds,
            self.bytes + earlier.bytes,
            self.records + earlier.records,
            self.estimated | earlier.estimated,
            self.raised + earlier.raised,
        )

    def taken(self, positions: Integers) -> "Increment":
        """The rows at `positions`; a position of -1 gives an empty row."""
        known = positions >= 0
        return Increment(
            np.where(known, self.seconds[positions], 0.0),
            np.where(known, self.bytes[positions], 0.0),
            np.where(known, self.records[positions], 0.0),
            known & self.estimated[positions],
            np.where(known, self.raised[positions], 0.0),
        )

    def lowered(self, by: Floats) -> "Increment":
        """With part of the raised bytes withdrawn."""
        return replace(self, bytes=self.bytes - by, raised=self.raised - by)


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """What the next interval needs from the earlier ones, in columns over the same partitions."""

    start_moved: Flags
    """Whether the start offset moved in the interval before."""
    exact_bytes: Floats
    exact_records: Floats
    """Totals of the intervals that were not estimated. They decay, so that their ratio follows the size of records."""
    compaction: CompactionState

    @classmethod
    def none(cls, partitions: int) -> "Knowledge":
        return cls(
            np.zeros(partitions, np.bool_), np.zeros(partitions), np.zeros(partitions), CompactionState.none(partitions)
        )

    def taken(self, positions: Integers) -> "Knowledge":
        known = positions >= 0
        return Knowledge(
            known & self.start_moved[positions],
            np.where(known, self.exact_bytes[positions], 0.0),
            np.where(known, self.exact_records[positions], 0.0),
            self.compaction.taken(positions),
        )

    def faded(self, share: float) -> "Knowledge":
        return replace(self, exact_bytes=self.exact_bytes * share, exact_records=self.exact_records * share)


def continued(before: Sample, after: Sample) -> Flags:
    """Whether each partition is still the same: its topic was not recreated and its offsets did not fall. Both samples
    have the same rows."""
    same = after.end_offset >= before.end_offset
    recreated = {
        topic
        for topic, its_id in after.topic_ids.items()
        if before.topic_ids.get(topic, its_id) != its_id  # an unknown id proves nothing
    }
    if recreated:
        same &= np.fromiter((partition.topic not in recreated for partition in after.partitions), dtype=np.bool_)
    return same


class Between(NamedTuple):
    written: Increment
    knowledge: Knowledge
    """For the next interval."""
    withdrawn: Floats
    """Bytes that were raised in earlier intervals and turned out not to have been written."""


def between(before: Sample, after: Sample, seconds: Floats, knowledge: Knowledge, topic_of: Integers) -> Between:
    """The increment of an interval of `seconds`, and the knowledge for the next. All arguments have the rows of
    `after`."""
    records = (after.end_offset - before.end_offset).astype(np.float64)
    start_moved = after.start_offset != before.start_offset
    same_log = (before.size_bytes != UNREADABLE) & (before.leader == after.leader)
    was_empty = before.end_offset == 0  # on every broker, even if it has not created the log yet
    size_before = np.where(same_log, before.size_bytes, 0)
    comparable = (same_log | was_empty) & (after.size_bytes != UNREADABLE)
    growth = np.where(comparable, after.size_bytes - size_before, -1).astype(np.float64)
    credible = (growth >= 0) & ~start_moved & ~knowledge.start_moved
    correction, compaction = _corrected(credible & after.compacted, growth, records, seconds, knowledge.compaction)
    exact = credible & (correction.raised == 0)
    per_record = _bytes_per_record(before, after, knowledge, topic_of)
    estimate = np.maximum(records * per_record, np.maximum(growth, 0.0))
    increment = Increment(
        seconds=seconds,
        bytes=np.where(credible, growth + correction.raised, np.where(records > 0, estimate, 0.0)),
        records=records,
        # That nothing was written is known, not estimated.
        estimated=np.where(credible, correction.estimated, records > 0),
        raised=correction.raised,
    )
    learnt = Knowledge(
        start_moved,
        knowledge.exact_bytes + np.where(exact, growth, 0.0),
        knowledge.exact_records + np.where(exact, records, 0.0),
        compaction,
    )
    return Between(increment, learnt, correction.withdrawn)


def _corrected(
    asked: Flags, growth: Floats, records: Floats, seconds: Floats, compaction: CompactionState
) -> tuple[Correction, CompactionState]:
    """Skips the work if no topic is compacted, which is the usual case."""
    if not asked.any():
        return Correction.none(len(growth)), compaction
    return corrected(asked, growth, records, seconds, compaction)


def _bytes_per_record(before: Sample, after: Sample, knowledge: Knowledge, topic_of: Integers) -> Floats:
    """From the first source that has one: the partition, its topic, the log on disk, records that were read, all
    topics; else 0."""
    of_topic = _ratio(_per_topic(knowledge.exact_bytes, topic_of), _per_topic(knowledge.exact_records, topic_of))
    known = _ratio(knowledge.exact_bytes, knowledge.exact_records)
    known = np.where(knowledge.compaction.usual.is_known, knowledge.compaction.usual.per_record, known)
    known = np.where(known > 0, known, of_topic[topic_of])
    # After deletions a log may hold more than its offsets say: a segment is kept until all of it may be deleted.
    whole = np.where(before.start_offset == 0, np.maximum(before.size_bytes, 0), 0).astype(np.float64)
    on_disk = _ratio(whole, before.end_offset.astype(np.float64))
    known = np.where(known > 0, known, on_disk)
    if after.record_bytes:
        read = np.fromiter((after.record_bytes.get(partition, 0.0) for partition in after.partitions), np.float64)
        known = np.where(known > 0, known, read)
    everywhere = _ratio(knowledge.exact_bytes.sum(keepdims=True), knowledge.exact_records.sum(keepdims=True))
    return np.where(known > 0, known, everywhere)


def _per_topic(column: Floats, topic_of: Integers) -> Floats:
    return np.bincount(topic_of, column, minlength=1).astype(np.float64)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
