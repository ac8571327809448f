"""`restow restart N`: a consumer is restarted, once."""

import argparse

from restow.cli.support.config import CHANGE, add_change
from restow.cli.support.options import Subparsers, whole_number
from restow.errors import InvalidInput
from restow.model import ConsumerId

DESCRIPTION = f"""\
Has the controller restart a consumer gracefully: the consumer ends its cycle, reports its offsets, and reads the same
partitions again when it is back. Nothing is lost or stored twice. Several restarts are done one after the other. A
paused group carries them out too.

{CHANGE}"""

EPILOG = """\
The command records which process is to be replaced. A controller that reads the record again finds another process, and
restarts nothing.

examples:
  restow restart 3 --reason "stuck in a long garbage collection"
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("restart", help="restart a consumer", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("consumer", type=whole_number(1), metavar="N", help="the consumer's number")
    add_change(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.cli.support.desired import Desk
    from restow.cli.support.group_picture import consumer_in
    from restow.protocol.messages.desired import ConsumerRestart

    with Desk(args) as desk:
        consumer = ConsumerId(args.consumer)
        status = consumer_in(desk.known_picture("its process is not known"), consumer)
        if status.incarnation is None:
            raise InvalidInput(
                f"consumer {consumer} is {status.phase} and has no process yet; there is none to restart"
            )
        restart = ConsumerRestart(consumer, status.incarnation, **desk.author.fields())
        return desk.write(restart, f"restart consumer {consumer}")
