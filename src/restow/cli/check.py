"""`restow check`: is restow.toml right, and do its transforms work on what is on the topics?"""

import argparse
import re
import sys
from typing import TYPE_CHECKING

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.output import note
from restow.cli.support.transforms_path import let_transforms_be_found
from restow.errors import InvalidInput, RestowError
from restow.settings import Settings

if TYPE_CHECKING:
    from restow.model import TopicPartition

DESCRIPTION = """\
Reads restow.toml, imports every transform, and runs it on Spark on the newest records of its topics; where there are
none, or no broker answers, on an empty frame. Nothing is stored. What is wrong is told with its file, key and reason,
a line each, and the exit code is 1; a restow.toml that can't be read is 2.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("check", help="try restow.toml and its transforms", description=DESCRIPTION)
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    let_transforms_be_found(args.config)
    if not settings.consume:
        raise InvalidInput(f"{args.config}: there is no [consume.NAME], so that nothing is consumed; write one")
    from restow.pipeline.check import Checker

    topics = topics_of(settings)
    checker, wrong = Checker(settings, note), 0
    try:
        for name, service in settings.consume.items():
            key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'
            place = f"{args.config}: [consume.{key}]"
            partitions = [partition for partition in topics if matches(name, partition.topic)]
            try:
                tried = checker.try_out(service, partitions)
            except RestowError as error:
                wrong += 1
                sys.stdout.write(f"{place} {error}\n")
            else:
                sys.stdout.write(f"{place} is right: {tried}\n")
            sys.stdout.flush()
    finally:
        checker.close()
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


def matches(name: str, topic: str) -> bool:
    return name == topic or (name.startswith("^") and re.fullmatch(name, topic) is not None)
