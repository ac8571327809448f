"""`restow recommend on|off`: decisions are made and published, and carried out or not."""

import argparse

from restow.cli.support.config import CHANGE, add_change
from restow.cli.support.options import Subparsers

DESCRIPTION = f"""\
With `on`, the controller makes, explains and publishes every decision and carries none out: `restow explain --last`
shows what it would do. Partitions that no consumer reads are always recovered. With `off`, decisions are carried out.

{CHANGE}"""

EPILOG = """\
examples:
  restow recommend on --reason "first week in production"     also before the controller is started for the first time
  restow recommend off
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "recommend", help="only recommend decisions, or carry them out", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("state", choices=("on", "off"), help="whether decisions are only recommended")
    add_change(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.cli.support.desired import Desk
    from restow.protocol.messages.desired import RecommendOnly

    with Desk(args) as desk:
        what = "only recommend decisions" if args.state == "on" else "carry decisions out"
        return desk.write(RecommendOnly(args.state == "on", **desk.author.fields()), what)
