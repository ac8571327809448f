"""The demonstration's result: counted from the tables by DuckDB, an engine that wrote none of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from restow.controller.moves import Moves
from restow.demo.group import DemoGroup
from restow.pipeline.audit import absent_from, latencies_s, stored_in


@dataclass(frozen=True, slots=True)
class DemoResult:
    produced: int
    stored: int
    lost: int
    doubled: int
    consumers_min: int
    consumers_max: int
    consumers_mean: float
    moves: int
    pause_p50_s: float
    pause_p99_s: float
    latency_p50_s: float
    latency_p99_s: float
    kills: int

    @property
    def is_well(self) -> bool:
        return self.lost == 0 and self.doubled == 0


def audit(group: DemoGroup, produced: Mapping[str, int], counts: Sequence[int], moves: Moves, kills: int) -> DemoResult:
    """`counts` is the number of consumers, once a second."""
    stored = {topic: stored_in(group.table(topic)) for topic in produced}
    latencies = sorted(each for topic in produced for each in latencies_s(group.table(topic)))
    return DemoResult(
        produced=sum(produced.values()),
        stored=sum(each.rows for each in stored.values()),
        lost=sum(absent_from(group.table(topic), topic, count) for topic, count in produced.items()),
        doubled=sum(each.doubled for each in stored.values()),
        consumers_min=min(counts, default=0),
        consumers_max=max(counts, default=0),
        consumers_mean=round(sum(counts) / max(1, len(counts)), 2),
        moves=moves.count,
        pause_p50_s=quantile(moves.pauses_s, 0.5),
        pause_p99_s=quantile(moves.pauses_s, 0.99),
        latency_p50_s=quantile(latencies, 0.5),
        latency_p99_s=quantile(latencies, 0.99),
        kills=kills,
    )


def quantile(ascending: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed; 0 if there are none."""
    if not ascending:
        return 0.0
    return round(ascending[min(len(ascending) - 1, math.ceil(share * len(ascending)) - 1)], 3)
