"""`restow consumer`: one member of the group. Reads and stores its assigned partitions until it is stopped."""

import argparse
import logging
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.serving import serving
from restow.cli.support.stopping import Stop
from restow.errors import InvalidInput
from restow.health import Health
from restow.logs import configure
from restow.metrics.board import Board
from restow.model import ConsumerId
from restow.scratch import VARIABLE, take
from restow.settings import Settings

if TYPE_CHECKING:
    from restow.consumer.pipeline import Pipeline, Plans
    from restow.protocol.platform_identity import PlatformIdentity

log = logging.getLogger(__name__)

DESCRIPTION = """\
Runs one consumer of the group. It reports that it is ready, reads the partitions that the controller assigns to it,
runs the transforms, writes the tables, and answers each command. The controller starts consumers; you don't have to.
Ctrl-C or SIGTERM stops it cleanly: it finishes its cycle, reports its offsets, and gives its partitions back.
"""

EPILOG = """\
restow.toml:
  [group]
  name = "restow"              also the consumer group in Kafka; the consumer's name starts with it
  [consumer]
  cycle_s = 1.0                seconds between two cycles while it keeps up
  longest_cycle_s = 10.0       a cycle of a backlog takes at most about this long,
  cycle_bytes = 256000000      and at most about this much
  report_every_s = 5.0
  grace_s = 30.0               time to finish after SIGTERM
  pipeline = "spark"           or "light": SQLite tables without Spark, for trials
  [spark]
  master = "local[2]"          default: local, with as many threads as the consumer has cores
  spark.sql.ansi.enabled = true, or any other property of Spark
  [log]
  format = "text"              or "json", one object a line; lines go to stderr
  level = "info"               or debug, warning, error

Modules with transforms are imported from the directory of restow.toml first, then as Python usually does.

Rights in Kafka (`restow manifests` lists those of every role):
  Read            on the topics it consumes, on the group, on <prefix>-query
  Read and Write  on <prefix>-controller
  Describe        on <prefix>-monitor and <prefix>-service
  Create          on restow's topics, unless they exist
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
        help="its name; N is its partition of the controller topic",
    )
    parser.add_argument(
        "--volume", required=True, type=Path, metavar="DIR", help="its directory, which outlives the process"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    consumer = number_in(args.name, settings.group.name)
    configure(f"consumer-{consumer}", settings.log)
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.consumer.volume import Volume
    from restow.kafka.channels.consumer import Mailbox
    from restow.roles import respawn
    from restow.roles.consumer import ConsumerProcess

    if settings.consumer.pipeline == "light" and respawn.is_first_of_container():
        import restow.pipeline.light.pipeline  # noqa: F401  loaded once, for every fork

        if (code := respawn.respawning()) is not None:
            return code
        settings = settings_of(args)  # they may have changed since the container started
    stop, health = Stop(), Health(os.environ.get("RESTOW_SIGNS"))
    board = Board("consumer", settings.group.name, consumer)
    sender = f"{args.name}@{socket.gethostname()}:{os.getpid()}"
    with (
        Volume(args.volume, settings.group.name, consumer, os.environ.get("RESTOW_CREATION", "")) as volume,
        Mailbox(settings, consumer, sender) as mailbox,
        serving(settings, board, health),  # after the volume's lock: one process of a consumer is served at a time
    ):
        take(scratch_of(args.name, args.volume))  # the volume's lock keeps other processes of this consumer away
        pipeline = pipeline_of(settings, args, volume)
        try:
            platform = platform_of(settings, args.volume)
            ConsumerProcess(settings, consumer, volume, pipeline, mailbox, health, stop.wait, platform, board).run()
        finally:
            pipeline.close()
    return 0


def platform_of(settings: Settings, volume: Path) -> "PlatformIdentity | None":
    """Where it runs: the directory of the volumes on this machine, or what the controller wrote into the pod."""
    if settings.group.platform == "kubernetes":
        from restow.platform.kubernetes.names import platform_in

        return platform_in(os.environ)
    from restow.platform.processes.identity import identity_of

    return identity_of(volume.absolute().parent)


def pipeline_of(settings: Settings, args: argparse.Namespace, plans: "Plans") -> "Pipeline":
    from restow.cli.support.local_modules import local_modules
    from restow.cli.support.transforms_path import add_transforms_path

    add_transforms_path(args.config)
    code = local_modules(settings, args.config, os.environ).digest
    if settings.consumer.pipeline == "light":
        from restow.pipeline.light.pipeline import LightPipeline

        return LightPipeline(settings, code)
    from restow.pipeline.pipeline import spark_pipeline

    consumer = number_in(args.name, settings.group.name)
    return spark_pipeline(settings, args.name, consumer, os.environ, plans, code)


def scratch_of(name: str, volume: Path) -> Path:
    """On the volume, unless the platform has another place: a pod's volume is small, and may be far away."""
    given = os.environ.get(VARIABLE)
    return (Path(given, name) if given else volume / "scratch").absolute()


def number_in(name: str, group: str) -> ConsumerId:
    found = re.fullmatch(rf"{re.escape(group)}-consumer-([1-9][0-9]{{0,8}})", name)
    if found is None:
        raise InvalidInput(f"--name {name} can't be used; it must be {group}-consumer-N, where N is a number from 1 on")
    return ConsumerId(int(found[1]))
