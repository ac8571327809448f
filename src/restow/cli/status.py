"""`restow status`: the group on one screen, from anywhere that reaches Kafka."""

import argparse
from typing import Final

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.output import print_json, show
from restow.errors import RestowError

OUTAGE: Final = 1

DESCRIPTION = """\
Shows the group on one screen: every consumer with its load and lag, raised flags, the last decision with its reasons,
and what the controller waits for. It reads the picture that the controller publishes to <prefix>-status, so that it
works wherever Kafka can be reached. Changes nothing.
"""

EPILOG = """\
--json prints {"age_s", "outage", "overview", "consumers", "topics"}; docs/picture.md has every field.

The exit code is 0, or 1 if the picture is older than 30 s: then no controller publishes, and the group is as it was.
It needs the right Read on <prefix>-status.

examples:
  restow status
  restow status --config /etc/restow/orders.toml
  restow status --json | jq '.overview.flags'
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("status", help="show the group on one screen", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.cli.support.group_screen import age_s, screen
    from restow.kafka.channels.status import StatusReader
    from restow.picture.parts import Assembler, plain_picture
    from restow.picture.publication import OUTAGE_AFTER_S

    with StatusReader(settings, Assembler) as reader:
        picture = reader.newest()
    if picture is None:
        raise RestowError(
            f"{settings.topics.status} has no picture yet; does `restow controller` of group {settings.group.name} run?"
        )
    old_s = age_s(picture)
    if args.json:
        print_json({"age_s": round(old_s, 3), "outage": old_s > OUTAGE_AFTER_S, **plain_picture(picture)})
    else:
        show(screen(picture))
    return OUTAGE if old_s > OUTAGE_AFTER_S else 0
