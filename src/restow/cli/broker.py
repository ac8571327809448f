"""`restow broker`: Apache Kafka with one to three nodes on this machine, until it is stopped."""

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from restow.cli.support.options import Subparsers, whole_number
from restow.cli.support.stopping import interrupt_on_stop_signals

LOOK_EVERY_S = 0.5

DESCRIPTION = """\
Starts Apache Kafka on this machine, listening on loopback only, and prints its address when it is ready. Runs until
Ctrl-C or SIGTERM. No node outlives this command, however it ends.
"""

EPILOG = """\
It needs Java 17 or newer. Kafka's jars are fetched once into ~/.cache/restow (or $RESTOW_CACHE); after that it starts
without a network.

examples:
  restow broker
  restow broker --nodes 3 --data kafka-data --port 9092
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "broker", help="Apache Kafka on this machine, for trials", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument(
        "--nodes",
        type=whole_number(1),
        default=1,
        metavar="N",
        help="1 to 3; three have replicas and leader changes (default: 1)",
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="keep the data here for the next start (default: temporary)"
    )
    parser.add_argument(
        "--port",
        type=whole_number(1),
        metavar="P",
        help="first node's port; the others follow (default: free ones)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.kafka.embedded.broker import EmbeddedKafka

    interrupt_on_stop_signals()
    try:
        with EmbeddedKafka(args.nodes, data=args.data, port=args.port) as kafka:
            announce(kafka.bootstrap, kafka.logs, args.data)
            while True:
                time.sleep(LOOK_EVERY_S)
                kafka.check()
    except KeyboardInterrupt:
        return 0


def announce(bootstrap: str, logs: Iterable[Path], data: Path | None) -> None:
    lines = [f"bootstrap  {bootstrap}", *(f"log        {log}" for log in logs)]
    lines.append(f"data       {data.resolve()}" if data else "data       temporary, removed when it stops")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
