"""`restow consume --topics … --once`: the pipeline over what is there now, for trying a transform."""

import argparse
import logging
import os
import re

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers, list_of
from restow.cli.support.output import print_json
from restow.cli.support.stopping import Stop
from restow.cli.support.transforms_path import let_transforms_be_found
from restow.errors import InvalidInput
from restow.logs import configure
from restow.protocol.messages import TopicService
from restow.settings import Settings
from restow.text import counted

log = logging.getLogger(__name__)

DESCRIPTION = """\
Reads what is on some topics now, from where their tables stand, runs their transforms on Spark, writes their tables,
and ends. It is what the consumers of the group do, without a controller, so that a transform can be tried and a table
be filled by hand. A table refuses what others have stored already: nothing is stored twice.
"""

EPILOG = """\
restow.toml:
  [consume.orders]
  table = "lake/orders"              a Delta table
  transform = "shop.tables:orders"   DataFrame -> DataFrame; left out: the records as they are
  start = "earliest"                 or latest, or a time like 2026-03-01T12:00:00Z
  lineage = true                     rows have _topic, _partition, _offset and _timestamp
  on_gap = "go on"                   or "stop", when records were deleted before they were read
  from_group = "old-job"             go on from this group's offsets
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "consume", help="store what is on some topics now, and end", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.add_argument("--topics", required=True, type=list_of(str), metavar="A,B", help="topics of [consume.NAME]")
    parser.add_argument("--once", required=True, action="store_true", help="end when all that is there now is stored")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    services = {topic: service_of(settings, topic, args.config) for topic in args.topics}
    configure("consume", settings.log)
    let_transforms_be_found(args.config)
    stop = Stop()
    from restow.kafka.admin import Admin
    from restow.pipeline.assembly import NO_CONSUMER, spark_pipeline
    from restow.pipeline.run_once import run_once

    with Admin(settings.kafka) as admin:
        cluster = admin.cluster()
        for topic in args.topics:
            if topic not in cluster.leaders:
                raise InvalidInput(f"--topics {topic}: there is no such topic on {settings.kafka.bootstrap}")
        partitions = cluster.partitions_of(args.topics)
    pipeline = spark_pipeline(settings, "restow-consume", NO_CONSUMER, os.environ, log.info)
    try:
        done = run_once(settings, pipeline, partitions, services, lambda: stop.wait(0.0))
    finally:
        pipeline.close()
    if args.json:
        print_json({"records": done.records, "missed_records": done.missed_records, "whole": done.is_whole})
    else:
        did = "stored" if done.is_whole else "stopped after"
        log.info("%s %s in %s", did, counted(done.records, "record"), counted(done.cycles, "cycle"))
    return 0 if done.is_whole else 1


def service_of(settings: Settings, topic: str, config: object) -> TopicService:
    if topic in settings.consume:
        return settings.consume[topic]
    for name, service in settings.consume.items():
        if name.startswith("^") and re.fullmatch(name, topic):
            return service
    raise InvalidInput(f"--topics {topic}: {config} has no [consume.{topic}]; write one, with a table")
