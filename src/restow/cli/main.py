"""Reads the command line, runs the command, and turns an error into one line and an exit code."""

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from restow import __version__
from restow.cli.support.options import Parser, under
from restow.errors import RestowError
from restow.logs import to_terminal

log = logging.getLogger(__name__)

DESCRIPTION = """\
restow keeps a Kafka consumer group exactly as large as its load needs: it measures how fast every partition is written,
packs the partitions onto as few consumers as can carry them, and moves one only when that pays.
"""
EPILOG = """\
`restow COMMAND --help` explains each command. `restow demo` shows all of it in four minutes.
"""
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "begin": ("demo", "advise", "init", "check", "consume"),
    "run a group": ("up", "down", "monitor", "controller", "consumer", "reload", "manifests"),
    "look at a group": ("status", "top", "explain", "plan", "page", "rejected", "replay", "record"),
    "change a running group": ("pause", "recommend", "topics", "consumers", "restart", "move"),
    "try and measure": ("simulate", "backtest", "study", "bench", "broker"),
}
"""The modules of commands, by what people do, as `restow --help` shows them."""
INTERRUPTED = 130
BROKEN_PIPE = 141


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """Of all commands, or of those in the module `only`: to import the modules of all takes as long as a consumer's
    start."""
    root = Parser(prog="restow", description=DESCRIPTION, epilog=EPILOG)
    root.add_argument("--version", action="version", version=f"restow {__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for heading, modules in COMMANDS.items():
        with under(heading, commands):
            for module in modules:
                if only in (None, module):
                    importlib.import_module(f"restow.cli.{module}").add(commands)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    named = {module for modules in COMMANDS.values() for module in modules}.intersection(words[:1])
    args = parser(*named).parse_args(words)
    with to_terminal():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except RestowError as error:
        log.error("%s", error)
        return error.exit_code
    except KeyboardInterrupt:
        log.error("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) closed the pipe. Without this, Python would fail again as it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return code
