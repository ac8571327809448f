"""Times packing decisions, and how that time grows with the group, for `restow bench packing`.

A decision goes from a problem to a plan. Decisions follow the published walk (d = 5), each starting from the previous
assignment. The first of a run, which places everything, is not timed. All packers run in one process, one after the
other, on the same speeds.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from restow.model import Assignment, Capacities, Speeds
from restow.packing import PACKERS, Problem, warm_up
from restow.study.workload import TOP_SPEED, Walk

SIZES: Final = (200, 2_000, 20_000, 100_000)
D: Final = 5
SEED: Final = 1
MOST_DECISIONS: Final = 21
LEAST_DECISIONS: Final = 3
PARTITIONS_TO_PLACE: Final = 200_000
"""A run places about this many partitions in total, within the two bounds above."""
LARGE: Final = 1_000
"""Growth counts from here on: restow searches smaller groups harder, because that is cheap."""


@dataclass(frozen=True, slots=True)
class Row:
    packer: str
    partitions: int
    median_ms: float


def decisions(partitions: int) -> int:
    """Number of timed decisions."""
    return max(LEAST_DECISIONS, min(MOST_DECISIONS, PARTITIONS_TO_PLACE // partitions))


def measure(packers: Sequence[str], sizes: Sequence[int], advance: Callable[[], None] = lambda: None) -> list[Row]:
    """One row per packer and size. Calls `advance` after each of the `len(packers) * len(sizes)` runs."""
    found: dict[tuple[str, int], Row] = {}
    for partitions in sizes:
        trace = Walk(D, SEED, decisions(partitions), partitions=partitions).speeds()
        for packer in packers:
            found[packer, partitions] = Row(packer, partitions, 1000 * median(decision_times_s(packer, trace)))
            advance()
    return [found[packer, partitions] for packer in packers for partitions in sizes]


def decision_times_s(packer: str, trace: Sequence[Speeds]) -> Iterator[float]:
    pack, capacities = PACKERS[packer], Capacities(float(TOP_SPEED))
    assignment, previous = Assignment(), None
    for speeds in trace:
        problem = Problem(speeds, assignment, capacities, previous=previous)
        began = time.perf_counter()
        plan = pack(problem)
        took = time.perf_counter() - began
        if previous is not None:
            yield took
        assignment, previous = plan.assignment, speeds


def growth_exponent(rows: Sequence[Row]) -> float | None:
    """The power of size with which time grows: the slope of log time against log size, for large groups.

    Returns None for fewer than two sizes.
    """
    large = [row for row in rows if row.partitions >= LARGE]
    if len(large) < 2:
        return None
    sizes, times = np.log([row.partitions for row in large]), np.log([row.median_ms for row in large])
    return float(np.polyfit(sizes, times, 1)[0])


def warm_up_time_s() -> float:
    """Time to load restow's compiled code, or to compile it."""
    began = time.perf_counter()
    warm_up()
    return time.perf_counter() - began
