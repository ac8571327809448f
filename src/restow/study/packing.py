"""The packing study: how many consumers a packer needs and how much it moves, over a workload.

Packers run side by side, each from its own previous assignment. A row has the figures of one contender (a packer, with
a worth if it has one), as means over the steps of all workloads with the same d:

    cbs          consumers above zmin, in per cent of zmin, the least that any of the twelve published packers needs in
                 that step; below 0 if a packer beats all twelve
    r            speed of the partitions that change consumer in a step, in capacities of one consumer
    consumers    number of consumers
    moves        number of partitions that change consumer in a step

In the first step everything is placed and nothing moves: cbs and consumers are means over all steps, r and moves over
all but the first. `restow study packing` calls `study`.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import fmean
from typing import Final

from restow.model import Assignment, Capacities, Speeds
from restow.packing import PACKERS, PUBLISHED, Problem
from restow.study.workload import Workload

DECISIONS_FOR_A_POOL: Final = 5000
"""Fewer decisions (about 2 s) take less time than starting further processes."""


@dataclass(frozen=True, slots=True)
class Contender:
    packer: str
    worth: float | None = None
    """None for the published packers, which ignore it."""


THE_TWELVE: Final = tuple(Contender(packer) for packer in PUBLISHED)


@dataclass(frozen=True, slots=True)
class Step:
    """The figures of one decision."""

    consumers: int
    moves: int
    r: float


@dataclass(frozen=True, slots=True)
class Row:
    d: int | None
    packer: str
    worth: float | None
    cbs: float
    r: float
    consumers: float
    moves: float


@dataclass(frozen=True, slots=True)
class Job:
    """A unit of work for one process."""

    workload: Workload
    contenders: tuple[Contender, ...]
    capacity: float


Course = list[Step]
Courses = dict[Contender, Course]


def contenders(packers: Iterable[str], worths: Sequence[float]) -> tuple[Contender, ...]:
    """A published packer runs once, restow's once for each worth."""
    return tuple(
        Contender(packer, worth) for packer in packers for worth in ((None,) if packer in PUBLISHED else worths)
    )


def study(
    workloads: Sequence[Workload],
    contenders: Sequence[Contender],
    capacity: float,
    *,
    processes: int | None = None,
    advance: Callable[[], None] = lambda: None,
) -> list[Row]:
    """One row per d and contender, in the order given. Calls `advance` after each of the `len(jobs(…))` jobs."""
    courses: dict[Workload, Courses] = {workload: {} for workload in workloads}
    todo = jobs(workloads, contenders, capacity)
    for job, done in zip(todo, _run_all(todo, processes), strict=True):
        courses[job.workload] |= done
        advance()
    return [
        _row(d, contender, [courses[workload] for workload in workloads if workload.d == d])
        for d in dict.fromkeys(workload.d for workload in workloads)
        for contender in contenders
    ]


def jobs(workloads: Sequence[Workload], contenders: Sequence[Contender], capacity: float) -> list[Job]:
    """The twelve always run, shown or not: zmin is theirs."""
    ours = [contender for contender in contenders if contender not in THE_TWELVE]
    parts = [THE_TWELVE, *((contender,) for contender in ours)]
    return [Job(workload, part, capacity) for workload in workloads for part in parts]


def run(job: Job) -> Courses:
    trace = job.workload.speeds()
    return {contender: list(_steps(contender, trace, Capacities(job.capacity))) for contender in job.contenders}


def _steps(contender: Contender, trace: Sequence[Speeds], capacities: Capacities) -> Iterator[Step]:
    packer = PACKERS[contender.packer]
    worth = 1.0 if contender.worth is None else contender.worth
    assignment, previous = Assignment(), None
    for speeds in trace:
        plan = packer(Problem(speeds, assignment, capacities, worth=worth, previous=previous))
        yield Step(len(plan.assignment.consumers), len(plan.moves), plan.r_score)
        assignment, previous = plan.assignment, speeds


def _run_all(todo: Sequence[Job], processes: int | None) -> Iterator[Courses]:
    """In the order of the jobs."""
    decisions = sum(len(job.contenders) * len(job.workload) for job in todo)
    if processes is None:
        processes = (os.cpu_count() or 1) if decisions >= DECISIONS_FOR_A_POOL else 1
    if min(processes, len(todo)) == 1:
        yield from map(run, todo)
        return
    # Spawned, not forked: the parent draws its progress bar in a thread.
    with ProcessPoolExecutor(processes, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            yield from pool.map(run, todo)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _row(d: int | None, contender: Contender, runs: Sequence[Courses]) -> Row:
    courses = [run[contender] for run in runs]
    return Row(
        d,
        contender.packer,
        contender.worth,
        cbs=fmean(_cbs(run[contender], run) for run in runs),
        r=_mean_of_changes(courses, lambda step: step.r),
        consumers=fmean(step.consumers for course in courses for step in course),
        moves=_mean_of_changes(courses, lambda step: step.moves),
    )


def _cbs(course: Course, run: Courses) -> float:
    return 100 * fmean(
        # With nothing to read zmin is 0; a consumer kept anyway counts as 100 %.
        (step.consumers - zmin) / max(zmin, 1)
        for step, zmin in zip(course, _least_consumers(run), strict=True)
    )


def _least_consumers(run: Courses) -> Iterator[int]:
    for steps in zip(*(run[contender] for contender in THE_TWELVE), strict=True):
        yield min(step.consumers for step in steps)


def _mean_of_changes(courses: Iterable[Course], measure: Callable[[Step], float]) -> float:
    changes = [measure(step) for course in courses for step in course[1:]]
    return fmean(changes) if changes else 0.0
