"""Throughput and cycle times since the last report. `machine.py` adds every cycle and checks on every tick whether a
report is due.
"""

from dataclasses import dataclass, field

from restow.consumer.cycle_totals import CycleTotals
from restow.consumer.events import CycleEnded
from restow.consumer.work import WorkWindow
from restow.frozen import changed
from restow.model import SortedMapping
from restow.protocol.messages.reports import Gap, Rejected


@dataclass(frozen=True)
class ReportWindow:
    since_s: float | None = None
    """The start of the window; None before the first tick."""
    due_s: float = 0.0
    totals: CycleTotals = field(default_factory=CycleTotals)
    paused: bool = False
    """Whether a cycle could have taken more records than there were."""
    gaps: tuple[Gap, ...] = ()
    rejected: SortedMapping[str, Rejected] = field(default_factory=SortedMapping)
    """By topic."""
    work: WorkWindow = field(default_factory=WorkWindow)

    def with_cycle(self, cycle: CycleEnded) -> "ReportWindow":
        return changed(
            self,
            totals=self.totals.with_cycle(cycle),
            paused=self.paused or not cycle.saturated,
            gaps=(*self.gaps, *cycle.gaps),
            rejected=_added(self.rejected, cycle.rejected),
            work=self.work.with_cycle(cycle),
        )

    def is_due(self, now_s: float) -> bool:
        return self.since_s is not None and now_s >= self.due_s

    def restarted(self, now_s: float, report_every_s: float) -> "ReportWindow":
        """The window after a report, or at the first tick. It stays open if no cycle has ended in it: a cycle that is
        longer than the time between two reports counts over all the time it took, else its throughput would look too
        high."""
        due_s = now_s + report_every_s
        if self.since_s is not None and not self.totals.cycles:
            return changed(self, due_s=due_s)
        return ReportWindow(since_s=now_s, due_s=due_s)

    def per_s(self, amount: int, now_s: float) -> float:
        elapsed_s = now_s - (now_s if self.since_s is None else self.since_s)
        return amount / elapsed_s if elapsed_s > 0 else 0.0

    @property
    def saturated(self) -> bool:
        return self.totals.cycles > 0 and not self.paused


def _added(known: SortedMapping[str, Rejected], more: tuple[Rejected, ...]) -> SortedMapping[str, Rejected]:
    if not more:
        return known
    found = dict(known)
    for each in more:
        before = found.get(each.topic, Rejected(each.topic))
        found[each.topic] = Rejected(each.topic, before.rejected + each.rejected, before.skipped + each.skipped)
    return SortedMapping(found)
