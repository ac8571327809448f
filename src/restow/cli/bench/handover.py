"""`restow bench handover`: what a change of a group costs its partitions, beside Kafka's own protocols."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.table import Column

from restow.cli.bench.outputs import add_contenders, add_outputs, begin, not_measured
from restow.cli.support.options import Subparsers, list_of, one_of, whole_number
from restow.cli.support.output import note, print_json, right, show, table
from restow.study.handover import CHANGES, CONTENDERS, LIGHT, SPARK, Row, joined, result, rows

if TYPE_CHECKING:
    from restow.handover.run import Outcome

FULL_ROUNDS: Final = 5
QUICK_ROUNDS: Final = 1

DESCRIPTION = """\
Changes a group of two members under a steady load, and measures what that costs its partitions:

  restow-light  restow with light consumers: a monitor, a controller, and as many consumers as the load needs
  restow-spark  the same with consumers on Spark and a Delta table
  range         confluent-kafka clients in a consumer group, classic protocol, range assignor
  cooperative   the same with the cooperative-sticky assignor
  kip-848       the same with the consumer protocol of KIP-848 (group.protocol=consumer)
  static        range with static members: a killed member comes back after half a second

  join          a third member joins. With restow the load becomes three times as high, and the controller
                opens a consumer
  leave         it leaves again. With restow the load falls, and the controller closes one
  kill          one of two members is killed with SIGKILL

Kafka's clients are tuned for quick failover: a session timeout of 6 s (the default is 45 s), heartbeats every 2 s, a
commit every second and whenever partitions are revoked.
"""

EPILOG = """\
A member makes progress when it has processed records (Kafka's clients) or stored them in a table (restow). The pause of
a moved partition is the time from the last progress of its old owner to the first progress of its new one, minus the
usual time between two pieces of its progress in the seconds before. A partition that did not move counts as paused if
it made no progress for twice as long as usual, and for at least half a second longer than usual. A change is in effect
when the last moved partition is read by its new owner; the median of all rounds is shown, counted from the start of the
new member's process; with restow, from the step of the load. Afterwards every record is looked for: Kafka's clients may
double some, none may be lost. The exit code is 1 if restow lost or doubled one, or can't be measured.

The load is 32 partitions with 50 records/s each, and 24 with 10 records/s for Spark. A round takes about a minute for
each contender. Run it on an idle machine.

examples:
  restow bench handover --quick
  restow bench handover --only restow-light,kip-848 --change join,leave --rounds 10
  restow bench handover --json --plot handover.png
  restow bench handover --join light.json,spark.json --plot handover.png     draws earlier results, measures nothing
"""


def add(benches: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = benches.add_parser(
        "handover", help="pauses of partitions when a group changes", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("--quick", action="store_true", help="one round")
    add_contenders(parser, "--only", CONTENDERS, "CONTENDER,…")
    parser.add_argument(
        "--change",
        type=list_of(one_of(CHANGES, "change")),
        default=CHANGES,
        metavar="CHANGE,…",
        help="any of join, leave and kill; a join and a leave need each other (default: all)",
    )
    parser.add_argument(
        "--rounds", type=whole_number(1), metavar="N", help=f"how often each change is made (default: {FULL_ROUNDS})"
    )
    parser.add_argument(
        "--spares", type=whole_number(0), default=0, metavar="N", help="spares of restow's groups (default: none)"
    )
    add_outputs(parser, '{"rows": […]}', "the pauses")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep logs, settings and tables in this directory")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    begin(args)
    outcomes = [] if args.join else _measured(args)
    found = (
        joined(args.join) if args.join else [row for each in outcomes if each.observed for row in rows(each.observed)]
    )
    if not found:
        raise not_measured()
    if args.plot:
        from restow.study.handover_plot import picture
        from restow.study.plots import save

        save(picture(found), args.plot)
    if args.json:
        print_json(result(found))
    else:
        _show(found)
    return exit_code(outcomes, found)


def exit_code(outcomes: "Sequence[Outcome]", found: Sequence[Row]) -> int:
    """1 if restow lost or doubled a record, or could not be measured."""
    ours = (LIGHT, SPARK)
    is_wrong = any(row.contender in ours and (row.lost or row.duplicates) for row in found)
    return int(is_wrong or any(each.contender in ours and each.observed is None for each in outcomes))


def _measured(args: argparse.Namespace) -> "list[Outcome]":
    from restow.handover.run import run as measure

    # A join is followed by its leave, so that each round begins with two members.
    kinds = [kind for kind in CHANGES if kind in args.change or (kind != "kill" and {"join", "leave"} & {*args.change})]
    rounds = args.rounds or (QUICK_ROUNDS if args.quick else FULL_ROUNDS)
    return list(measure(args.only, kinds, rounds, note, args.keep, args.spares))


def _show(found: Sequence[Row]) -> None:
    columns = ("moved", "pause p50 s", "pause p99 s", "unmoved paused", "in effect s", "duplicates", "lost")
    listing = table(Column("contender"), Column("change"), *map(right, columns))
    last = None
    for row in found:
        listing.add_row(
            row.contender if row.contender != last else "",
            row.change,
            *(f"{row.moved}", f"{row.pause_p50_s:.2f}", f"{row.pause_p99_s:.2f}", f"{row.unmoved_paused}"),
            *(f"{row.in_effect_s:.1f}", f"{row.duplicates}", f"{row.lost}"),
        )
        last = row.contender
    show(listing)
