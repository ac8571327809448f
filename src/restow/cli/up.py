"""`restow up`: the monitor, the controller and the page of a group on this machine, together."""

import argparse
import logging
import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.output import print_line
from restow.cli.support.stopping import Stop
from restow.durable import LineWriter
from restow.errors import InvalidInput
from restow.logs import configure, painted
from restow.text import counted, listed

if TYPE_CHECKING:
    from restow.cli.support.local_group import LocalGroup

log = logging.getLogger(__name__)

DESCRIPTION = """\
Runs a group on this machine: its monitor, its controller, which starts consumers as the load needs them, and, unless
[page] enabled = false, its page, whose address is in the log. Shows their logs as one stream. While the brokers don't
answer, it waits for them.

Ctrl-C or SIGTERM ends the page, the controller, then the monitor. Consumers outlive them: they keep reading their
partitions, until `restow down` ends them or the next `restow up` continues with them.

A role that ends by itself is started again, after 0.5 s and then with growing pauses, up to 30 s. If this command is
killed, all its roles end too.
"""

EPILOG = """\
Lines go to stderr, the role in colour on a terminal (unless NO_COLOR is set). With [log] format = "json" every line is
one object.

With --detach it returns at once, and the roles run in the background, with their log in the directory of
[processes]: GROUP-up/up.log, and up.log.1 with what came before. `restow down` ends them and the consumers.

With platform = "kubernetes" these roles run here, and consumers as pods. To run the roles as pods as well,
see `restow manifests`; as services of this machine, deploy/systemd.

The exit code is 0 after a stop signal, 1 if the group is up already, and 2 if restow.toml can't be used.

examples:
  restow up
  restow up --config /srv/lake/restow.toml
  restow up --detach && restow status
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "up", help="run a group's monitor, controller and page", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.add_argument("--detach", action="store_true", help="run in the background, with the log in a file")
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)  # how --detach starts itself
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    if not settings.consume:
        raise InvalidInput(f"{args.config}: there is nothing to consume; write a table [consume.TOPIC] for each topic")
    # It reads /proc, which only Linux has.
    from restow.cli.support.local_group import LocalGroup

    group = LocalGroup(settings, args.config)
    return _detach(group) if args.detach else _run(group, is_detached=args.detached)


def _run(group: "LocalGroup", *, is_detached: bool) -> int:
    from restow.platform.processes.roles import UP, RunningRole
    from restow.roles.together import Together

    settings, stop = group.settings, Stop()
    in_colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    with ExitStack() as ending:
        sole = group.alone(ending)
        configure(UP, settings.log, in_colour=in_colour)
        running = ending.enter_context(RunningRole(group.name, group.directory, UP))
        shown = Shown(sys.stderr.fileno(), in_colour=in_colour)
        log.info("starting the %s of group %s", listed(group.roles), group.name)
        with Together(group.commands, shown, sole.remember, settings.consumer.grace_s) as together:
            should_stop = running.while_recorded(stop.wait)
            code = together.run(should_stop, group.rotate_log if is_detached else lambda: None)
            log.info("ending the %s", listed(group.roles[::-1]))
        log.info("the %s have ended; %s", listed(group.roles), group.what_goes_on())
    return code


class Shown:
    """Shows the lines of roles. A full disk under a log file ends nothing: lines that it doesn't take are counted."""

    def __init__(self, descriptor: int, *, in_colour: bool) -> None:
        self._descriptor, self._in_colour = descriptor, in_colour
        self._lines, self._lost = LineWriter(), 0

    def __call__(self, line: str) -> None:
        try:
            self._lines.append(self._descriptor, painted(line) if self._in_colour else line)
        except BrokenPipeError:  # nothing reads any more, and the command ends
            raise
        except OSError:
            self._lost += 1
            return
        if self._lost:
            log.warning("%s before this one could not be written; was the disk full?", counted(self._lost, "log line"))
            self._lost = 0


def _detach(group: "LocalGroup") -> int:
    with ExitStack() as ending:
        group.alone(ending)
    started = group.start_detached()
    if (code := started.exit_code()) is not None:
        sys.stderr.write(started.lines())
        return code
    print_line(f"group {group.name} is up: process {started.pid} runs its {listed(group.roles)}")
    print_line(f"its log is {group.log_file}")
    print_line(f"`{group.named('status')}` shows the group; `{group.named('down')}` ends it, with its consumers")
    return 0
