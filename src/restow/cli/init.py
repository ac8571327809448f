"""`restow init`: the first restow.toml and transforms of a group, from what a broker has."""

import argparse
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from restow.cli.support.config import DEFAULT
from restow.cli.support.kafka_options import add_properties, kafka_given
from restow.cli.support.options import Subparsers, duration, list_of
from restow.cli.support.output import note, print_line
from restow.cli.support.questions import answer, confirmed
from restow.durable import write_atomically
from restow.errors import InvalidInput, RestowError
from restow.settings import START_CAPACITY_BYTES_PER_S, Controller, Kafka, read_settings
from restow.starter.facts import TopicFacts, needed_consumers
from restow.starter.names import function_names, group_check, group_from
from restow.starter.settings_text import Start, settings_text
from restow.starter.transforms_text import transforms_text
from restow.text import counted, sized

MODULE: Final = "transforms"
READABLE: Final = 0o644
LOCAL: Final = "127.0.0.1:9092"
LOOK_S: Final = 5.0
EXAMPLE: Final = "orders"
PIPELINES: Final = "Consumers, spark with Delta tables, or light with SQLite tables for a trial"

DESCRIPTION = """\
Writes a commented restow.toml and a module of transforms to begin with. It looks at the broker to propose them: which
topics there are, with their partitions, sizes and write speeds over a few seconds, and what their newest records look
like. For JSON the transform has a column for each field, with a type; other records are kept as they are.

On a terminal it asks what the options leave open. Elsewhere it never asks: defaults count, and it says which.
It reads from the broker and changes nothing there.
"""
EPILOG = """\
Secrets stay out of the file: give a property as --property 'sasl.password=${KAFKA_PASSWORD}' (in single quotes) and set
the variable, here and for every process that reads the file.

Rights in Kafka: Describe and Read on the topics. With Describe on the cluster, sizes are exact.

Afterwards: `restow check`, `restow up`, `restow status`.

examples:
  restow init
  restow init --bootstrap broker-1:9092 --group orders --topics orders,payments
  restow init --light --dir trial
  restow init --bootstrap kafka:9093 --property security.protocol=SASL_SSL --property sasl.mechanisms=PLAIN \\
      --property sasl.username=restow --property 'sasl.password=${KAFKA_PASSWORD}'
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "init", help="write a restow.toml and transforms to begin with", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help=f"the brokers (default: {LOCAL})")
    parser.add_argument("--group", metavar="NAME", help="the group's name (default: from the directory's)")
    parser.add_argument("--topics", type=list_of(str), metavar="A,B", help="topics to consume (default: all)")
    parser.add_argument("--dir", type=Path, default=Path(), metavar="DIR", help="where to write (default: here)")
    parser.add_argument("--light", action="store_true", help="consumers without Spark, and SQLite tables: for a trial")
    add_properties(parser)
    parser.add_argument(
        "--for",
        dest="seconds",
        type=duration,
        default=LOOK_S,
        metavar="TIME",
        help=f"how long write speeds are measured (default: {LOOK_S:g}s)",
    )
    parser.add_argument("--offline", action="store_true", help="write a template without looking at a broker")
    parser.add_argument("--force", action="store_true", help="write over files that exist")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    files = (args.dir / DEFAULT, args.dir / f"{MODULE}.py")
    for file in files if not args.force else ():
        if file.exists():
            raise InvalidInput(f"{file} exists, and nothing was changed; name another --dir, or write over it: --force")
    bootstrap = args.bootstrap or answer("Kafka's brokers", LOCAL, "--bootstrap", _bootstrap_error)
    group = args.group or answer("The group's name", _proposed_group(args.dir), "--group", _group_error)
    if wrong := _group_error(group):
        raise InvalidInput(f"--group {wrong}")
    light = args.light or answer(PIPELINES, "spark", "--light", _pipeline_error) == "light"
    properties = dict(args.property)
    kafka = kafka_given(bootstrap, properties, args.dir, "restow init")
    topics = _found(args, kafka, group)
    most, why = _most_consumers(topics)
    functions = function_names(topic.name for topic in topics)
    start = Start(group, bootstrap, properties, light, topics, functions, MODULE, most, why)
    texts = (settings_text(start), transforms_text(group, topics, functions, light=light))
    read_settings(texts[0], str(files[0]), os.environ)  # before anything is written
    _write({files[1]: texts[1], files[0]: texts[0]})  # restow.toml last: it names the module
    _say_next(args, start)
    return 0


def _proposed_group(directory: Path) -> str:
    return group_from(directory.absolute().resolve().name) or ""


def _group_error(name: str) -> str | None:
    check = group_check()
    return None if check.holds(name) else f"'{name}' is not a valid group name; it must be {check.wanted}"


def _pipeline_error(text: str) -> str | None:
    return None if text in ("spark", "light") else f"'{text}' can't be used; it must be spark or light"


def _bootstrap_error(text: str) -> str | None:
    return None if ":" in text else f"'{text}' can't be used; it must be host:port, or several separated by commas"


def _found(args: argparse.Namespace, kafka: Kafka, group: str) -> tuple[TopicFacts, ...]:
    if not args.offline:
        # Kafka's client takes longer to load than most commands take to run.
        from restow.cli.support.topic_survey import survey
        from restow.kafka.errors import NoAnswer

        try:
            return survey(kafka, group, args.topics, args.seconds)
        except NoAnswer as error:
            if not confirmed(f"{error}. Write a template without looking?"):
                raise RestowError(f"{error}; correct --bootstrap, or write a template with --offline") from None
    note(f"{kafka.bootstrap} is not looked at: correct the topics and transforms by hand")
    return tuple(TopicFacts(name) for name in args.topics or (EXAMPLE,))


def _most_consumers(topics: tuple[TopicFacts, ...]) -> tuple[int, str]:
    """One for each core, but no more than there are partitions; and why."""
    cores = len(os.sched_getaffinity(0))
    partitions = sum(topic.partitions for topic in topics)
    if 0 < partitions < cores:
        return partitions, f"there are {counted(partitions, 'partition')}, and a consumer needs one"
    return cores, f"this machine has {counted(cores, 'core')}, and each consumer takes one"


def _write(texts: Mapping[Path, str]) -> None:
    for file, text in texts.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, text.encode(), READABLE)
        except OSError as error:
            raise InvalidInput(f"{file} can't be written: {error.strerror}; name another --dir") from None
        print_line(f"wrote {file}")


def _say_next(args: argparse.Namespace, start: Start) -> None:
    capacity, fill_to = START_CAPACITY_BYTES_PER_S, Controller().fill_to
    needed = needed_consumers(start.topics, capacity, fill_to)
    looked_at = [topic for topic in start.topics if topic.partitions]
    speeds = [topic.bytes_per_s for topic in looked_at if topic.bytes_per_s is not None]
    if speeds:
        print_line(
            f"the topics are written at {sized(sum(speeds))}/s: about {counted(needed, 'consumer')}, if each sustains "
            f"{sized(capacity)}/s; what they really sustain is learned from their cycles"
        )
    if needed > start.most_consumers:
        print_line(f"most_consumers is {start.most_consumers}: the group will fall behind; see [controller]")
    config = [] if args.dir == Path() else ["--config", str(args.dir / DEFAULT)]
    steps = (shlex.join(["restow", command, *config]) for command in ("check", "up", "status"))
    print_line(f"next: {', '.join(steps)}")
