"""`restow status`: the group on one screen, from anywhere that reaches Kafka."""

import argparse
from typing import Final

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.output import print_json, show
from restow.cli.support.picture_file import add_from

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
  restow status --json > at-noon.json && restow status --from at-noon.json
  restow simulate --seed 7 --picture group.json && restow status --from group.json
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("status", help="show the group on one screen", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_from(parser)
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    # rich takes longer to load than most commands take to run, so only commands that draw load it.
    from restow.cli.support.group_picture import age_s, newest_picture
    from restow.cli.support.group_screen import screen
    from restow.cli.support.picture_file import Snapshot, read_snapshot

    if args.picture_file is not None:
        seen = read_snapshot(args.picture_file)
    else:
        picture = newest_picture(settings_of(args))
        seen = Snapshot(picture, age_s(picture))
    if args.json:
        print_json(seen.plain())
    else:
        show(screen(seen.picture, seen.now))
    return OUTAGE if seen.is_outage else 0
