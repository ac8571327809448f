"""`restow pause` and `restow resume`: keep the group as it is for a while."""

import argparse
from datetime import UTC, datetime, timedelta

from restow.cli.support.config import CHANGE, add_change
from restow.cli.support.moments import moment
from restow.cli.support.options import Subparsers, duration
from restow.clock import as_iso
from restow.errors import InvalidInput

PAUSE = f"""\
Keeps the group as it is: nothing is scaled, moved for load or restarted with new settings. Partitions that no consumer
reads are always recovered: a consumer that crashes is replaced, and its partitions are read again.

{CHANGE}"""

PAUSE_EPILOG = """\
examples:
  restow pause --for 2h --reason "broker upgrade"
  restow pause --until 06:00                     of today, or of tomorrow if that has passed; times are UTC
  restow pause                                   until `restow resume`
"""

RESUME = f"""\
Ends a pause: the controller plans afresh.

{CHANGE}"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("pause", help="keep the group as it is", description=PAUSE, epilog=PAUSE_EPILOG)
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--until", type=moment, metavar="TIME", help="end it then: 06:00, or 2026-03-01T06:00, in UTC")
    end.add_argument("--for", dest="seconds", type=duration, metavar="TIME", help="end it after 90s, 30m or 2h")
    add_change(parser)
    parser.set_defaults(run=pause)
    parser = commands.add_parser("resume", help="end a pause", description=RESUME)
    add_change(parser)
    parser.set_defaults(run=resume)


def pause(args: argparse.Namespace) -> int:
    until = end_of(args)
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.cli.support.desired import Desk
    from restow.protocol.messages.desired import GroupPause

    with Desk(args) as desk:
        what = "pause until it is resumed" if until is None else f"pause until {until}"
        return desk.write(GroupPause(True, until, **desk.author.fields()), what)


def resume(args: argparse.Namespace) -> int:
    from restow.cli.support.desired import Desk
    from restow.protocol.messages.desired import GroupPause

    with Desk(args) as desk:
        return desk.write(GroupPause(False, **desk.author.fields()), "resume")


def end_of(args: argparse.Namespace) -> str | None:
    """The time of --until or --for, in UTC; None if neither is given. Raises InvalidInput if it has passed."""
    now = datetime.now(UTC)
    if args.seconds is not None:
        return as_iso((now + timedelta(seconds=args.seconds)).timestamp())
    if args.until is None:
        return None
    until: datetime = args.until.first_after(now)
    if until <= now:
        raise InvalidInput(f"--until is {as_iso(until.timestamp())}, which has passed; it is {as_iso(now.timestamp())}")
    return as_iso(until.timestamp())
