"""`restow down`: ends all processes of a group on this machine."""

import argparse

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.output import print_line

DESCRIPTION = """\
Ends the group's monitors and controllers on this machine, those of `restow up` among them, then its consumers:
SIGTERM, the grace period of restow.toml, SIGKILL. When it returns, none is running. Tables and the consumers' volumes
stay, so a new controller continues from there. Pods are left alone; the command that deletes them is printed.
"""

EPILOG = """\
restow.toml:
  [group]
  name = "orders"                  the group to end
  [processes]
  directory = "restow-data"        where its processes are recorded, relative to restow.toml
  [consumer]
  grace_s = 30.0
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "down", help="end all processes of a group on this machine", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.add_argument(
        "--volumes", action="store_true", help="also remove the consumers' volumes, with their state and logs"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from restow.metrics.targets import remove_dead, targets_directory
    from restow.platform.processes.ending import end_group, remove_volumes
    from restow.platform.processes.location import directory_of

    settings = settings_of(args)
    group, directory = settings.group.name, directory_of(settings)
    did_something = end_group(group, directory, settings.consumer.grace_s, print_line)
    if args.volumes:
        did_something |= remove_volumes(group, directory, print_line)
    remove_dead(targets_directory(settings))
    if not did_something:
        print_line(f"nothing of group {group} runs in {directory}")
    if settings.group.platform == "kubernetes":
        pods = f"kubectl delete deployment --cascade=foreground --selector restow/group={group}"
        print_line(f"its consumers are pods and still run; end its controller, then delete them: {pods}")
    return 0
