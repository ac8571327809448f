"""Runs the comparison, the sweep of `look_every_s` and the presets, and writes their tables and plots into the docs:

.venv/bin/python -m bench.comparison --results comparison.json --jobs 2
.venv/bin/python -m bench.comparison --results comparison.json --write

Every row is in the file of results as soon as it is there, so that a run which was ended goes on where it was. With
other hours, seeds or code, begin with another file.
"""

import argparse
import gc
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from bench.large_groups import write_between_marks

from restow.packing import warm_up
from restow.settings import Controller
from restow.settings.sections.controller import PRESETS
from restow.study import comparison_plot
from restow.study.comparison.comparing import Job, Row, jobs
from restow.study.comparison.loads import WORKLOADS, Shape
from restow.study.comparison.policies import LATENCY_S, OURS
from restow.study.comparison.sweeping import SweepJob, SweepRow, over_all, settings_with
from restow.study.comparison.targets import totals, verdicts
from restow.study.comparison.times import Times
from restow.study.plots import save

TUNED_ON: Final = (1,)
SHOWN_ON: Final = (101,)
LOOKS_S: Final = ("5", "10", "30", "60", "120")
COMPARISON, POLICY, README = Path("docs/comparison.md"), Path("docs/policy.md"), Path("README.md")
COMPARED, SWEPT = Path("docs/images/comparison.png"), Path("docs/images/sweep.png")
HEADING: Final = (
    "| policy | consumer-hours | moves | latency p99 | overloaded consumer-seconds |\n|---|---:|---:|---:|---:|"
)

BESIDE: Final = (
    "Beside other ways to size and assign a group, over the same loads, each tuned on one seed and shown on another\n"
    "([how, and by workload](docs/comparison.md)):"
)

MEASURED: Final = ("workload", "consumer_hours", "moves", "latency_p99_s", "overloaded_consumer_s")

Task = tuple[str, Job | SweepJob]


def tasks(hours: float) -> Iterator[Task]:
    """The name of each row, and what computes it."""
    shape, times = Shape(hours), Times()
    for job in jobs(shape, WORKLOADS, times, TUNED_ON, SHOWN_ON):
        yield f"compare/{job.policy}/{job.workload}", job
    for name, values in (("preset", tuple(PRESETS)), ("look_every_s", LOOKS_S)):
        for value in values:
            for workload in WORKLOADS:
                job_ = SweepJob(name, value, (), workload, shape, times, SHOWN_ON)
                yield f"{name}/{value}/{workload}", job_


def settings_of(name: str, row: dict[str, Any]) -> Controller | None:
    """By which restow made this row; None if it is another policy's."""
    kind, value, _ = name.split("/")
    if kind != "compare":
        return settings_with({kind: value}).controller
    return Controller.of_preset(row["setting"].removeprefix("preset ")) if value == OURS else None


def shared(known: dict[str, dict[str, Any]], task: Task) -> dict[str, Any] | None:
    """The same settings over the same load may have a row already: `lean` in the comparison, the default in both
    sweeps."""
    wanted, job = task
    if not isinstance(job, SweepJob):
        return None
    own = settings_with({job.name: job.value}).controller
    for name, row in known.items():
        if name != wanted and row["workload"] == job.workload and settings_of(name, row) == own:
            return {**{key: row[key] for key in MEASURED}, "value": job.value}
    return None


def computed(task: Task) -> tuple[str, dict[str, Any]]:
    name, job = task
    return name, asdict(job.run())


def get_ready() -> None:
    warm_up()
    gc.freeze()


def run(file: Path, hours: float, only: str, processes: int) -> None:
    known = read(file)
    todo = [task for task in tasks(hours) if task[0].startswith(only) and task[0] not in known]
    for task in todo:
        if (row := shared(known, task)) is not None:
            known[task[0]] = row
    todo = [task for task in todo if task[0] not in known]
    with get_context("spawn").Pool(processes, initializer=get_ready) as pool:
        for name, row in pool.imap_unordered(computed, todo):
            known[name] = row
            file.write_text(json.dumps({"hours": hours, "rows": known}, indent=1))
            sys.stdout.write(f"{name}: {row}\n")
            sys.stdout.flush()


def read(file: Path) -> dict[str, dict[str, Any]]:
    return dict(json.loads(file.read_text())["rows"]) if file.exists() else {}


def compared(known: dict[str, dict[str, Any]]) -> list[Row]:
    return [Row(**row) for name, row in known.items() if name.startswith("compare/")]


def swept(known: dict[str, dict[str, Any]], setting: str) -> list[SweepRow]:
    """In the order of the tasks: results come in any."""
    return [SweepRow(**known[name]) for name, _ in tasks(1.0) if name.startswith(f"{setting}/") and name in known]


