"""Runs a contender on a case until its figures are known.

Its commits are seen in its tables. Whenever there is a new one, its CPU time is looked up; its memory every few
seconds.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from restow.errors import RestowError
from restow.study.throughput import Case, Commit, Load, Row, Speed, cpu_shares, gaps_s, row_of, speed
from restow.throughput.contender import Contender
from restow.throughput.usage import busy_s, tree_cpu_s, tree_memory_bytes, tree_threads_cpu_s

LOOK_EVERY_S: Final = 0.1
MEMORY_EVERY_S: Final = 3.0
TELL_EVERY_S: Final = 5.0
FIRST_WITHIN_S: Final = 240.0
"""Structured Streaming needs up to a minute until its first commit."""
LEAST_COMMITS: Final = 4
"""To each table, while the speed is taken. Slow contenders get more time for it."""
MOST_MORE_S: Final = 120.0
"""That time is at most so much longer than asked for."""


@dataclass(frozen=True, slots=True)
class Timing:
    warm_up_s: float
    """From the start of the contender. What it does then doesn't count."""
    for_s: float
    """How long its speed is taken afterwards."""


@dataclass(frozen=True, slots=True)
class Measured:
    row: Row
    speed: Speed
    first_commit_s: float
    """After its start."""
    cycle_s: float
    """The median time between two commits to a table."""
    steps: Mapping[str, float] = field(default_factory=dict)
    """Shares of the time of its cycles."""
    threads: Mapping[str, float] = field(default_factory=dict)
    """Shares of its CPU time."""
    ran_dry: bool = False
    """It read all there was before the time was over."""
    others_share: float = 0.0
    """Of its cores, taken by other processes."""
    stop_s: float | None = None
    """From a Stop during a cycle to its answer."""


class Observation:
    """What is seen of a contender while it runs."""

    def __init__(
        self,
        case: Case,
        cores: Sequence[int],
        timing: Timing,
        backlog: float,
        begun_s: float,
        tell: Callable[[str], None],
    ) -> None:
        self._case, self._cores, self._timing, self._backlog, self._tell = case, cores, timing, backlog, tell
        self._begun_s = begun_s
        self.commits: list[Commit] = []
        self.loads: list[Load] = []
        self.memory_bytes = 0
        self._memory_s = self._told_s = 0.0

    @property
    def from_s(self) -> float:
        return self._begun_s + self._timing.warm_up_s

    @property
    def first_commit_s(self) -> float:
        return self.commits[0].time_s - self._begun_s

    @property
    def ran_dry(self) -> bool:
        return sum(commit.records for commit in self.commits) >= 0.99 * self._backlog

    def look(self, contender: Contender) -> None:
        new, now_s = contender.new_commits(), time.time()
        self.commits += new
        if new:
            self.loads.append(Load(now_s, tree_cpu_s(contender.process), busy_s(self._cores)))
        if now_s >= self._memory_s + MEMORY_EVERY_S:
            self.memory_bytes = max(self.memory_bytes, tree_memory_bytes(contender.process))
            self._memory_s = now_s
        if now_s >= self._told_s + TELL_EVERY_S:
            self._tell(self._progress(now_s))
            self._told_s = now_s

    def is_over(self) -> bool:
        now_s = time.time()
        if not self.commits:
            if now_s > self._begun_s + FIRST_WITHIN_S:
                raise RestowError(f"it stored nothing within {FIRST_WITHIN_S:g} s")
            return False
        taken_s = now_s - max(self.from_s, self.commits[0].time_s)
        is_time = taken_s >= self._timing.for_s
        return self.ran_dry or (is_time and self._is_enough()) or taken_s >= self._timing.for_s + MOST_MORE_S

    def _is_enough(self) -> bool:
        counted = [commit.table for commit in self.commits if commit.time_s >= self.from_s]
        return all(counted.count(table) >= LEAST_COMMITS for table in {commit.table for commit in self.commits})

    def _progress(self, now_s: float) -> str:
        if not self.commits:
            return f"starting, {now_s - self._begun_s:.0f} s"
        if now_s < self.from_s:
            return f"warming up, {now_s - self._begun_s:.0f} of {self._timing.warm_up_s:.0f} s"
        taken_s = now_s - max(self.from_s, self.commits[0].time_s)
        counted = [commit for commit in self.commits if commit.time_s >= self.from_s]
        records = sum(commit.records for commit in counted[1:])
        lasted_s = counted[-1].time_s - counted[0].time_s if counted else 0.0
        rate = f", {records * self._case.record_bytes / lasted_s / 1e6:.1f} MB/s" if lasted_s else ""
        return f"{taken_s:.0f} of {self._timing.for_s:.0f} s{rate}"


def measure(
    name: str,
    case: Case,
    cores: Sequence[int],
    running: AbstractContextManager[Contender],
    timing: Timing,
    backlog: float,
    tell: Callable[[str], None],
) -> Measured:
    """Starts the contender, and ends it when its figures are known. `backlog` is the number of records that there are
    to store; infinite for a contender that reads them again. Raises RestowError."""
    before: tuple[Mapping[str, float], Mapping[str, float]] | None = None
    with running as contender:
        seen = Observation(case, cores, timing, backlog, contender.begun_s, tell)
        while not seen.is_over():
            time.sleep(LOOK_EVERY_S)
            seen.look(contender)
            if before is None and seen.commits and time.time() >= seen.from_s:
                before = contender.steps_s(), tree_threads_cpu_s(contender.process)
        after = contender.steps_s(), tree_threads_cpu_s(contender.process)
        stop_s = contender.stop()
    found = speed(seen.commits, seen.from_s)
    steps, threads = (_shares(*pair) for pair in zip(before or ({}, {}), after, strict=True))
    own_share, others_share = cpu_shares(seen.loads, seen.from_s)
    return Measured(
        row_of(name, case, found, own_share, seen.memory_bytes),
        found,
        seen.first_commit_s,
        statistics.median(gaps_s(seen.commits, seen.from_s)),
        steps,
        threads,
        seen.ran_dry,
        others_share / len(cores),
        stop_s,
    )


def _shares(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Of what was added between two looks, the largest first."""
    added = {name: total - before.get(name, 0.0) for name, total in after.items()}
    whole = sum(added.values())
    ordered: Sequence[tuple[str, float]] = sorted(added.items(), key=lambda item: -item[1])
    return {name: seconds / whole for name, seconds in ordered} if whole > 0 else {}
