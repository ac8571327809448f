"""What was written between two samples, partition by partition: never negative, never more than was written.

The growth of the leader's log is what was written, to the byte, unless something else changed the log meanwhile:

    retention deleted segments     the start offset moved
    compaction rewrote segments    the log shrank, or it grew by too little: `compaction.py`
    another broker leads now       its log is another file, with segments of its own
    a size can't be read           there is nothing to compare

There the bytes are estimated: the records written (offsets tell them in every case) times the bytes of a record, as
known from this partition, else from its topic, else from the log as a whole, else from records that were read for it,
else from all topics. A partition whose topic was recreated, or whose offsets fell, has no past; nothing is said about
it until the next sample.

A sample's sizes are read before its offsets. So a deletion shows in the start offset no later than in the size, and at
most one sample earlier: growth is believed only if the start offset stood still in this interval and the one before.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from restow.monitor.compaction import Judgement, Sense, judged
from restow.monitor.sample import UNREADABLE, Flags, Floats, Integers, Sample


@dataclass(frozen=True, slots=True, eq=False)
class Increment:
    """Columns over the partitions of the later sample."""

    seconds: Floats
    """How long the interval was; 0 where there is nothing to compare."""
    bytes: Floats
    records: Floats
    estimated: Flags
    raised: Floats
    """Of the bytes, what is above the log's growth because compaction must have hidden it."""

    def joined_to(self, earlier: "Increment") -> "Increment":
        """Two intervals in a row as one."""
        return Increment(
            self.seconds + earlier.seconds,
            self.bytes + earlier.bytes,
            self.records + earlier.records,
            self.estimated | earlier.estimated,
            self.raised + earlier.raised,
        )

    def taken(self, positions: Integers) -> "Increment":
        """The same over other partitions: those at `positions`, and nothing where a position is -1."""
        known = positions >= 0
        return Increment(
            np.where(known, self.seconds[positions], 0.0),
            np.where(known, self.bytes[positions], 0.0),
            np.where(known, self.records[positions], 0.0),
            known & self.estimated[positions],
            np.where(known, self.raised[positions], 0.0),
        )

    def lowered(self, by: Floats) -> "Increment":
        """Without some of what was raised."""
        return replace(self, bytes=self.bytes - by, raised=self.raised - by)


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """What the next interval needs from those before it: columns over the same partitions."""

    start_moved: Flags
    """In the interval before."""
    exact_bytes: Floats
    exact_records: Floats
    """Of the intervals that were no estimate; they fade with time, so that their ratio follows the records' size."""
    sense: Sense
    """Of compaction."""

    @classmethod
    def none(cls, partitions: int) -> "Knowledge":
        return cls(np.zeros(partitions, np.bool_), np.zeros(partitions), np.zeros(partitions), Sense.none(partitions))

    def taken(self, positions: Integers) -> "Knowledge":
        known = positions >= 0
        return Knowledge(
            known & self.start_moved[positions],
            np.where(known, self.exact_bytes[positions], 0.0),
            np.where(known, self.exact_records[positions], 0.0),
            self.sense.taken(positions),
        )

    def faded(self, share: float) -> "Knowledge":
        return replace(self, exact_bytes=self.exact_bytes * share, exact_records=self.exact_records * share)


def continued(before: Sample, after: Sample) -> Flags:
    """Which partitions are the ones they were: same topic, and offsets that did not fall. Both have the same rows."""
    same = after.end_offset >= before.end_offset
    recreated = {
        topic
        for topic, its_id in after.topic_ids.items()
        if before.topic_ids.get(topic, its_id) != its_id  # an id that was not known says nothing
    }
    if recreated:
        same &= np.fromiter((partition.topic not in recreated for partition in after.partitions), dtype=np.bool_)
    return same


class Between(NamedTuple):
    written: Increment
    knowledge: Knowledge
    """For the next interval."""
    withdrawn: Floats
    """Of the bytes that were raised in the intervals before, those that were never written."""


def between(before: Sample, after: Sample, seconds: Floats, knowledge: Knowledge, topic_of: Integers) -> Between:
    """What was written in so many seconds, and what is known afterwards. All have the rows of `after`."""
    records = (after.end_offset - before.end_offset).astype(np.float64)
    start_moved = after.start_offset != before.start_offset
    same_log = (before.size_bytes != UNREADABLE) & (before.leader == after.leader)
    was_empty = before.end_offset == 0  # on every broker, even on one that has not made the log's file yet
    size_before = np.where(same_log, before.size_bytes, 0)
    comparable = (same_log | was_empty) & (after.size_bytes != UNREADABLE)
    growth = np.where(comparable, after.size_bytes - size_before, -1).astype(np.float64)
    credible = (growth >= 0) & ~start_moved & ~knowledge.start_moved
    judgement, sense = _judged(credible & after.compacted, growth, records, seconds, knowledge.sense)
    exact = credible & (judgement.raised == 0)
    per_record = _bytes_per_record(before, after, knowledge, topic_of)
    estimate = np.maximum(records * per_record, np.maximum(growth, 0.0))
    increment = Increment(
        seconds=seconds,
        bytes=np.where(credible, growth + judgement.raised, np.where(records > 0, estimate, 0.0)),
        records=records,
        # Where nothing was written, that is no estimate.
        estimated=np.where(credible, judgement.estimated, records > 0),
        raised=judgement.raised,
    )
    learnt = Knowledge(
        start_moved,
        knowledge.exact_bytes + np.where(exact, growth, 0.0),
        knowledge.exact_records + np.where(exact, records, 0.0),
        sense,
    )
    return Between(increment, learnt, judgement.withdrawn)


def _judged(asked: Flags, growth: Floats, records: Floats, seconds: Floats, sense: Sense) -> tuple[Judgement, Sense]:
    """Few topics are compacted: without one, nothing is to be weighed."""
    return judged(asked, growth, records, seconds, sense) if asked.any() else (Judgement.none(len(growth)), sense)


def _bytes_per_record(before: Sample, after: Sample, knowledge: Knowledge, topic_of: Integers) -> Floats:
    """Of the partition, else of its topic, else the mean of the log as it lies on disk, else of records that were read,
    else of all topics, else 0."""
    of_topic = _ratio(_per_topic(knowledge.exact_bytes, topic_of), _per_topic(knowledge.exact_records, topic_of))
    known = _ratio(knowledge.exact_bytes, knowledge.exact_records)
    known = np.where(knowledge.sense.usual.is_known, knowledge.sense.usual.per_record, known)
    known = np.where(known > 0, known, of_topic[topic_of])
    # Where records were deleted, a log may hold more than its offsets say: a segment is kept until all of it may go.
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
