"""`restow consumer`: reads the partitions it is told and stores them, until it is told to end."""

import argparse
import logging
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.stopping import Stop
from restow.errors import InvalidInput
from restow.health import Health
from restow.logs import configure
from restow.model import ConsumerId
from restow.settings import Settings

if TYPE_CHECKING:
    from restow.consumer.pipeline import Pipeline, Plans

log = logging.getLogger(__name__)

DESCRIPTION = """\
Runs one consumer of the group: it tells the controller that it is ready, reads the partitions it is told, stores what
becomes of them, and answers. The controller starts as many as are needed; nobody else has to. Ctrl-C or SIGTERM ends it
cleanly: it finishes its cycle, tells where it stopped, and the next process begins with nothing.
"""

EPILOG = """\
restow.toml:
  [group]
  name = "restow"              Kafka's name of the group; the consumer's name starts with it
  [consumer]
  cycle_s = 1.0                a cycle takes no longer than this, and about so much at most:
  cycle_bytes = 32000000
  report_every_s = 5.0
  grace_s = 30.0               time to end when it is told to
  pipeline = "spark"           or "light": stores records in SQLite, for trials without Spark
  [spark]
  master = "local[2]"          left out: local, with as many threads as the consumer has cores
  spark.sql.ansi.enabled = true, or any other property of Spark

Modules with transforms are looked for beside restow.toml, then where Python looks.

It needs the rights Read on the topics it is told and on its group, Read and Write on <prefix>-controller, Read on
<prefix>-query, Describe on the other two topics of restow, and Create if it is to make them. `restow manifests` lists
what each role needs.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "consumer", help="run one consumer of the group", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.add_argument(
        "--name",
        required=True,
        metavar="GROUP-consumer-N",
        help="who it is; N is its partition of the controller topic",
    )
    parser.add_argument(
        "--volume", required=True, type=Path, metavar="DIR", help="its own directory, which outlives the process"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    consumer = number_in(args.name, settings.group.name)
    configure(f"consumer-{consumer}", settings.log)
    # Kafka's client takes longer to load than most commands to run: only who wants a consumer waits for it.
    from restow.consumer.volume import Volume
    from restow.kafka.channels.consumer import Mailbox
    from restow.roles.consumer import ConsumerProcess

    stop, signs = Stop(), Health(os.environ.get("RESTOW_SIGNS"))
    sender = f"{args.name}@{socket.gethostname()}:{os.getpid()}"
    with (
        Volume(args.volume, settings.group.name, consumer, log.info, os.environ.get("RESTOW_CREATION", "")) as volume,
        Mailbox(settings, consumer, sender, log.info) as mailbox,
    ):
        pipeline = pipeline_of(settings, args, volume)
        try:
            ConsumerProcess(settings, consumer, volume, pipeline, mailbox, signs, log.info, stop.wait).run()
        finally:
            pipeline.close()
    return 0


def pipeline_of(settings: Settings, args: argparse.Namespace, plans: "Plans") -> "Pipeline":
    if settings.consumer.pipeline == "light":
        from restow.pipeline.light.pipeline import LightPipeline

        return LightPipeline(settings, log.info)
    from restow.cli.support.transforms_path import let_transforms_be_found
    from restow.pipeline.assembly import spark_pipeline

    let_transforms_be_found(args.config)
    consumer = number_in(args.name, settings.group.name)
    return spark_pipeline(settings, args.name, consumer, os.environ, log.info, plans)


def number_in(name: str, group: str) -> ConsumerId:
    found = re.fullmatch(rf"{re.escape(group)}-consumer-([1-9][0-9]{{0,8}})", name)
    if found is None:
        raise InvalidInput(
            f"--name {name} can't be used; it must be {group}-consumer-N, with the consumer's number from 1 on"
        )
    return ConsumerId(int(found[1]))
