"""`restow rejected list | show | count | retry`: the records that could not be stored, in the dead-letter tables."""

import argparse
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.moments import moment
from restow.cli.support.options import Subparsers, whole_number
from restow.cli.support.output import print_json, print_line, right, show, table
from restow.cli.support.stopping import Stop
from restow.cli.support.transforms_path import add_transforms_path
from restow.errors import InvalidInput
from restow.logs import configure
from restow.protocol.topic_names import NamesAndPatterns
from restow.protocol.topic_service import TopicService
from restow.scratch import temporary
from restow.settings import Settings
from restow.text import counted

if TYPE_CHECKING:
    from restow.pipeline.rejected_records import Filter, RejectedRecord
    from restow.pipeline.spark.engine import Engine
    from restow.pipeline.targets import Target

log = logging.getLogger(__name__)

DESCRIPTION = """\
Records that could not be stored are in the dead-letter table of their table, unless on_bad_record says otherwise. A
topic whose transform returns several tables has a dead-letter table for each; to learn their names, Spark is started.
`restow rejected COMMAND --help` explains each.
"""
LIST = "Lists rejected records that were not retried since, with the error of each. Changes nothing."
COUNT = "Counts rejected records that were not retried since, by topic, table and error. Changes nothing."
SHOW = "Shows all of one rejected record: its error, key, headers and value. Changes nothing."
RETRY = """\
Runs rejected records through the present transform, on Spark, and stores the rows in their table, exactly once: it may
be killed or run twice at once. Records that still can't be stored stay rejected. Consumers may run meanwhile.
"""
EPILOG = """\
Topics are those of restow.toml; to see those of a pattern, name one with --topic.

examples:
  restow rejected count
  restow rejected list --topic orders --since 03:00
  restow rejected show orders 3 88127
  restow rejected retry --topic orders
"""
MOST_LISTED = 100


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "rejected", help="show or retry records that could not be stored", description=DESCRIPTION
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, run, words in (("list", run_list, LIST), ("count", run_count, COUNT), ("retry", run_retry, RETRY)):
        action = actions.add_parser(name, help=words.partition(".")[0], description=words, epilog=EPILOG)
        action.add_argument("--topic", metavar="TOPIC", help="only of this topic")
        action.add_argument("--since", type=moment, metavar="TIME", help="only those rejected since then, in UTC")
        action.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
        add_config(action)
        action.set_defaults(run=run)
    shown = actions.add_parser("show", help=SHOW.partition(":")[0], description=SHOW, epilog=EPILOG)
    shown.add_argument("topic", metavar="TOPIC")
    shown.add_argument("partition", metavar="PARTITION", type=whole_number(0))
    shown.add_argument("offset", metavar="OFFSET", type=whole_number(0))
    shown.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    add_config(shown)
    shown.set_defaults(run=run_show, since=None)


class Found(NamedTuple):
    """A rejected record, and the table that it is missing from, as definitions and transforms name it."""

    table: str
    record: "RejectedRecord"


def run_list(args: argparse.Namespace) -> int:
    found = _found(args)
    if args.json:
        print_json([_plain(each) for each in found])
        return 0
    columns = table("topic", right("partition"), right("offset"), "table", "rejected at", "error")
    for name, record in found[:MOST_LISTED]:
        place = (record.topic, str(record.partition), str(record.offset))
        columns.add_row(*place, name, _time(record.at), record.error)
    show(columns)
    more = len(found) - MOST_LISTED
    print_line(counted(len(found), "rejected record") + (f"; {more} are not shown, --json has all" if more > 0 else ""))
    return 0


def run_count(args: argparse.Namespace) -> int:
    counts = Counter((record.topic, name, record.error) for name, record in _found(args))
    if args.json:
        rows = [(topic, name, error, number) for (topic, name, error), number in sorted(counts.items())]
        print_json([dict(zip(("topic", "table", "error", "records"), row, strict=True)) for row in rows])
        return 0
    columns = table("topic", "table", right("records"), "error")
    for (topic, name, error), number in counts.most_common():
        columns.add_row(topic, name, str(number), error)
    show(columns)
    print_line(counted(counts.total(), "rejected record"))
    return 0


def run_show(args: argparse.Namespace) -> int:
    found = _found(args, partition=args.partition, offset=args.offset)
    if not found:
        raise InvalidInput(
            f"{args.topic} {args.partition} {args.offset} is not rejected, or was retried since; "
            "`restow rejected list` shows what is"
        )
    if args.json:
        print_json([_plain(each) for each in found])
        return 0
    for number, each in enumerate(found):
        if number:
            print_line("")
        for name, value in _plain(each).items():
            print_line(f"{name:12} {value if isinstance(value, str | int) else json.dumps(value)}")
    return 0


