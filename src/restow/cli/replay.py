"""`restow replay FILE`: runs a controller's event log through the same machine again and explains each step."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from restow.cli.support.options import Subparsers
from restow.cli.support.output import note
from restow.errors import InvalidInput
from restow.text import counted

if TYPE_CHECKING:
    from restow.controller.explain import Line

DESCRIPTION = """\
Runs the event log of a `restow controller` through the same state machine again and prints what happened, what was
decided, and why. Each step must produce the effects that are recorded; if one doesn't, that is reported and the exit
code is 1.
"""

EPILOG = """\
examples:
  restow replay events.jsonl                     transitions, decisions with their reasons, flags, commands
  restow replay events.jsonl --only decision     decisions alone
  restow replay events.jsonl --about orders-7    lines about one partition or consumer ("consumer 3")
  restow replay events.jsonl --json              one object a line, for other tools
"""

KINDS = ("transition", "decision", "flag", "consumer", "command", "platform")


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "replay", help="explain a controller's event log", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="an event log")
    parser.add_argument("--only", choices=KINDS, action="append", help="only lines of this kind; can be repeated")
    parser.add_argument("--about", metavar="NAME", help="only lines about this partition or consumer")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    try:
        return _replay(args)
    except InvalidInput as error:
        raise InvalidInput(f"{args.file}: {error}") from None


def _replay(args: argparse.Namespace) -> int:
    from restow.controller.event_log import replay
    from restow.controller.explain import lines_of

    events, lines = 0, Counter[str]()
    differing: list[int] = []
    for step in replay(_lines(args.file)):
        events += 1
        if not step.agrees:
            differing.append(step.line)
        for line in lines_of(step):
            lines[line.kind] += 1
            if (not args.only or line.kind in args.only) and _concerns(line, args.about):
                sys.stdout.write(
                    _json(line) if args.json else f"{line.time_s:12.1f} s  {line.kind:<10}  {line.words}\n"
                )
    counts = ", ".join(f"{kind} {lines[kind]:,}" for kind in KINDS if lines[kind])
    note(f"replayed {counted(events, 'event')}; lines: {counts or 'none'}")
    if differing:
        note(
            f"{len(differing)} of them had other effects than recorded, the first in line {differing[0]}; "
            "another version of restow wrote the log, or it is damaged"
        )
    return 1 if differing else 0


def _concerns(line: "Line", name: str | None) -> bool:
    return name is None or name in line.names


def _json(line: "Line") -> str:
    return (
        json.dumps({"time_s": line.time_s, "kind": line.kind, "about": sorted(line.names), "words": line.words}) + "\n"
    )


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8") as lines:
            yield from lines
    except OSError as error:
        raise InvalidInput(
            f"can't be read ({(error.strerror or 'unknown').lower()}); it must be an event log"
        ) from None
    except UnicodeDecodeError:
        raise InvalidInput("this is not UTF-8 text; an event log is lines of JSON") from None
