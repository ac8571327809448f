"""Counts a consumer's cycles. Pure: the process of the consumer gives it each CycleEnded."""

from collections.abc import Iterator
from dataclasses import dataclass

from restow.consumer.events import CycleEnded
from restow.metrics.families import (
    BYTES,
    COMMIT,
    CYCLE,
    FAILING,
    GAP_RECORDS,
    GAPS,
    IDLE_CYCLES,
    OWN_PARTITIONS,
    RECORDS,
    REFUSED_COMMITS,
    REJECTED,
    ROWS,
)
from restow.metrics.values import Sample, Tallies


class CycleCounts:
    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        for family in (IDLE_CYCLES, RECORDS, ROWS, BYTES, COMMIT, REFUSED_COMMITS, GAPS, GAP_RECORDS):
            tallies.begin(family)
        for outcome in ("rejected", "skipped"):
            tallies.begin(REJECTED, outcome)

    def ended(self, cycle: CycleEnded) -> None:
        count, observe = self._tallies.count, self._tallies.observe
        count(RECORDS, cycle.records)
        count(ROWS, cycle.rows)
        count(BYTES, cycle.bytes)
        if not cycle.steps_s:
            count(IDLE_CYCLES)
        for step, seconds in cycle.steps_s.items():
            observe(CYCLE, seconds, step)
        for seconds in cycle.commits_s:
            observe(COMMIT, seconds)
        refused = (len(each.partitions) for each in cycle.dropped if each.kind == "replaced")
        count(REFUSED_COMMITS, sum(refused))
        for bad in cycle.rejected:
            count(REJECTED, bad.rejected, "rejected")
            count(REJECTED, bad.skipped, "skipped")
        count(GAPS, len(cycle.gaps))
        count(GAP_RECORDS, sum(gap.records for gap in cycle.gaps))


@dataclass(frozen=True, slots=True)
class ConsumerNow:
    """What a consumer holds. Frozen."""

    partitions: int
    failing: int

    def samples(self) -> Iterator[Sample]:
        yield Sample(OWN_PARTITIONS, (), float(self.partitions))
        yield Sample(FAILING, (), float(self.failing))