def run_retry(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    if settings.consumer.pipeline == "light":
        raise InvalidInput(
            'retry needs Spark; with pipeline = "light" records are rejected into the table rejected of their file: '
            "correct the transform and produce them again"
        )
    from restow.pipeline.retrying import Retrier

    services, stored, failed = _services(settings, args), 0, dict[tuple[str, str, int, int], str]()
    stop = Stop()
    with _spark(settings, args) as engine:
        for topic, service in services.items():
            for target in _targets(engine, service):
                retrier = Retrier(settings, engine, target)
                try:
                    done = retrier.retry(_filter(args, (topic,)), lambda: stop.wait(0.0))
                finally:
                    retrier.close()
                stored += done.stored
                failed |= {(target.table, *key): reason for key, reason in done.failed.items()}
    for (name, topic, partition, offset), reason in sorted(failed.items())[:MOST_LISTED]:
        log.warning("%s-%d at offset %d still can't be stored in %s: %s", topic, partition, offset, name, reason)
    if args.json:
        print_json({"stored": stored, "still_rejected": len(failed)})
    else:
        log.info("stored %s; %s can't be stored still", counted(stored, "record"), counted(len(failed), "record"))
    return 1 if failed else 0


def _found(args: argparse.Namespace, **one: int) -> list[Found]:
    settings = settings_of(args)
    services = _services(settings, args)
    if settings.consumer.pipeline == "light":
        from restow.pipeline.light import rejected as in_files

        return [
            Found(service.table or "", record)
            for topic, service in services.items()
            for record in in_files.rejected_in(settings, service, _filter(args, (topic,), **one))
        ]
    from restow.pipeline.rejected_records import rejected_in

    return [
        Found(target.table, record)
        for topic, targets in _all_targets(settings, services, args).items()
        for target in targets
        for record in rejected_in(settings, target.on_bad.letters, _filter(args, (topic,), **one))
    ]


def _all_targets(
    settings: Settings, services: Mapping[str, TopicService], args: argparse.Namespace
) -> "Mapping[str, tuple[Target, ...]]":
    """By topic. Spark is started only for transforms that may return several tables: only they know which."""
    from restow.pipeline.targets import target_of

    if all(service.table for service in services.values()):
        return {topic: (target_of(service),) for topic, service in services.items()}
    with _spark(settings, args) as engine:
        return {topic: _targets(engine, service) for topic, service in services.items()}


def _targets(engine: "Engine", service: TopicService) -> "tuple[Target, ...]":
    """One for each table of a topic."""
    from restow.pipeline.outputs import Outputs
    from restow.pipeline.targets import target_of

    target = target_of(service)
    if target.table:
        return (target,)
    return tuple(each for each in Outputs().open(target, engine.schemas_of(target)) if each.table)


@contextmanager
def _spark(settings: Settings, args: argparse.Namespace) -> "Iterator[Engine]":
    configure("rejected", settings.log)
    add_transforms_path(args.config)
    from restow.pipeline.spark.engine import Engine
    from restow.pipeline.spark.prepare import prepare_spark
    from restow.pipeline.spark.session import Resources

    prepare_spark()
    with temporary("rejected"):
        engine = Engine(settings, Resources("restow-rejected", cores=1.0))
        try:
            yield engine
        finally:
            engine.close()


def _services(settings: Settings, args: argparse.Namespace) -> dict[str, TopicService]:
    """By topic: those with a table, or with a transform that may return several, that args name."""

    def may_store(service: TopicService) -> bool:
        return bool(service.table or (service.transform and settings.consumer.pipeline != "light"))

    if args.topic is None:
        named = {name: each for name, each in settings.consume.items() if not name.startswith("^")}
        return {name: each.for_topic(name) for name, each in sorted(named.items()) if may_store(each)}
    entry = NamesAndPatterns(settings.consume).entry_for(args.topic, is_restows=False)
    if entry is None or not may_store(settings.consume[entry]):
        raise InvalidInput(f"{args.config} has no [consume.{args.topic}] with a table; name another topic")
    return {args.topic: settings.consume[entry].for_topic(args.topic)}


def _filter(args: argparse.Namespace, topics: tuple[str, ...], **one: int) -> "Filter":
    from restow.pipeline.rejected_records import Filter

    since = None if args.since is None else args.since.last_before(datetime.now(UTC))
    return Filter(topics, since, **one)


def _plain(found: Found) -> dict[str, object]:
    name, record = found
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "table": name,
        "timestamp": None if record.timestamp is None else _time(record.timestamp),
        "rejected_at": _time(record.at),
        "error": record.error,
        "code": record.code or "",
        "key": _text(record.record_key),
        "headers": {name: _text(value) for name, value in record.headers},
        "value": _text(record.value),
    }


def _text(value: bytes | None) -> str | None:
    """As UTF-8; what isn't is shown as \\x and two digits."""
    return None if value is None else value.decode(errors="backslashreplace")


def _time(moment_: datetime) -> str:
    return moment_.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
