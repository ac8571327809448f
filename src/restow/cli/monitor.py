"""`restow monitor`: measures how fast every partition of interest is written, and publishes it, until told to stop."""

import argparse
import logging
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.stopping import Stop
from restow.errors import InvalidInput
from restow.health import Health
from restow.logs import configure
from restow.settings import Settings

log = logging.getLogger(__name__)

DESCRIPTION = """\
Measures how fast every partition of the topics of interest is written, and publishes one record a measurement to the
topic <prefix>-monitor: JSON with bytes/s (the mean of the window, and filtered), records/s, the end offset and the size
on disk of each partition, and `estimated` where a figure is an estimate. Ctrl-C or SIGTERM ends it.
"""

EPILOG = """\
restow.toml:
  [kafka]
  bootstrap = "broker-1:9092,broker-2:9092"    any other key goes to every Kafka client: "sasl.username" = "restow"
  [consume.orders]                             what the group consumes is measured, also what is added while it runs
  [monitor]
  topics = ["orders", "^clicks-.*"]            what else: names, and regular expressions from ^ on
  sample_every_s = 1.0
  publish_every_s = 1.0
  window_s = 30.0                              what a raw speed is the mean of
  filter_threshold = 30.0                      how sure a change must be before the filtered speed jumps to it
  filter_smoothing_s = 6.0                     how slowly it follows what is no change but noise

It needs the rights Describe on the topics of interest, Describe on the cluster (for the sizes of logs; without it
speeds are estimated from the records, some of which are read for their size, for which Read on the topics of interest
is needed; they count as a consumer gets them, uncompressed), DescribeConfigs on the topics of interest
(to know the compacted ones; without it what compaction hides is not seen, and their speeds may be too low), Write on
<prefix>-monitor, Read on <prefix>-service, Describe on the other two topics of restow and on the group, and Create if
it is to make those topics. `restow manifests` lists what each role needs.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "monitor", help="measure how fast partitions are written", description=DESCRIPTION, epilog=EPILOG
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
    # Kafka's client takes longer to load than most commands to run: only who wants a monitor waits for it.
    from restow.roles.monitor import Monitor

    stop, signs = Stop(), Health(os.environ.get("RESTOW_SIGNS"))
    with recorded(settings), Monitor(settings, log.info) as monitor:
        log.info("measuring %s at %s", ", ".join(settings.topics_of_interest), settings.kafka.bootstrap)
        monitor.run(stop.wait, signs)
    return 0


def recorded(settings: Settings) -> AbstractContextManager[object]:
    """As part of a group, so that `restow down` ends it too. One that only measures is nobody's, and a pod is ended by
    its cluster."""
    if not settings.consume or settings.group.platform == "kubernetes":
        return nullcontext()
    from restow.platform.processes.roles import RunningRole

    return RunningRole(settings.group.name, Path(settings.processes.directory).absolute(), "monitor")
