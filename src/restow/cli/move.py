"""`restow move TOPIC-PARTITION N`: pins a partition to a consumer for a while."""

import argparse
from datetime import UTC, datetime, timedelta
from typing import Final

from restow.cli.pause import end_of
from restow.cli.support.config import CHANGE, add_change
from restow.cli.support.moments import moment
from restow.cli.support.options import Subparsers, duration, whole_number
from restow.clock import as_iso
from restow.errors import InvalidInput
from restow.model import ConsumerId, TopicPartition

PINNED_FOR: Final = timedelta(hours=1)

DESCRIPTION = f"""\
Moves a partition to a consumer and pins it there: no plan moves it for load until the pin ends. The pin is refused if
it would overload the consumer; an earlier pin of the partition then stays in force. A paused group carries it out too.
If the consumer is lost, its partitions are recovered elsewhere, pinned ones included.

{CHANGE}"""

EPILOG = """\
examples:
  restow move orders-7 3                          for an hour
  restow move orders-7 3 --for 8h --reason "hot customer, watched by anna"
  restow move orders-7 --unpin                    ends the pin; the partition stays there until a plan moves it
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "move", help="move a partition, and pin it there for a while", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("partition", metavar="TOPIC-PARTITION", help="like orders-7")
    parser.add_argument("consumer", nargs="?", type=whole_number(1), metavar="N", help="the consumer's number")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--until", type=moment, metavar="TIME", help="pin it until then: 06:00, in UTC")
    end.add_argument(
        "--for", dest="seconds", type=duration, metavar="TIME", help="pin it for 90s, 30m or 2h (default: 1h)"
    )
    end.add_argument("--unpin", action="store_true", help="end the pin")
    add_change(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.unpin == (args.consumer is not None):
        raise InvalidInput("name the consumer's number to move the partition to it, or give --unpin")
    partition = TopicPartition.parse(args.partition)
    until = None if args.unpin else end_of(args) or as_iso((datetime.now(UTC) + PINNED_FOR).timestamp())
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.cli.support.desired import REFUSED, Desk
    from restow.cli.support.group_picture import check_partition, consumer_in
    from restow.protocol.messages.desired import PartitionPin

    with Desk(args) as desk:
        if args.unpin:
            return desk.write(PartitionPin(partition, None, **desk.author.fields()), f"unpin {partition}")
        consumer = ConsumerId(args.consumer)
        picture = desk.known_picture("its consumers are not known")
        check_partition(picture, partition)
        consumer_in(picture, consumer)
        pin = PartitionPin(partition, consumer, until, **desk.author.fields())
        code = desk.write(pin, f"move {partition} to consumer {consumer}, pinned until {until}")
        if code == REFUSED:
            desk.withdraw(pin)
        return code