def write(file: Path) -> None:
    """What has not all of its rows yet is left out, and said: a comparison, a preset, the values of a sweep."""
    known, hours = read(file), json.loads(file.read_text())["hours"]
    over = f"{hours:g} simulated hours of each workload"
    COMPARED.parent.mkdir(exist_ok=True)
    if is_whole(known, "compare"):
        write_comparison(compared(known), over)
    presets = [preset for preset in PRESETS if is_whole(known, f"preset/{preset}")]
    if presets:
        rows = [row for row in swept(known, "preset") if row.value in presets]
        put(POLICY, "presets", sweep_table("preset", rows, over))
    if is_whole(known, "look_every_s"):
        looks = swept(known, "look_every_s")
        save(comparison_plot.swept("look_every_s", looks), SWEPT)
        plot = "![restow with look_every_s at several values](images/sweep.png)"
        put(POLICY, "look_every_s", f"{sweep_table('look_every_s', looks, over)}\n\n{plot}")


def is_whole(known: dict[str, dict[str, Any]], kind: str) -> bool:
    missing = [name for name, _ in tasks(1.0) if name.startswith(f"{kind}/") and name not in known]
    if missing:
        sys.stdout.write(f"not written, because rows are missing: {', '.join(missing)}\n")
    return not missing


def write_comparison(rows: Sequence[Row], over: str) -> None:
    save(comparison_plot.compared(rows), COMPARED)
    drawn = "![Cost against latency of each policy, one panel a workload]({})"
    put(README, "totals", "\n\n".join((BESIDE, total_table(rows, over), drawn.format(COMPARED))))
    put(COMPARISON, "comparison", "\n\n".join((drawn.format("images/comparison.png"), comparison_text(rows, over))))


def put(page: Path, name: str, text: str) -> None:
    marks = (f"<!-- bench/comparison.py {name} begin -->", f"<!-- bench/comparison.py {name} end -->")
    write_between_marks(page, text, *marks)


def total_table(rows: Sequence[Row], over: str) -> str:
    found = sorted(totals(rows).values(), key=lambda row: row.consumer_hours)
    title = f"Sums over {len({row.workload for row in rows})} workloads, {over}; of the latencies the worst."
    return f"{title}\n\n{table(found)}"


def comparison_text(rows: Sequence[Row], over: str) -> str:
    seeds = f"tuned on seed {TUNED_ON[0]}, shown on {', '.join(map(str, SHOWN_ON))}"
    parts = [f"{over[0].upper()}{over[1:]}; {seeds}. A latency of {LATENCY_S:g} s or more is marked with \\*."]
    for workload in WORKLOADS:
        own = sorted((row for row in rows if row.workload == workload), key=lambda row: row.consumer_hours)
        parts.append(f"**{workload}**\n\n{table(own)}")
    parts.append(f"**all workloads**\n\n{total_table(rows, over)}")
    parts.append("The targets of restow:")
    parts.append("\n".join(f"    {verdict.words}" for verdict in verdicts(rows)))
    return "\n\n".join(parts)


def table(rows: Sequence[Row]) -> str:
    lines = [HEADING]
    for row in rows:
        name = f"**{row.policy}**" if row.policy == OURS else row.policy
        name += f" ({row.setting})" if row.setting else ""
        late = r"\*" if row.latency_p99_s >= LATENCY_S else ""
        cells = (name, f"{row.consumer_hours:.1f}", f"{row.moves:,}", f"{row.latency_p99_s:.1f} s{late}")
        lines.append(f"| {' | '.join(cells)} | {row.overloaded_consumer_s:,.0f} |")
    return "\n".join(lines)


def sweep_table(name: str, rows: Sequence[SweepRow], over: str) -> str:
    lines = [f"Sums over all workloads of the comparison, {over}, seed {SHOWN_ON[0]}; of the latencies the worst.", ""]
    lines += [HEADING.replace("policy", f"`{name}`")]
    for row in over_all(rows):
        cells = (f"`{row.value}`", f"{row.consumer_hours:.1f}", f"{row.moves:,}", f"{row.latency_p99_s:.1f} s")
        lines.append(f"| {' | '.join(cells)} | {row.overloaded_consumer_s:,.0f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=Shape().hours)
    parser.add_argument("--only", default="", help="rows whose name begins so: compare/, preset/ or look_every_s/")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="compute nothing; write what is there into the docs")
    options = parser.parse_args()
    if options.write:
        write(options.results)
    else:
        run(options.results, options.hours, options.only, options.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
