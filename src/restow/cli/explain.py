"""`restow explain`: why a partition or a consumer is as it is, and what would change it."""

import argparse
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.moments import moment
from restow.cli.support.options import Subparsers
from restow.cli.support.output import print_line, show
from restow.cli.support.picture_file import add_from
from restow.errors import InvalidInput, RestowError
from restow.model import FIRST_CONSUMER, ConsumerId, TopicPartition
from restow.text import clock

if TYPE_CHECKING:
    from restow.picture.picture import Decision, Picture

MOST_PICTURES: Final = 200
"""Pictures of the past that are read for their decisions: each has the last 20."""

DESCRIPTION = """\
Explains a partition or a consumer from the group's picture: why it is there, when it moved and why, and what would move
it next. It reads <prefix>-status, which has a day of history, so that it works wherever Kafka can be reached. Changes
nothing. `restow replay` explains older decisions from the controller's event log.
"""

EPILOG = """\
examples:
  restow explain orders-7              why this partition is where it is
  restow explain 3                     why consumer 3 exists, and when it would be closed
  restow explain --last                the last decision, with all its reasons
  restow explain --at 03:12            the group as it was at 03:12 UTC today (or yesterday), and the decision before it
  restow explain orders-7 --at 2026-03-01T03:12
  restow explain 3 --from group.json   in a picture that `restow status --json` or `restow simulate` wrote
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "explain", help="say why a partition or consumer is as it is", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("what", nargs="?", metavar="PARTITION|CONSUMER", help="like orders-7, or the number 3")
    parser.add_argument("--last", action="store_true", help="explain the last decision")
    parser.add_argument("--at", type=moment, metavar="TIME", help="as it was then: 03:12, or 2026-03-01T03:12, in UTC")
    add_from(parser)
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.what is None and not args.last and args.at is None:
        raise InvalidInput("name a partition like orders-7 or a consumer's number, or give --last or --at TIME")
    if args.picture_file is not None:
        return _in_file(args)
    settings = settings_of(args)
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.cli.support.group_screen import screen
    from restow.kafka.channels.status import StatusReader
    from restow.picture.parts import Assembler

    def known(reader: "StatusReader[Picture]", picture: "Picture") -> "tuple[Decision, ...]":
        """All decisions on the topic up to this picture, newest first."""
        found = list(picture.overview.decisions)
        for _ in range(MOST_PICTURES):
            if not found:
                break
            before = reader.as_of(_milliseconds(datetime.fromisoformat(found[-1].time)) - 1)
            older = [] if before is None else [each for each in before.overview.decisions if each.time < found[-1].time]
            if not older:
                break
            found += older
        return tuple(found)

    at = None if args.at is None else args.at.last_before(datetime.now(UTC))
    with StatusReader(settings, Assembler) as reader:
        picture = reader.newest() if at is None else reader.as_of(_milliseconds(at))
        if picture is None:
            when = "" if at is None else f" of {clock(at.isoformat())} or before; it goes back a day"
            raise RestowError(f"{settings.topics.status} has no picture{when}")
        decisions = known(reader, picture) if args.what is not None else picture.overview.decisions
    if at is not None and args.what is None:
        show(screen(picture, datetime.fromisoformat(picture.overview.time)))
    for line in _lines(args.what, picture, decisions):
        print_line(line)
    return 0


def _in_file(args: argparse.Namespace) -> int:
    if args.at is not None:
        raise InvalidInput("a file has one picture, and no history; leave out --at, or --from")
    from restow.cli.support.picture_file import read_snapshot

    picture = read_snapshot(args.picture_file).picture
    for line in _lines(args.what, picture, picture.overview.decisions):
        print_line(line)
    return 0


def _lines(what: str | None, picture: "Picture", decisions: "Sequence[Decision]") -> Iterator[str]:
    from restow.picture.explanation import explain_consumer, explain_decision, explain_partition

    if what is None:
        return explain_decision(decisions[0]) if decisions else iter(("this controller has not decided anything yet",))
    subject = _subject(what)
    if isinstance(subject, TopicPartition):
        return explain_partition(picture, decisions, subject)
    return explain_consumer(picture, decisions, subject)


def _subject(text: str) -> TopicPartition | ConsumerId:
    number = re.fullmatch(r"(?:consumer[ -])?([1-9][0-9]*)", text)
    return ConsumerId(max(FIRST_CONSUMER, int(number[1]))) if number else TopicPartition.parse(text)


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
