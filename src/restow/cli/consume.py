"""`restow consume --topics … --once`: runs the pipeline over what is on the topics now, to try a transform."""

import argparse
import logging
import os

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers, list_of
from restow.cli.support.output import print_json
from restow.cli.support.stopping import Stop
from restow.cli.support.transforms_path import add_transforms_path
from restow.errors import InvalidInput
from restow.logs import configure
from restow.protocol.topic_names import NamesAndPatterns
from restow.protocol.topic_service import TopicService
from restow.scratch import temporary
from restow.settings import Settings
from restow.text import counted

log = logging.getLogger(__name__)

DESCRIPTION = """\
Reads what is on some topics now, from the offsets their tables have reached, runs the transforms on Spark, writes the
tables, and ends. It does what a consumer of the group does, without a controller: to try a transform, or to fill a
table by hand. The table refuses records that another consumer has stored, so nothing is stored twice.
"""

EPILOG = """\
restow.toml:
  [consume.orders]
  table = "lake/orders"              a Delta table
  transform = "shop.tables:orders"   DataFrame -> DataFrame; default: the records as they are
  format = "json"                    or avro, protobuf, text, bytes: the transform gets parsed columns
  schema = "orders.json"             the schema's file; or registry = "http://…", which has the schemas
  sql = "select id from records"     in place of a transform
  start = "earliest"                 or latest, or a time like 2026-03-01T12:00:00Z
  lineage = true                     rows have _topic, _partition, _offset and _timestamp
  on_gap = "go on"                   or "stop", when records were deleted before they were read
  on_bad_record = "reject"           into the table's dead letters, lake/orders_rejected; or skip, or stop
  from_group = "old-job"             start from this group's committed offsets
  cost = 1.5                         a byte is that much more work than the mean topic's; default: learned
  [log]
  format = "text"                    or "json", one object a line; lines go to stderr
  level = "info"                     or debug, warning, error

The exit code is 1 if it was stopped before all was stored.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "consume", help="store what is on some topics now", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.add_argument(
        "--topics", required=True, type=list_of(str), metavar="A,B", help="topics with a [consume.NAME]"
    )
    parser.add_argument("--once", required=True, action="store_true", help="end when all that is there now is stored")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    services = {topic: service_of(settings, topic, args.config) for topic in args.topics}
    configure("consume", settings.log)
    add_transforms_path(args.config)
    stop = Stop()
    from restow.kafka.admin import Admin
    from restow.pipeline.pipeline import NO_CONSUMER, spark_pipeline
    from restow.pipeline.run_once import run_once
    from restow.pipeline.spark.prepare import prepare_spark

    with Admin(settings.kafka) as admin:
        cluster = admin.cluster()
        for topic in args.topics:
            if topic not in cluster.leaders:
                raise InvalidInput(f"--topics {topic}: there is no such topic on {settings.kafka.bootstrap}")
        partitions = cluster.partitions_of(args.topics)
    prepare_spark()
    with temporary("consume"):
        pipeline = spark_pipeline(settings, "restow-consume", NO_CONSUMER, os.environ)
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
    name = NamesAndPatterns(settings.consume).entry_for(topic, is_restows=topic in settings.topics.names)
    if name is not None:
        return settings.consume[name].for_topic(topic)
    raise InvalidInput(f"--topics {topic}: {config} has no [consume.{topic}]; write one, with a table")
