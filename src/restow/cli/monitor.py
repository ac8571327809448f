"""`restow monitor`: measures the write speed of every partition of interest and publishes it until it is stopped."""

import argparse
import logging
import os
from contextlib import ExitStack

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.recorded import recorded
from restow.cli.support.serving import serving
from restow.cli.support.stopping import Stop
from restow.errors import InvalidInput
from restow.health import Health
from restow.logs import configure
from restow.metrics.board import Board

log = logging.getLogger(__name__)

DESCRIPTION = """\
Measures how fast every partition of the topics of interest is written. Publishes each measurement as one JSON record to
the topic <prefix>-monitor: per partition bytes/s (mean over the window, and filtered), records/s, end offset, size on
disk, and whether a figure is estimated. Runs until Ctrl-C or SIGTERM.
"""

EPILOG = """\
restow.toml:
  [kafka]
  bootstrap = "broker-1:9092,broker-2:9092"    any other key is passed to every Kafka client: "sasl.username" = "restow"
  [consume.orders]                             topics of the group are measured, also those added while it runs
  [monitor]
  topics = ["orders", "^clicks-.*"]            further topics: names, or regular expressions that start with ^
  sample_every_s = 1.0
  publish_every_s = 1.0
  window_s = 30.0                              the raw speed is the mean over this window
  filter_threshold = 30.0                      how much evidence of a change makes the filtered speed jump
  filter_smoothing_s = 6.0                     how slowly the filtered speed follows noise
  [log]
  format = "text"                              or "json", one object a line; lines go to stderr
  level = "info"                               or debug, warning, error

Rights in Kafka (`restow manifests` lists those of every role):
  Describe         on the topics of interest, on the group, on <prefix>-controller and <prefix>-query
  Describe         on the cluster, for the sizes of logs. Without it, speeds are estimated from records read for their
                   size, which takes Read on the topics of interest; records count uncompressed, as consumers get them
  DescribeConfigs  on the topics of interest, to find the compacted ones. Without it, their speeds may be too low
  Write            on <prefix>-monitor
  Read             on <prefix>-service
  Create           on restow's topics, unless they exist
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "monitor", help="measure the write speed of partitions", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    if not settings.topics_of_interest:
        raise InvalidInput(
            f"{args.config}: monitor.topics is empty, and there is no [consume.TOPIC]; name a topic or a pattern, like "
            '["^orders-.*"]'
        )
    configure("monitor", settings.log)
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.roles.monitor import Monitor

    stop, health = Stop(), Health(os.environ.get("RESTOW_SIGNS"))
    board = Board("monitor", settings.group.name)
    with ExitStack() as ending:
        ending.enter_context(serving(settings, board, health))
        should_stop = recorded("monitor", settings, stop.wait, ending)
        monitor = ending.enter_context(Monitor(settings, board))
        log.info("measuring %s at %s", ", ".join(settings.topics_of_interest), settings.kafka.bootstrap)
        monitor.run(should_stop, health)
    return 0
