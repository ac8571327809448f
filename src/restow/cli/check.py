"""`restow check`: checks restow.toml and tries its transforms on the newest records of their topics."""

import argparse
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.output import note, print_line
from restow.cli.support.transforms_path import add_transforms_path
from restow.errors import InvalidInput, RestowError
from restow.protocol.topic_names import NamesAndPatterns, topics_of_groups
from restow.scratch import temporary
from restow.settings import Settings

if TYPE_CHECKING:
    from restow.model import TopicPartition

DESCRIPTION = """\
Reads restow.toml, imports every transform, and runs it on Spark over the newest records of its topics, or over an empty
DataFrame if there are none or no broker answers. Nothing is stored. Prints one line for each [consume.NAME]: what the
rows look like, or what is wrong, with file, key and reason. The exit code is 1 if a transform fails, and 2 if
restow.toml can't be read.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("check", help="check restow.toml and try its transforms", description=DESCRIPTION)
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    add_transforms_path(args.config)
    if not settings.consume:
        raise InvalidInput(f"{args.config}: there is no [consume.NAME], so nothing is consumed; write one")
    from restow.pipeline.check import Checker
    from restow.pipeline.spark.prepare import prepare_spark

    prepare_spark()
    topics = topics_of(settings)
    restows = topics_of_groups(partition.topic for partition in topics).union(settings.topics.names)
    with ExitStack() as ending:
        ending.enter_context(temporary("check"))
        checker, wrong = Checker(settings), 0
        ending.callback(checker.close)
        for name, service in settings.consume.items():
            key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'
            place = f"{args.config}: [consume.{key}]"
            wanted = NamesAndPatterns([name])
            partitions = [each for each in topics if wanted.entry_for(each.topic, is_restows=each.topic in restows)]
            try:
                sample = checker.run(service, partitions)
            except RestowError as error:
                wrong += 1
                print_line(f"{place} {error}")
            else:
                print_line(f"{place} is right: {sample}")
    return 1 if wrong else 0


def topics_of(settings: Settings) -> "list[TopicPartition]":
    from restow.kafka.admin import Admin

    try:
        with Admin(settings.kafka) as admin:
            cluster = admin.cluster()
            return cluster.partitions_of(cluster.leaders)
    except RestowError as error:
        note(f"{error}; transforms are tried without records")
        return []
