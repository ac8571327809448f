"""`restow demo`: a whole group on this machine under a changing load, with a kill on the way and a final audit."""

import argparse
import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from rich.table import Column, Table

from restow.cli.support.options import Subparsers, duration
from restow.cli.support.output import PIPE_WIDTH, print_json, right, show, table
from restow.durable import write_atomically
from restow.errors import InvalidInput
from restow.scratch import temporary

if TYPE_CHECKING:
    from restow.demo.audit import DemoResult

DESCRIPTION = """\
Runs a whole group on this machine: Apache Kafka, a producer with an uneven, changing load, the monitor, the controller,
and consumers that run a pipeline on Spark and write two Delta tables. The group keeps a spare, a warm consumer without
partitions. It grows from one consumer at work to two and shrinks again; on the way one consumer is killed. A page shows
the group as it works; its address is printed. At the end DuckDB counts the rows: every record must be there once.
"""

EPILOG = """\
The load is quiet, busy, and quiet again. Each phase lasts for its share of TIME and then until the group has reacted:
two consumers at work and a spare ready, the killed consumer's partitions read again, one consumer and its spare left. A
busy machine shows the same and takes longer, up to twice TIME or TIME plus two minutes, whichever is more; then the
phase ends anyway. Start-up and audit take another minute.

A consumer's capacity is set to 40 kB/s, so that three of them fit a small machine. The demo needs 2 cores, less than
8 GiB of memory, and Java 17. It leaves nothing running. It keeps one file, the group's picture as it was at the end,
whose name it prints; with --data it keeps everything.

examples:
  restow demo
  restow demo --for 10m --data demo-data
  restow demo --for 4m --headless --json

--json prints one object:
  produced, stored, lost, doubled                    records
  consumers_min, consumers_max, consumers_mean       counted each second under load
  moves                                              of a partition to another consumer
  pause_p50_s, pause_p99_s                           from a partition's stop to its start elsewhere
  latency_p50_s, latency_p99_s                       from a record's timestamp to its commit in the table
  kills
The exit code is 1 if any record was lost or doubled.
"""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INDENT = 8
"""Columns for the time since the start."""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "demo", help="a whole group on this machine, audited", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument(
        "--for",
        dest="seconds",
        type=duration,
        default=240.0,
        metavar="TIME",
        help="how long the load lasts, like 90s, 4m or 1h (default: 4m)",
    )
    parser.add_argument("--headless", action="store_true", help="without the page")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="keep tables, logs and volumes in this new or empty directory"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, and narrate on stderr")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from restow.demo.run import run as demonstrate
    from restow.pipeline.spark.prepare import prepare_spark

    place = _directory(args.data)
    interrupt_once()
    prepare_spark()
    narrate = narrator(sys.stderr if args.json else sys.stdout)
    with place as directory:
        try:
            result = demonstrate(args.seconds, directory.absolute(), narrate, with_page=not args.headless)
        except KeyboardInterrupt:
            narrate("interrupted; everything has been stopped")
            raise
        picture = directory / "picture.json" if args.data else kept_picture(directory / "picture.json")
    if args.json:
        print_json(asdict(result))
    else:
        show(_table(result))
    if picture.exists():
        narrate(f"the page's last picture is {picture}; `restow status --from {picture}` shows it")
    if args.data:
        narrate(f"`restow replay {args.data / 'events'}` shows every decision with its reasons")
    return 0 if result.is_well else 1


def kept_picture(picture: Path) -> Path:
    """Copies the picture from the temporary directory into the cache, in place of an earlier demonstration's."""
    from restow.java.jars import cache_dir
    from restow.platform.processes.logs import READABLE_FILE

    if not picture.exists():
        return picture
    kept = cache_dir().parent / "demo-picture.json"
    write_atomically(kept, picture.read_bytes(), READABLE_FILE)
    return kept


def interrupt_once() -> None:
    """Interrupts at the first signal and ignores later ones: an interrupted clean-up would leave consumers behind."""

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  as signals call it
        for each in STOP_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in STOP_SIGNALS:
        signal.signal(each, interrupt)


def narrator(stream: TextIO) -> Callable[[str], None]:
    """Writes each line with the minutes and seconds since the start. An indented line continues the one before it and
    has no time."""
    begun_s = time.monotonic()
    width = shutil.get_terminal_size().columns if stream.isatty() else PIPE_WIDTH

    def narrate(words: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - begun_s), 60)
        clock = "" if words.startswith(" ") else f"{minutes:3}:{seconds:02}"
        inner = INDENT + len(words) - len(words.lstrip())
        head = clock.ljust(inner)
        lines = textwrap.wrap(
            words.strip(), width, initial_indent=head, subsequent_indent=" " * inner, break_on_hyphens=False
        )
        stream.write("\n".join(lines) + "\n")
        stream.flush()

    return narrate


def _directory(data: Path | None) -> AbstractContextManager[Path]:
    if data is None:
        return temporary("demo")
    try:
        data.mkdir(parents=True, exist_ok=True)
        found = sorted(entry.name for entry in data.iterdir())
    except OSError as error:
        raise InvalidInput(f"--data {data} can't be used: {error.strerror}; name a new or empty directory") from None
    if found:
        raise InvalidInput(f"--data {data} holds {found[0]}; name a new or empty directory")
    return nullcontext(data)


def _table(result: "DemoResult") -> Table:
    found = table(Column("counted by DuckDB at the end"), right(""), caption=_verdict(result))
    found.add_row("records produced", f"{result.produced:,}")
    found.add_row("rows stored", f"{result.stored:,}")
    found.add_row("records lost", f"{result.lost:,}")
    found.add_row("rows stored twice", f"{result.doubled:,}")
    found.add_row(
        "consumers", f"{result.consumers_min} to {result.consumers_max}, {result.consumers_mean:g} on average"
    )
    found.add_row("consumers killed", str(result.kills))
    found.add_row("partitions moved", str(result.moves))
    found.add_row("pause of a moved partition", _spread(result.pause_p50_s, result.pause_p99_s))
    found.add_row("latency, from timestamp to commit", _spread(result.latency_p50_s, result.latency_p99_s))
    return found


def _verdict(result: "DemoResult") -> str:
    if result.is_well:
        return "Every record is in its table exactly once."
    return f"{result.lost:,} records are lost and {result.doubled:,} rows are stored twice: this is a bug."


def _spread(p50_s: float, p99_s: float) -> str:
    return f"{p50_s:.1f} s p50, {p99_s:.1f} s p99"
