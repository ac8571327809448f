"""`restow page`: the group in a browser."""

import argparse
import logging
import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.output import print_line
from restow.cli.support.recorded import recorded
from restow.cli.support.serving import serving
from restow.cli.support.stopping import Stop
from restow.health import Health
from restow.logs import configure
from restow.metrics.board import Board

log = logging.getLogger(__name__)

DESCRIPTION = """\
Serves the group as a page for the browser: consumers as bins that fill with their partitions, lag and load over the
last day, decisions with their reasons, flags, and a slider back through the day. It reads <prefix>-status, so that it
works wherever Kafka can be reached. Runs until Ctrl-C or SIGTERM.
"""

EPILOG = """\
Who may look, and who may change:
  The page listens on 127.0.0.1: everyone on this machine may look. To look from elsewhere, tunnel to it:
    ssh -L 8642:127.0.0.1:8642 this-machine
  To pause, resume or recommend, the page asks for the group's token. It is made once and kept in a file that only you
  can read. On a terminal the address is printed with the token behind a #, which browsers don't send to any server;
  elsewhere the log has the address and the file's name, since logs have many readers.
  With --host and another address than loopback, looking needs the token too. The page speaks HTTP: put a proxy with TLS
  in front of it if you don't trust the network.

Rights in Kafka: Read on <prefix>-status, and Describe on the group; Read on <prefix>-monitor for the load in times
without a controller; for pause, resume and recommend, Write on <prefix>-service.

examples:
  restow page
  restow page --open
  restow page --port 0 --config /etc/restow/orders.toml
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("page", help="show the group in a browser", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--port", type=_port, help="instead of [page] port; 0 takes any free one")
    parser.add_argument("--free-port", action="store_true", help="if the port is in use, take any free one")
    parser.add_argument("--host", help="the address to listen on, instead of [page] host")
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="the token, if this file exists, instead of [page] token_file"
    )
    parser.add_argument("--open", action="store_true", help="open the page in this machine's browser")
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    given = {name: value for name, value in (("port", args.port), ("host", args.host)) if value is not None}
    settings = replace(settings, page=replace(settings.page, **given))
    configure("page", settings.log)
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.page.app import Page
    from restow.page.server import address_of, bound, serve
    from restow.page.token import token_for

    token, file = token_for(settings, args.token_file)
    stop, health = Stop(), Health(os.environ.get("RESTOW_SIGNS"))
    board = Board("page", settings.group.name)
    with ExitStack() as ending:
        listening = ending.enter_context(bound(settings.page.host, settings.page.port, or_free=args.free_port))
        should_stop = recorded("page", settings, stop.wait, ending)
        address = address_of(listening)
        if sys.stdout.isatty():
            print_line(f"the page of group {settings.group.name}: {address}#token={token}")
        else:
            log.info("the page of group %s: %s (the token for actions is in %s)", settings.group.name, address, file)
        if args.open:
            import webbrowser

            webbrowser.open(address)  # without the token: other users could see it in the list of processes
        ending.enter_context(serving(settings, board, health))
        serve(Page(settings, token, settings.page.host), listening, should_stop, health, board)
    return 0


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port; it must be a number from 0 to 65535")
    return int(text)
