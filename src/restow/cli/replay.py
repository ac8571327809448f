"""`restow replay`: runs a controller's event log through the same machine again and explains each step."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from restow.cli.support.config import add_config
from restow.cli.support.event_logs import Window, chosen_files, log_of_the_group, reading
from restow.cli.support.moments import moment, shown
from restow.cli.support.options import Subparsers
from restow.cli.support.output import note
from restow.clock import as_iso
from restow.text import counted

if TYPE_CHECKING:
    from restow.controller.event_log import Step
    from restow.controller.explain import Line
    from restow.controller.history import Remark

DESCRIPTION = """\
Runs the event log of `restow controller` through the same state machine again and prints what happened, what was
decided, and why. Each step must produce the effects that are recorded; if one doesn't, that is reported and the exit
code is 1.

LOG is the log's directory, one of its segments, or a file that an older version of restow wrote. Without it, it is the
log of the group in restow.toml, on this machine.
"""

EPILOG = """\
examples:
  restow replay                                  transitions, decisions with their reasons, flags, commands
  restow replay --from 03:00 --to 03:30          of half an hour: the last one in the log; all times are UTC
  restow replay --from 2026-11-16T22:00          from then on
  restow replay --only decision                  decisions alone
  restow replay --about orders-7                 lines about one partition or consumer ("consumer 3")
  restow replay restow-data/lake-controller/events --json         one object a line, for other tools
"""

KINDS = ("log", "transition", "decision", "flag", "consumer", "command", "platform")


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "replay", help="explain a controller's event log", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("log", type=Path, nargs="?", metavar="LOG", help="a directory, or one file of it")
    parser.add_argument("--from", dest="begin", type=moment, metavar="TIME", help="only lines from then on, in UTC")
    parser.add_argument("--to", dest="end", type=moment, metavar="TIME", help="only lines up to then, in UTC")
    parser.add_argument("--only", choices=KINDS, action="append", help="only lines of this kind; can be repeated")
    parser.add_argument("--about", metavar="NAME", help="only lines about this partition or consumer")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    log: Path = args.log or log_of_the_group(args)
    with reading(log):
        return _replay(log, args)


def _replay(log: Path, args: argparse.Namespace) -> int:
    from restow.controller.history import History, Remark

    files, window = chosen_files(log, args.begin, args.end)
    printer = Printer(args, window)
    for found in History(files).steps():
        if isinstance(found, Remark):
            printer.remark(found)
        else:
            printer.step(found)
    return printer.end()


class Printer:
    def __init__(self, args: argparse.Namespace, window: Window) -> None:
        self._args, self._window = args, window
        self._events, self._lines = 0, Counter[str]()
        self._differing: list[int] = []
        self._is_wrong = False

    def step(self, step: "Step") -> None:
        from restow.controller.explain import lines_of

        if not step.agrees:
            self._differing.append(step.line)
        if self._window.has(step.utc_s):
            self._events += 1
            self._print(lines_of(step))

    def remark(self, remark: "Remark") -> None:
        from restow.controller.explain import Line

        self._is_wrong |= remark.is_wrong
        words = f"{remark.file.name}: {remark.words}"
        if remark.is_wrong or remark.utc_s is None:
            note(words)
        elif self._window.has(remark.utc_s):
            self._print(iter([Line(0.0, "log", frozenset(), words, remark.utc_s)]))

    def end(self) -> int:
        counts = ", ".join(f"{kind} {self._lines[kind]:,}" for kind in KINDS if self._lines[kind])
        note(f"replayed {counted(self._events, 'event')}; lines: {counts or 'none'}")
        if self._differing:
            note(
                f"{len(self._differing)} of them had other effects than recorded, the first in line "
                f"{self._differing[0]}; another version of restow wrote the log, or it is damaged"
            )
        return 1 if self._differing or self._is_wrong else 0

    def _print(self, lines: Iterator["Line"]) -> None:
        for line in lines:
            self._lines[line.kind] += 1
            if (not self._args.only or line.kind in self._args.only) and _concerns(line, self._args.about):
                sys.stdout.write(_json(line) if self._args.json else _text(line))


def _concerns(line: "Line", name: str | None) -> bool:
    return name is None or name in line.names


def _text(line: "Line") -> str:
    time = f"{line.time_s:12.1f} s" if line.utc_s is None else shown(line.utc_s)
    return f"{time}  {line.kind:<10}  {line.words}\n"


def _json(line: "Line") -> str:
    clock = {} if line.utc_s is None else {"time": as_iso(line.utc_s)}
    about = {"kind": line.kind, "about": sorted(line.names), "words": line.words}
    return json.dumps({**clock, "time_s": line.time_s, **about}) + "\n"
