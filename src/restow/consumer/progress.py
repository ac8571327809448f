"""The consumer's log lines on its work: what was stored and its lag in one line, all refused partitions in another.

`roles/consumer.py` logs the first once a minute and after every change of the assignment, so that the log alone answers
whether a consumer works and keeps up; the second after every attempt to start partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from restow.consumer.cycle_totals import CycleTotals
from restow.consumer.events import CycleEnded
from restow.consumer.state import State
from restow.protocol.messages.consumer_events import ConsumingRefused
from restow.protocol.topic_service import TopicService
from restow.text import counted, listed, sized

EVERY_S: Final = 60.0
UNSTORED: Final = "no table"
"""Topics without a table are only counted."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Since the last line. Cycles that found no records don't count: their length is that of a wait."""

    since_s: float
    totals: CycleTotals = field(default_factory=CycleTotals)

    def with_cycle(self, cycle: CycleEnded) -> "Progress":
        return replace(self, totals=self.totals.with_cycle(cycle)) if cycle.records else self

    def is_due(self, now_s: float) -> bool:
        return now_s >= self.since_s + EVERY_S

    def line(self, state: State, now_s: float) -> str:
        return f"{self._stored(now_s)}; {_holds(state)}"

    def _stored(self, now_s: float) -> str:
        within = f"in the last {max(0.0, now_s - self.since_s):.0f} s"
        totals = self.totals
        if not totals.cycles:
            return f"stored nothing {within}"
        length = f"{totals.mean_s:.1f} s each, the longest {totals.longest_s:.1f} s"
        what = f"{counted(totals.records, 'record')} ({sized(totals.bytes)})"
        return f"stored {what} {within}, in {counted(totals.cycles, 'cycle')} of {length}"


def _holds(state: State) -> str:
    if not state.positions:
        return "holds no partitions"
    # A partition that no cycle has read yet has no known lag.
    lag = sum(lag for partition, lag in state.lag_records.items() if partition in state.positions)
    tables = sorted({service.table or _unnamed(service) for service in state.topics.values()})
    held = counted(len(state.positions), "partition")
    return f"lag {counted(lag, 'record')}; holds {held}, stored in {listed(tables, 'table')}"


def _unnamed(service: TopicService) -> str:
    return UNSTORED if service.transform is None else f"tables that {service.transform} returns, if any"


def refusals_line(refused: Sequence[ConsumingRefused]) -> str:
    """Names few partitions and counts many; of several reasons it has the first."""
    partitions = sorted({partition for message in refused for partition in message.partitions})
    reasons = list(dict.fromkeys(message.reason for message in refused))
    others = len(reasons) - 1
    more = f" (and {counted(others, 'other reason')})" if others else ""
    return f"not reading {listed(partitions)}: {reasons[0]}{more}"
