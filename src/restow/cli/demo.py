"""`restow demo`: everything together on this machine, for some minutes, with an audit at the end."""

import argparse
import re
import tempfile
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from restow.cli.common import Subparsers, note, print_json, show
from restow.cli.logging_lines import say
from restow.cli.stopping import interrupt_on_stop_signals

if TYPE_CHECKING:
    from restow.demo.run import Outcome

DESCRIPTION = """\
Runs everything together on this machine: a real Kafka, a producer whose load is uneven and changes, the monitor, the
controller, and consumers that run a pipeline on Spark and write two Delta tables. The group grows from one consumer to
three and shrinks again; on the way one consumer is killed. At the end DuckDB counts what is in the tables: every record
must be there, once.
"""

EPILOG = """\
It needs Java 17, 2 cores and 8 GiB of memory. Nothing is left running, and nothing is kept unless --data names a place.

examples:
  restow demo                            4 minutes, told as it goes
  restow demo --for 10m --data demo-data
  restow demo --for 4m --headless --json

--json prints one object: produced, stored, lost, doubled, consumers_min, consumers_max, consumers_mean, moves,
pause_p50_s, pause_p99_s (from a partition's stop to its start elsewhere), latency_p50_s, latency_p99_s (from a record's
timestamp to its commit in the table), kills. The exit code is 1 if anything was lost or doubled.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "demo", help="everything together on this machine", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument(
        "--for", dest="seconds", type=duration, default=240.0, metavar="TIME", help="4m, 90s (default: 4m)"
    )
    parser.add_argument("--headless", action="store_true", help="without a page; there is none yet")
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep tables, logs and volumes here")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the story")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from restow.demo.run import run as demonstrate

    interrupt_on_stop_signals()
    with _directory(args.data) as directory:
        outcome = demonstrate(args.seconds, Path(directory).absolute(), note if args.json else say)
    if args.json:
        print_json(asdict(outcome))
    else:
        show(_table(outcome))
    return 0 if outcome.is_well else 1


def duration(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", text)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write 90s, 4m or 1h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def _directory(data: Path | None) -> AbstractContextManager[str]:
    if data is None:
        return tempfile.TemporaryDirectory(prefix="restow-demo-", ignore_cleanup_errors=True)
    data.mkdir(parents=True, exist_ok=True)
    return nullcontext(str(data))


def _table(outcome: "Outcome") -> Table:
    table = Table("", "this run", title="the demonstration, audited by DuckDB")
    for name, value in asdict(outcome).items():
        table.add_row(name, f"{value:,}")
    return table
