"""`restow down`: ends everything of a group that runs on this machine."""

import argparse
import sys
from pathlib import Path

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers

DESCRIPTION = """\
Ends the group's controllers and monitors on this machine, then its consumers: each gets SIGTERM, the grace time of
restow.toml, then SIGKILL. Nothing is left running when it returns. What the consumers stored stays, and so do their
volumes; a controller that is started again goes on from there. Consumers that are pods are left alone, and it is said
how to take them away.
"""

EPILOG = """\
restow.toml:
  [group]
  name = "restow"                  whose processes are ended
  [processes]
  directory = "restow-data"        where they are recorded, relative to where this command is run
  [consumer]
  grace_s = 30.0
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "down", help="end everything of a group on this machine", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.add_argument(
        "--volumes", action="store_true", help="also remove the consumers' directories, with their state and logs"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from restow.platform.processes.ending import end_group, remove_volumes

    settings = settings_of(args)
    group, directory = settings.group.name, Path(settings.processes.directory)
    did_something = end_group(group, directory, settings.consumer.grace_s, say)
    if args.volumes:
        did_something |= remove_volumes(group, directory, say)
    if not did_something:
        say(f"nothing of group {group} runs in {directory}")
    if settings.group.platform == "kubernetes":
        pods = f"kubectl delete deployment --cascade=foreground --selector restow/group={group}"
        say(f"its consumers are pods, and go on; when no controller runs any more: {pods} (docs/kubernetes.md)")
    return 0


def say(line: str) -> None:
    """At once: a person may wait for the next line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
