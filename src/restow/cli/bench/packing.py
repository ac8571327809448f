"""`restow bench packing`: how long a packing decision takes, by packer and number of partitions."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from rich.table import Column

from restow.cli.support.options import Subparsers, list_of, one_of, whole_number
from restow.cli.support.output import print_json, progress, right, show, table
from restow.packing import PACKERS
from restow.study.decision_time import LARGE, SIZES, Row, growth_exponent, measure, warm_up_time_s

DEFAULT_PACKERS = ("restow", "mwf", "bfd")

DESCRIPTION = f"""\
Measures how long a packer takes for a decision: medians over decisions on the published walk (d = 5, uniform start, a
consumer worth 1), each starting from the previous assignment. The first decision, which places everything, is not
timed. The last column is the growth from {LARGE:,} partitions on: time grows with their number to this power, and 1 is
linear.
"""

EPILOG = """\
restow's packer is compiled code. It is loaded before the medians, and the line below the table has the time: under a
second, or half a minute if it has to be compiled, on a new machine or after an update. To see that again, remove the
folder `compiled-…` in src/restow/packing/__pycache__.

examples:
  restow bench packing
  restow bench packing --partitions 500,5000,50000 --packer restow,restow-polish,mbfp
  restow bench packing --json          prints {"rows": [{"packer", "partitions", "median_ms"}, …]}
"""


def add(benches: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = benches.add_parser("packing", help="time of a packing decision", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument(
        "--partitions",
        type=list_of(whole_number(1)),
        default=SIZES,
        metavar="N,…",
        help=f"sizes of groups (default: {','.join(map(str, SIZES))})",
    )
    parser.add_argument(
        "--packer",
        type=list_of(one_of(PACKERS, "packer")),
        default=DEFAULT_PACKERS,
        metavar="NAME,…",
        help=f"any of {', '.join(PACKERS)} (default: {','.join(DEFAULT_PACKERS)})",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    ready_s = warm_up_time_s()
    with progress("packing", len(args.packer) * len(args.partitions)) as advance:
        rows = measure(args.packer, args.partitions, advance)
    if args.json:
        print_json({"rows": [asdict(row) for row in rows]})
    else:
        _show(rows, args.packer, args.partitions, ready_s)
    return 0


def _show(rows: Sequence[Row], packers: Sequence[str], sizes: Sequence[int], ready_s: float) -> None:
    shown = table(Column("packer"), *(right(f"{size:,}") for size in sizes), right("growth"))
    for packer in packers:
        own = [row for row in rows if row.packer == packer]
        growth = growth_exponent(own)
        shown.add_row(packer, *(f"{row.median_ms:.2f}" for row in own), "" if growth is None else f"{growth:.2f}")
    show(shown)
    show(f"medians in ms; loading restow's compiled code took {ready_s:.2f} s, once per process")
