"""Reads the command line, runs the command, and turns an error into one line and an exit code."""

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from restow import __version__
from restow.cli import (
    bench,
    broker,
    check,
    consume,
    consumer,
    controller,
    demo,
    down,
    explain,
    manifests,
    monitor,
    page,
    plan,
    record,
    reload,
    replay,
    simulate,
    status,
    study,
    top,
    up,
)
from restow.cli.support.options import Parser
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
COMMANDS = (
    demo,
    check,
    consume,
    up,
    monitor,
    controller,
    consumer,
    status,
    top,
    explain,
    page,
    manifests,
    reload,
    down,
    replay,
    record,
    simulate,
    plan,
    study,
    bench,
    broker,
)
INTERRUPTED = 130
BROKEN_PIPE = 141


def parser() -> argparse.ArgumentParser:
    root = Parser(prog="restow", description=DESCRIPTION, epilog=EPILOG)
    root.add_argument("--version", action="version", version=f"restow {__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    args = parser().parse_args(arguments)
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
