"""What restow must reach in a comparison, for each workload and over all of them. A miss is said, not hidden."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from restow.study.comparison.comparing import Row
from restow.study.comparison.policies import LATENCY_S, MWF, OURS

HOURS_WITHIN: Final = 1.05
"""Of the cheapest policy whose latency is low enough."""
FEWER_MOVES: Final = 10
NEAR_HOURS: Final = 1.10
"""No policy within this factor of our consumer-hours may be overloaded for less time."""


@dataclass(frozen=True, slots=True)
class Verdict:
    is_met: bool
    words: str


def verdicts(rows: Sequence[Row]) -> Iterator[Verdict]:
    workloads = list(dict.fromkeys(row.workload for row in rows))
    for workload in workloads:
        yield from _of(workload, {row.policy: row for row in rows if row.workload == workload})
    if len(workloads) > 1:
        yield from _of("all workloads", totals(rows))


def totals(rows: Sequence[Row]) -> dict[str, Row]:
    """Sums over all workloads; of the latencies the worst."""
    found: dict[str, Row] = {}
    for policy in dict.fromkeys(row.policy for row in rows):
        own = [row for row in rows if row.policy == policy]
        found[policy] = Row(
            policy,
            "all",
            round(sum(row.consumer_hours for row in own), 2),
            sum(row.moves for row in own),
            max(row.latency_p99_s for row in own),
            round(sum(row.overloaded_consumer_s for row in own), 1),
            "",
        )
    return found


def _of(where: str, rows: Mapping[str, Row]) -> Iterator[Verdict]:
    if OURS not in rows:
        return
    ours, others = rows[OURS], [row for name, row in rows.items() if name != OURS]
    good = [row for row in others if row.latency_p99_s < LATENCY_S]
    if good:
        best = min(good, key=lambda row: row.consumer_hours)
        bound = HOURS_WITHIN * best.consumer_hours
        yield _verdict(
            where,
            ours.consumer_hours <= bound,
            f"{ours.consumer_hours:g} consumer-hours, and 5 % above the best, {best.policy}, are {bound:.2f}",
        )
    if MWF in rows:
        bound = rows[MWF].moves / FEWER_MOVES
        yield _verdict(where, ours.moves <= bound, f"{ours.moves} moves, and a tenth of MWF's are {bound:g}")
    near = [row for row in others if row.consumer_hours <= NEAR_HOURS * ours.consumer_hours]
    if near:
        calmest = min(near, key=lambda row: row.overloaded_consumer_s)
        yield _verdict(
            where,
            ours.overloaded_consumer_s <= calmest.overloaded_consumer_s,
            f"{ours.overloaded_consumer_s:g} overloaded consumer-seconds, and the least within 10 % of the hours, "
            f"{calmest.policy}, has {calmest.overloaded_consumer_s:g}",
        )


def _verdict(where: str, is_met: bool, words: str) -> Verdict:
    return Verdict(is_met, f"{'met   ' if is_met else 'MISSED'}  {where}: {words}")
