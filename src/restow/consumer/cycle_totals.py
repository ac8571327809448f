"""Sums over a consumer's cycles, for its report (report_window.py) and its log line (progress.py)."""

from dataclasses import dataclass

from restow.consumer.events import CycleEnded


@dataclass(frozen=True, slots=True)
class CycleTotals:
    records: int = 0
    bytes: int = 0
    cycles: int = 0
    cycles_s: float = 0.0
    longest_s: float = 0.0

    def with_cycle(self, cycle: CycleEnded) -> "CycleTotals":
        return CycleTotals(
            records=self.records + cycle.records,
            bytes=self.bytes + cycle.bytes,
            cycles=self.cycles + 1,
            cycles_s=self.cycles_s + cycle.took_s,
            longest_s=max(self.longest_s, cycle.took_s),
        )

    @property
    def mean_s(self) -> float:
        """0 without a cycle."""
        return self.cycles_s / self.cycles if self.cycles else 0.0
