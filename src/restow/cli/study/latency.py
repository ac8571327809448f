"""`restow study latency`: the published latency study, how late records are read under each policy."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.table import Column

from restow.cli.support.options import Subparsers, list_of, number, whole_number
from restow.cli.support.output import note, print_json, progress, right, show, table
from restow.cli.support.packer import load_packer
from restow.errors import InvalidInput
from restow.model import Speeds
from restow.study import latency
from restow.study.latency import Row, Trace
from restow.study.latency_policies import DEFAULT_POLICIES, PACKING_LIMIT, REAL_CAPACITY, known
from restow.study.plot_file import check_plot_file
from restow.study.workload import Walk, read_trace

D: Final = 5
PARTITIONS: Final = 32
STEPS: Final = 100
SEEDS: Final = 20
FASTEST: Final = 100 * PACKING_LIMIT
"""A recorded partition faster than this means that the trace is in another unit than the capacity."""

DESCRIPTION = f"""\
Calculates how late records are read under each policy, by the published procedure: {PARTITIONS} partitions of 2 topics,
{STEPS} steps of 30 s, speeds that change by up to {D} a step. Consumers are packed up to {PACKING_LIMIT:g} and can read
{REAL_CAPACITY:g}; a move takes 5 s. It is a formula, not a live run: it leaves out the monitor's delay, the time to
start a consumer, and bursts.

columns
  consumers           mean of a step
  moves               partitions that change consumer, mean of a step
  r                   speed of those partitions, in packing limits, mean of a step
  p50 p90 p99 p999    latency in seconds that 50, 90, 99, 99.9 % of the records stay under
  overloaded          consumer-steps with more load than a consumer can read, in per cent (0.1 is one in 1000)
  overloaded_stale    the same if every decision sees speeds that are one step old
All are means over the runs; percentiles are calculated per run, then averaged.

policies
  kafka-N             Kafka's own: round robin over N consumers, which never changes
  nf … mbfp           a published packer, which repacks in every step
  restow              restow's packer, which relieves a consumer only above 120
  restow-brim         restow's packer without that margin: no consumer is ever above {PACKING_LIMIT:g}
"""

EPILOG = """\
examples:
  restow study latency                                            the published figures, and restow's
  restow study latency --policy kafka-15,kafka-30,mbf,restow --plot latency.png
  restow study latency --trace speeds.json --capacity 1800000 --json

The file of --trace is a JSON array with one object for each 30 s, with the speed of every partition in bytes/s:
[{"orders": {"0": 812.5, "1": 90}}, …]. `restow record FILE` writes one of your own load. --capacity has the same unit.
"""


def add(studies: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = studies.add_parser(
        "latency", help="how late records are read, by policy", description=DESCRIPTION, epilog=EPILOG
    )
    option = parser.add_argument
    option(
        "--policy",
        type=list_of(_policy),
        default=DEFAULT_POLICIES,
        metavar="NAMES",
        help=f"policies to run, separated by commas (default: {','.join(DEFAULT_POLICIES)})",
    )
    option("--seed", type=whole_number(0), metavar="N", help="run only this seed")
    option(
        "--seeds",
        type=whole_number(1),
        metavar="N",
        help=f"run the seeds 1 to N and print means (default: {SEEDS})",
    )
    option(
        "--trace",
        type=Path,
        metavar="FILE",
        help="run a recorded trace instead of seeds: a JSON array, one {topic: {partition: speed}} a step",
    )
    option(
        "--capacity",
        type=number(above=0),
        default=PACKING_LIMIT,
        metavar="SPEED",
        help="packing limit of a consumer, in the trace's unit; "
        f"it can read {REAL_CAPACITY / PACKING_LIMIT:g} times that (default: {PACKING_LIMIT:g})",
    )
    option("--steps", type=whole_number(1), metavar="N", help=f"steps of a run (default: {STEPS}, or the whole trace)")
    option("--json", action="store_true", help='print {"rows": […]} and nothing else')
    option("--plot", type=Path, metavar="FILE", help="draw latencies, consumers and moves as .png or .svg")
    parser.set_defaults(run=run)


def _policy(name: str) -> str:
    try:
        return known(name)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(args: argparse.Namespace) -> int:
    if args.plot:
        check_plot_file(args.plot)
    runs, subtitle = _runs(args)
    if any(policy.startswith("restow") for policy in args.policy):
        load_packer()
    rows = _rows(args.policy, runs)
    if args.plot:
        _draw(rows, subtitle, args.plot)
    if args.json:
        print_json({"rows": [asdict(row) for row in rows]})
    else:
        _print_table(rows, subtitle)
    return 0


def _runs(args: argparse.Namespace) -> tuple[list[Callable[[], Trace]], str]:
    """The traces to run, each made when its turn comes, and their description."""
    if args.trace:
        for name in ("seed", "seeds"):
            if getattr(args, name) is not None:
                note(f"--{name} is not used: a trace is given")
        recorded = _in_units_of_the_study(args.trace, read_trace(args.trace).steps[: args.steps], args.capacity)
        return [lambda: recorded], f"{args.trace.name}, {len(recorded)} steps of 30 s"
    steps = args.steps or STEPS
    seeds = range(1, (args.seeds or SEEDS) + 1) if args.seed is None else [args.seed]
    walks = [Walk(d=D, seed=seed, steps=steps - 1, partitions=PARTITIONS) for seed in seeds]
    which = f"seed {args.seed}" if args.seed is not None else f"mean of {len(seeds)} seeds"
    return [walk.speeds for walk in walks], f"{PARTITIONS} partitions, {steps} steps of 30 s, d = {D}, {which}"


def _in_units_of_the_study(file: Path, steps: Trace, capacity: float) -> Trace:
    scale = PACKING_LIMIT / capacity
    for index, speeds in enumerate(steps):
        for partition, speed in speeds.items():
            if speed * scale > FASTEST:
                raise InvalidInput(
                    f"{file}: [{index}].{partition.topic}.{partition.partition} is {speed:g}, over "
                    f"{FASTEST / PACKING_LIMIT:g} consumers of {capacity:g}; give --capacity in the trace's unit"
                )
    return [Speeds({partition: speed * scale for partition, speed in speeds.items()}) for speeds in steps]


def _rows(policies: Sequence[str], runs: Sequence[Callable[[], Trace]]) -> list[Row]:
    found: dict[str, list[Row]] = {name: [] for name in policies}
    with progress("latency study", len(runs) * len(policies)) as advance:
        for trace in runs:
            speeds = trace()
            for name in policies:
                found[name].append(latency.study(name, speeds))
                advance()
    return [latency.mean(rows) for rows in found.values()]


def _draw(rows: Sequence[Row], subtitle: str, file: Path) -> None:
    # Loading matplotlib takes as long as a small study, so only --plot loads it.
    from restow.study.latency_plot import picture
    from restow.study.plots import save

    save(picture(rows, subtitle), file)


def _print_table(rows: Sequence[Row], subtitle: str) -> None:
    headers = ("consumers", "moves", "R", "p50 s", "p90 s", "p99 s", "p99.9 s", "overloaded %", "stale: overloaded %")
    listing = table(Column("policy", no_wrap=True), *map(right, headers), caption=subtitle)
    for row in rows:
        listing.add_row(
            row.policy,
            *(f"{value:.2f}" for value in (row.consumers, row.moves, row.r, row.p50, row.p90, row.p99, row.p999)),
            *(f"{value:.3f}" for value in (row.overloaded, row.overloaded_stale)),
        )
    show(listing)
