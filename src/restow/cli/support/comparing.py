"""`restow simulate --compare` and `--sweep`: runs the jobs on all cores, and prints and draws their rows."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path
from typing import TypeVar

from rich.table import Column, Table

from restow.cli.support.output import note, print_json, progress, right, show, table
from restow.errors import InvalidInput
from restow.study.comparison.comparing import Row
from restow.study.comparison.comparing import jobs as comparison_jobs
from restow.study.comparison.comparing import run_job as compare_one
from restow.study.comparison.loads import WORKLOADS, Shape
from restow.study.comparison.policies import LATENCY_S, OURS
from restow.study.comparison.sweeping import SweepJob, SweepRow, over_all, settings_with
from restow.study.comparison.sweeping import run_job as sweep_one
from restow.study.comparison.targets import totals, verdicts
from restow.study.comparison.times import Times

J = TypeVar("J")
R = TypeVar("R")
Workers = Callable[[], Pool]

SHOWN_AFTER = 100
"""The first seed that is shown is this many after the seed that policies are tuned on."""
DEFAULT_SEEDS = 2
QUICK_HOURS = 0.5
TRACE = "trace"


def compare(args: argparse.Namespace, workers: Workers) -> int:
    shape, workloads = _shape(args)
    shown_on = _shown_on(args)
    times = Times().changed(dict(args.times))
    todo = comparison_jobs(shape, workloads, times, (args.seed,), shown_on)
    rows = _run(todo, compare_one, "comparing", workers)
    if args.plot:
        _draw(args.plot, lambda plots: plots.compared(rows))
    if args.json:
        print_json({"rows": [row.measured() for row in rows]})
    else:
        _show_comparison(rows, shape, times, f"tuned on seed {args.seed}, shown on {_listed(shown_on)}")
    return 0


def sweep(args: argparse.Namespace, workers: Workers) -> int:
    name, values = args.sweep
    others = tuple(args.set)
    for value in values:
        settings_with({**dict(others), name: value})  # before a long run
    shape, workloads = _shape(args)
    seeds = tuple(_shown_on(args))
    times = Times().changed(dict(args.times))
    todo = [SweepJob(name, each, others, workload, shape, times, seeds) for each in values for workload in workloads]
    rows = _run(todo, sweep_one, "sweeping", workers)
    if args.plot:
        _draw(args.plot, lambda plots: plots.swept(name, rows))
    if args.json:
        print_json({"setting": name, "rows": [asdict(row) for row in rows]})
    else:
        _show_sweep(name, rows, shape, seeds)
    return 0


def _shape(args: argparse.Namespace) -> tuple[Shape, Sequence[str]]:
    hours = args.hours or (QUICK_HOURS if args.quick else Shape().hours)
    shape = Shape(hours, args.partitions or Shape().partitions, capacity_bytes_per_s=args.capacity)
    if args.workload is None:
        return shape, WORKLOADS
    if args.workload in WORKLOADS:
        return shape, (args.workload,)
    from restow.study.workload import read_trace

    file = Path(args.workload)
    if not file.exists():
        raise InvalidInput(f"--workload: there is no workload or file '{file}'; known are {', '.join(WORKLOADS)}")
    if args.partitions is not None:
        note("--partitions is not used: the trace has its own")
    trace = read_trace(file).steps
    own_hours = args.hours or len(trace) * 30.0 / 3600
    return Shape(own_hours, capacity_bytes_per_s=args.capacity, trace=trace), (TRACE,)


def _shown_on(args: argparse.Namespace) -> range:
    """Never the seeds that policies are tuned on."""
    first = int(args.seed) + SHOWN_AFTER
    return range(first, first + int(args.seeds or (1 if args.quick else DEFAULT_SEEDS)))


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))


def _run(todo: Sequence[J], run: Callable[[J], R], what: str, workers: Workers) -> list[R]:
    with progress(what, len(todo)) as advance, workers() as pool:
        rows = []
        for row in pool.imap(partial(run), todo):
            advance()
            rows.append(row)
    return rows


def _draw(file: Path, draw: Callable[..., object]) -> None:
    # Loading matplotlib takes a second, so only --plot loads it.
    from restow.study import comparison_plot
    from restow.study.plots import save

    save(draw(comparison_plot), file)  # type: ignore[arg-type]  # a plot of either kind


def _show_comparison(rows: Sequence[Row], shape: Shape, times: Times, seeds: str) -> None:
    for workload in dict.fromkeys(row.workload for row in rows):
        show(_table(workload, [row for row in rows if row.workload == workload]))
    if len({row.workload for row in rows}) > 1:
        show(_table("all workloads", list(totals(rows).values())))
    partitions = shape.partitions if shape.trace is None else len({each for step in shape.trace for each in step})
    show(f"{partitions} partitions for {shape.hours:g} h, consumers of {shape.capacity_bytes_per_s:g} bytes/s; {seeds}")
    listed = ", ".join(f"{field.name} {getattr(times, field.name):g}" for field in fields(times))
    show(f"times, changed with --times: {listed}")
    show(f"A latency p99 of {LATENCY_S:g} s or more is marked with *. The targets of restow:")
    for verdict in verdicts(rows):
        show(verdict.words)


def _table(title: str, rows: Sequence[Row]) -> Table:
    shown = table(
        Column(title, no_wrap=True),
        *map(right, ("consumer-hours", "moves", "latency p99 s", "overloaded s")),
        Column("tuned to"),
    )
    for row in sorted(rows, key=lambda row: (row.latency_p99_s >= LATENCY_S, row.consumer_hours)):
        late = "*" if row.latency_p99_s >= LATENCY_S else " "
        cells = (f"{row.consumer_hours:.2f}", f"{row.moves:,}", f"{row.latency_p99_s:.1f}{late}")
        overloaded = f"{row.overloaded_consumer_s:,.0f}"
        shown.add_row(row.policy, *cells, overloaded, row.setting, style="bold" if row.policy == OURS else None)
    return shown


def _show_sweep(name: str, rows: Sequence[SweepRow], shape: Shape, seeds: Sequence[int]) -> None:
    for workload in (*dict.fromkeys(row.workload for row in rows), "all"):
        own = over_all(rows) if workload == "all" else [row for row in rows if row.workload == workload]
        shown = table(
            Column(workload, no_wrap=True),
            *map(right, (name, "consumer-hours", "moves", "latency p99 s", "overloaded s")),
        )
        for row in own:
            numbers = (f"{row.consumer_hours:.2f}", f"{row.moves:,}", f"{row.latency_p99_s:.1f}")
            shown.add_row("", row.value, *numbers, f"{row.overloaded_consumer_s:,.0f}")
        show(shown)
    show(f"{shape.hours:g} h each, mean of seeds {_listed(seeds)}; `all` are sums, and the worst latency")
