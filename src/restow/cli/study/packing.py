"""`restow study packing`: consumers against moved speed, for any packer, on the published walk or a recorded trace."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from rich.table import Column

from restow.cli.support.options import Subparsers, list_of, number, one_of, whole_number
from restow.cli.support.output import note, print_json, progress, right, show, table
from restow.cli.support.packer import load_packer
from restow.packing import PACKERS, PUBLISHED
from restow.study.packing import Row, contenders, jobs, study
from restow.study.plot_file import check_plot_file
from restow.study.workload import STARTS, TOP_SPEED, Walk, Workload, read_trace

DESCRIPTION = """\
Runs packers over the published workload or a recorded trace. Prints for each packer, as means over the steps:

  CBS         consumers above the least that any of the twelve published packers needs in that step, in per cent;
              below 0: fewer than all twelve
  R           speed of the partitions that change consumer in a step, in capacities of one consumer;
              a partition's first placement doesn't count
  consumers   number of consumers
  moves       number of partitions that change consumer in a step

A consumer costs money and a move costs a pause, so less is better everywhere. Nothing can move in the first step, so R
and moves are means over the steps after it. The published packers are nf ff wf bf (next, first, worst, best fit),
nfd ffd wfd bfd (the same, fastest partition first), and mwf mbf mwfp mbfp (modified: consumer after consumer). restow's
packer trades consumers against moves: --worth is how many capacities of speed may move to save one consumer.
"""

EPILOG = """\
examples:
  restow study packing                                 the whole published study, and restow's curve
  restow study packing --d 5 --packer mwf,bfd,restow --worth 0.5,1,30
  restow study packing --plot pareto.png               draws CBS against R, one panel for each d
  restow study packing --trace speeds.json --capacity 2400000 --json

The file of --trace is a JSON array with one object a step, with the speed of every partition in bytes/s:
[{"orders": {"0": 812.5, "1": 90}}, …]. `restow record FILE` writes one of your own load. --capacity has the same unit.
--json prints {"rows": [{"d", "packer", "worth", "cbs", "r", "consumers", "moves"}, …]}; cbs is in per cent, d is null
for a trace, worth is null for the published packers.
"""

DEFAULT_PACKERS = tuple(name for name in PACKERS if name != "restow-polish")  # slow
DEFAULT_D = (5, 10, 15, 20, 25)
DEFAULT_SEEDS = 3
DEFAULT_STEPS = 200
DEFAULT_WORTH = (0.5, 1.0, 3.0, 10.0, 30.0)
LEAST_CAPACITY = 0.001


def add(studies: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = studies.add_parser(
        "packing", help="consumers against moves, for any packer", description=DESCRIPTION, epilog=EPILOG
    )
    walk = parser.add_argument_group("the published workload: 200 partitions whose speeds walk between 0 and 100")
    walk.add_argument(
        "--d",
        type=list_of(whole_number(0)),
        metavar="D,…",
        help="largest change of a speed in a step (default: 5,10,15,20,25)",
    )
    walk.add_argument("--seeds", type=whole_number(1), metavar="N", help="runs for each d, seeded 1 to N (default: 3)")
    walk.add_argument("--steps", type=whole_number(1), metavar="N", help="steps after the first speeds (default: 200)")
    walk.add_argument(
        "--start",
        type=one_of(STARTS, "start"),
        metavar="|".join(STARTS),
        help="the first speeds: uniform from 0 to 100, or all the same (default: uniform)",
    )
    trace = parser.add_argument_group("your own workload")
    trace.add_argument("--trace", type=Path, metavar="FILE", help="recorded speeds, instead of the walk")
    trace.add_argument(
        "--capacity",
        type=number(LEAST_CAPACITY),
        default=float(TOP_SPEED),
        metavar="C",
        help="what one consumer carries, in the speeds' unit (default: 100)",
    )
    what = parser.add_argument_group("packers and output")
    what.add_argument(
        "--packer",
        type=list_of(one_of(PACKERS, "packer")),
        default=DEFAULT_PACKERS,
        metavar="NAME,…",
        help=f"any of {', '.join(PACKERS)} (default: the twelve and restow)",
    )
    what.add_argument(
        "--worth",
        type=list_of(number(0)),
        default=DEFAULT_WORTH,
        metavar="L,…",
        help="worth of a consumer to restow's packers, a row for each (default: 0.5,1,3,10,30)",
    )
    what.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    what.add_argument("--plot", type=Path, metavar="FILE", help="draw CBS against R, as .png or .svg")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.plot:
        check_plot_file(args.plot)
    workloads, chosen = _workloads(args), contenders(args.packer, args.worth)
    if not set(args.packer) <= set(PUBLISHED):
        load_packer()
    with progress("packing", len(jobs(workloads, chosen, args.capacity))) as advance:
        rows = study(workloads, chosen, args.capacity, advance=advance)
    if args.plot:
        _draw(rows, args.plot)
    if args.json:
        print_json({"rows": [asdict(row) for row in rows]})
    else:
        _show(rows)
    return 0


def _workloads(args: argparse.Namespace) -> list[Workload]:
    if args.trace:
        for name in ("d", "seeds", "steps", "start"):
            if getattr(args, name) is not None:
                note(f"--{name} is not used: it belongs to the published workload, and --trace is given")
        return [read_trace(args.trace)]
    steps, seeds, start = args.steps or DEFAULT_STEPS, args.seeds or DEFAULT_SEEDS, STARTS[args.start or "uniform"]
    return [
        Walk(d, seed, steps, start) for d in (DEFAULT_D if args.d is None else args.d) for seed in range(1, seeds + 1)
    ]


def _draw(rows: Sequence[Row], file: Path) -> None:
    # Loading matplotlib takes as long as a small study, so only --plot loads it.
    from restow.study.packing_plot import picture
    from restow.study.plots import save

    save(picture(rows), file)


def _show(rows: Sequence[Row]) -> None:
    numbers = ("worth", "CBS %", "R", "consumers", "moves")
    shown = table(right("d"), Column("packer"), *(right(name) for name in numbers))
    for d, group in groupby(rows, key=lambda row: row.d):
        shown.add_section()
        for row in group:
            shown.add_row(
                "trace" if d is None else str(d),
                row.packer,
                "" if row.worth is None else f"{row.worth:g}",
                *(f"{row.cbs:.2f}", f"{row.r:.2f}", f"{row.consumers:.1f}", f"{row.moves:.1f}"),
                style=None if row.packer in PUBLISHED else "bold",
            )
    show(shown)
