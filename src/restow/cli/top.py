"""`restow top`: the group on one screen, live."""

import argparse
import sys
import time
from typing import Final

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.errors import InvalidInput

REDRAW_EVERY_S: Final = 1.0
"""Ages grow also while no picture arrives."""
KEY_WITHIN_S: Final = 0.1

DESCRIPTION = """\
Shows the group on one screen, as `restow status` does, and follows it: consumers with their load and lag, flags, the
last decision with its reasons, and what the controller waits for. It reads <prefix>-status, so that it works wherever
Kafka can be reached. Changes nothing.
"""

EPILOG = """\
keys:
  up, down, k, j     scroll through the consumers
  page up, page down, space, home, end, g, G
  q, Esc, Ctrl-C     quit

examples:
  restow top
  restow top --config /etc/restow/orders.toml
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("top", help="watch the group live", description=DESCRIPTION, epilog=EPILOG)
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput("restow top needs a terminal; `restow status` prints the group once")
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from restow.cli.support.group_screen import lines_beside_consumers, screen
    from restow.cli.support.keys import pressed, single_keys
    from restow.cli.support.scroll import Scroll
    from restow.kafka.channels.status import StatusReader
    from restow.picture.parts import Assembler

    console = Console(markup=False, emoji=False, highlight=False)
    scroll = Scroll()
    waiting = Text(f"waiting for the first picture on {settings.topics.status}; does `restow controller` run?")
    with StatusReader(settings, Assembler) as reader, single_keys():
        reader.newest()
        with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
            due_s = 0.0
            while True:
                changed = reader.follow(0.0)
                key = pressed(KEY_WITHIN_S)
                if key == "quit":
                    return 0
                picture = reader.picture
                if picture is not None:
                    room = console.size.height - lines_beside_consumers(picture)
                    changed = scroll.moved(key, len(picture.consumers), room) or changed
                if changed or time.monotonic() >= due_s:
                    due_s = time.monotonic() + REDRAW_EVERY_S
                    live.update(waiting if picture is None else screen(picture, shown=scroll.shown), refresh=True)
