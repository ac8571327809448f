"""`restow demo`: everything together on this machine, for some minutes, with an audit at the end."""

import argparse
import re
import shutil
import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from rich.table import Column, Table

from restow.cli.support.options import Subparsers
from restow.cli.support.output import PIPE_WIDTH, print_json, right, show, table
from restow.errors import InvalidInput

if TYPE_CHECKING:
    from restow.demo.audit import DemoResult

DESCRIPTION = """\
Runs everything together on this machine: a real Kafka, a producer whose load is uneven and changes, the monitor, the
controller, and consumers that run a pipeline on Spark and write two Delta tables. The group grows from one consumer to
three and shrinks again; on the way one consumer is killed. When all has ended, DuckDB counts what is in the tables:
every record must be there, once.
"""

EPILOG = """\
The load is quiet, busy, and quiet again. Each of these lasts for its share of TIME, and then until the group has become
what it should: three consumers at work, the killed one's partitions read again, one consumer. So a machine that is busy
with other things shows the same and takes longer: up to twice TIME, or two minutes more, if that is longer; what was
not shown until then is passed over. Starting before it and counting after it take a minute more.

A consumer is said to carry 40 kB/s: little, so that three of them fit a small machine. All of it takes 2 cores and less
than 8 GiB of memory, and Java 17. Nothing is left running, and nothing is kept unless --data names a place.

examples:
  restow demo                            4 minutes, told as it goes
  restow demo --for 10m --data demo-data
  restow demo --for 4m --headless --json

--json prints one object: produced, stored, lost, doubled (records); consumers_min, consumers_max, consumers_mean (those
that are there, counted each second while the load is on); moves (of a partition to another consumer); pause_p50_s,
pause_p99_s (from a partition's stop to its start elsewhere); latency_p50_s, latency_p99_s (from a record's timestamp to
its commit in the table); kills. The exit code is 1 if anything was lost or doubled.
"""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INDENT = 8
"""Columns for the time since the beginning."""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "demo", help="everything together on this machine", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument(
        "--for", dest="seconds", type=duration, default=240.0, metavar="TIME", help="4m, 90s (default: 4m)"
    )
    parser.add_argument("--headless", action="store_true", help="without a page; there is none yet")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="keep tables, logs and volumes here: a new or an empty place"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object; the story is then told on stderr")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from restow.demo.run import run as demonstrate

    place = _directory(args.data)
    interrupt_once()
    tell = storyteller(sys.stderr if args.json else sys.stdout)
    with place as directory:
        try:
            result = demonstrate(args.seconds, Path(directory).absolute(), tell)
        except KeyboardInterrupt:
            tell("interrupted; everything is ended")
            raise
    if args.json:
        print_json(asdict(result))
    else:
        show(_table(result))
        if args.data:
            tell(f"`restow replay {args.data / 'events.jsonl'}` tells every decision and its reasons")
    return 0 if result.is_well else 1


def duration(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", text)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write 90s, 4m or 1h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def interrupt_once() -> None:
    """The first signal interrupts, and those after it can't interrupt the ending: consumers would be left behind."""

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  as signals call it
        for each in STOP_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in STOP_SIGNALS:
        signal.signal(each, interrupt)


def storyteller(stream: TextIO) -> Callable[[str], None]:
    """Tells each line with the time since the beginning. What belongs to the line before is indented and has none."""
    begun_s = time.monotonic()
    width = shutil.get_terminal_size().columns if stream.isatty() else PIPE_WIDTH

    def tell(words: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - begun_s), 60)
        clock = "" if words.startswith(" ") else f"{minutes:3}:{seconds:02}"
        inner = INDENT + len(words) - len(words.lstrip())
        head = clock.ljust(inner)
        lines = textwrap.wrap(words.strip(), width, initial_indent=head, subsequent_indent=" " * inner)
        stream.write("\n".join(lines) + "\n")
        stream.flush()

    return tell


def _directory(data: Path | None) -> AbstractContextManager[str]:
    if data is None:
        return tempfile.TemporaryDirectory(prefix="restow-demo-", ignore_cleanup_errors=True)
    try:
        data.mkdir(parents=True, exist_ok=True)
        found = sorted(entry.name for entry in data.iterdir())
    except OSError as error:
        raise InvalidInput(f"--data {data} can't be used: {error.strerror}; name a directory that can") from None
    if found:
        raise InvalidInput(f"--data {data} holds {found[0]}; name a new or an empty place")
    return nullcontext(str(data))


def _table(result: "DemoResult") -> Table:
    found = table(Column("counted by DuckDB, when all had ended"), right(""), caption=_verdict(result))
    found.add_row("records produced", f"{result.produced:,}")
    found.add_row("rows stored", f"{result.stored:,}")
    found.add_row("records lost", f"{result.lost:,}")
    found.add_row("rows that are there twice", f"{result.doubled:,}")
    found.add_row(
        "consumers", f"{result.consumers_min} to {result.consumers_max}, {result.consumers_mean:g} in the mean"
    )
    found.add_row("consumers killed", str(result.kills))
    found.add_row("moves of a partition", str(result.moves))
    found.add_row("nobody reads a partition that moves", _spread(result.pause_p50_s, result.pause_p99_s))
    found.add_row("from a record's timestamp to its row", _spread(result.latency_p50_s, result.latency_p99_s))
    return found


def _verdict(result: "DemoResult") -> str:
    if result.is_well:
        return "Every record is in its table, once."
    return f"{result.lost:,} records are lost, and {result.doubled:,} rows are there twice: that must not be."


def _spread(half_s: float, most_s: float) -> str:
    return f"{half_s:.1f} s (half), {most_s:.1f} s (99 %)"
