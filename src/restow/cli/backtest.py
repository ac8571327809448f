"""`restow backtest`: the load of an event log under other settings, and what they would have cost and spared."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Column

from restow.cli.support.config import add_config
from restow.cli.support.event_logs import chosen_files, log_of_the_group, reading
from restow.cli.support.moments import moment
from restow.cli.support.options import Subparsers, number, one_of, setting
from restow.cli.support.output import note, print_json, right, show, table
from restow.cli.support.packer import load_packer
from restow.settings import Controller
from restow.text import counted, spanned

if TYPE_CHECKING:
    from restow.study.comparison.backtest import BacktestRow, LoggedGroup

DESCRIPTION = """\
Takes the load that a controller measured from its event log, runs it through the same state machine again under other
settings, in the simulator, and prints what they would have cost and spared: consumer-hours, moves, overloaded seconds
and an estimate of the lag. So you can judge a setting on your own load before you change it.

LOG is the log's directory, one of its segments, or a file. Without it, it is the log of the group in restow.toml, on
this machine. The log is only read.
"""

EPILOG = """\
Three rows: the group as it was, the machine with the log's own settings, and with yours. The last two differ by the
settings alone; how close the first two are shows how well the simulator follows the group. All are accounted by the
model of docs/comparison.md, with a start of a consumer and a pause of a move as measured there. Faults of that time are
not repeated.

examples:
  restow backtest --set worth=3
  restow backtest --preset lean
  restow backtest --set look_every_s=120 --set fill_to=0.8 --set drain_to=0.7
  restow backtest restow-data/lake-controller/events --from 03:00 --to 09:00 --set worth=0.5 --json

--json prints {"log", "hours", "partitions", "rows": [{"way", "consumer_hours", "moves", "latency_p99_s",
"overloaded_consumer_s"}, …]}.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "backtest", help="try other settings on the load of an event log", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("log", type=Path, nargs="?", metavar="LOG", help="a directory, or one file of it")
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=V",
        help="a setting of [controller] or [consumer], like worth=3; may be repeated",
    )
    parser.add_argument(
        "--preset", type=one_of(tuple(Controller.presets), "preset"), help="all settings of a preset, before --set"
    )
    parser.add_argument("--from", dest="begin", type=moment, metavar="TIME", help="only from then on, in UTC")
    parser.add_argument("--to", dest="end", type=moment, metavar="TIME", help="only up to then, in UTC")
    parser.add_argument("--capacity", type=number(above=0), metavar="B", help="what one consumer sustains, in bytes/s")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from restow.study.comparison.backtest import backtest
    from restow.study.comparison.sweeping import settings_with
    from restow.study.comparison.times import Times

    given = {**({"preset": args.preset} if args.preset else {}), **dict(args.set)}
    settings_with(given)  # before a long log is read
    log = args.log or log_of_the_group(args)
    load_packer()
    group = _read(log, args)
    load = group.load(args.capacity)
    if not given:
        note("neither --set nor --preset is given: only the log's own settings are tried")
    rows = backtest(group, load, Times(), given)
    if args.json:
        head = {"log": str(log), "hours": round(load.hours, 3), "partitions": len(load.partitions)}
        print_json({**head, "rows": [asdict(row) for row in rows]})
        return 0
    show(
        f"{counted(len(load.partitions), 'partition')} for {spanned(load.hours * 3600)}; a consumer reads "
        f"{load.capacity_bytes_per_s:g} bytes/s"
    )
    _show(rows)
    return 0


def _read(log: Path, args: argparse.Namespace) -> "LoggedGroup":
    from restow.controller.history import History, Remark
    from restow.study.comparison.backtest import LoggedGroup

    group = LoggedGroup()
    with reading(log):
        files, window = chosen_files(log, args.begin, args.end)
        for found in History(files).steps():
            if isinstance(found, Remark):
                if found.is_wrong:
                    note(f"{found.file.name}: {found.words}")
            elif window.has(found.utc_s):
                group.add([found])
    return group


def _show(rows: Sequence["BacktestRow"]) -> None:
    names = ("consumer-hours", "moves", "latency p99 s", "overloaded s")
    shown = table(Column("", no_wrap=True), *map(right, names))
    for row in rows:
        numbers = (f"{row.consumer_hours:.2f}", f"{row.moves:,}", f"{row.latency_p99_s:.1f}")
        shown.add_row(row.way, *numbers, f"{row.overloaded_consumer_s:,.0f}")
    show(shown)
    for line in differences(rows):
        show(line)


def differences(rows: Sequence["BacktestRow"]) -> Iterator[str]:
    """What the other settings would have cost and spared, against the same simulation with the log's own."""
    if len(rows) < 3:
        return
    _, same, other = rows
    words = {
        "consumer_hours": "consumer-hours",
        "moves": "moves",
        "overloaded_consumer_s": "overloaded consumer-seconds",
        "latency_p99_s": "seconds of latency (p99)",
    }
    changes = {
        each.name: getattr(other, each.name) - getattr(same, each.name) for each in fields(same) if each.name in words
    }
    costs = [f"{change:g} {words[name]}" for name, change in _rounded(changes) if change > 0]
    spares = [f"{-change:g} {words[name]}" for name, change in _rounded(changes) if change < 0]
    if not costs and not spares:
        yield f"{other.way} would have changed nothing."
    if costs:
        yield f"{other.way} would have cost {', '.join(costs)}."
    if spares:
        yield f"{other.way} would have spared {', '.join(spares)}."


def _rounded(changes: dict[str, float]) -> Iterator[tuple[str, float]]:
    for name, change in changes.items():
        yield name, round(change, 2)
