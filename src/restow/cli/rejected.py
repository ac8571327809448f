"""`restow rejected list | show | count | retry`: the records that could not be stored, in the dead-letter tables."""

import argparse
import json
import logging
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.moments import moment
from restow.cli.support.options import Subparsers, whole_number
from restow.cli.support.output import print_json, print_line, right, show, table
from restow.cli.support.stopping import Stop
from restow.cli.support.transforms_path import add_transforms_path
from restow.errors import InvalidInput
from restow.logs import configure
from restow.protocol.messages import TopicService
from restow.protocol.topic_names import NamesAndPatterns
from restow.scratch import temporary
from restow.settings import Settings
from restow.text import counted

if TYPE_CHECKING:
    from restow.pipeline.rejected_records import Filter, RejectedRecord

log = logging.getLogger(__name__)

DESCRIPTION = """\
Records that could not be stored are in the dead-letter table of their table, unless on_bad_record says otherwise.
`restow rejected COMMAND --help` explains each.
"""
LIST = "Lists rejected records that were not retried since, with the error of each. Changes nothing."
COUNT = "Counts rejected records that were not retried since, by topic and error. Changes nothing."
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


def run_list(args: argparse.Namespace) -> int:
    found = _found(args)
    if args.json:
        print_json([_plain(record) for record in found])
        return 0
    columns = table("topic", right("partition"), right("offset"), "rejected at", "error")
    for record in found[:MOST_LISTED]:
        columns.add_row(record.topic, str(record.partition), str(record.offset), _time(record.at), record.error)
    show(columns)
    more = len(found) - MOST_LISTED
    print_line(counted(len(found), "rejected record") + (f"; {more} are not shown, --json has all" if more > 0 else ""))
    return 0


def run_count(args: argparse.Namespace) -> int:
    counts = Counter((record.topic, record.error) for record in _found(args))
    if args.json:
        print_json([{"topic": topic, "error": error, "records": n} for (topic, error), n in sorted(counts.items())])
        return 0
    columns = table("topic", right("records"), "error")
    for (topic, error), number in counts.most_common():
        columns.add_row(topic, str(number), error)
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
    [record] = found[:1]
    if args.json:
        print_json(_plain(record))
        return 0
    for name, value in _plain(record).items():
        print_line(f"{name:12} {value if isinstance(value, str | int) else json.dumps(value)}")
    return 0


def run_retry(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    if settings.consumer.pipeline == "light":
        raise InvalidInput(
            'retry needs Spark; with pipeline = "light" records are rejected into the table rejected of their file: '
            "correct the transform and produce them again"
        )
    configure("rejected", settings.log)
    add_transforms_path(args.config)
    stop = Stop()
    from restow.pipeline.retrying import Retrier
    from restow.pipeline.spark.engine import Engine
    from restow.pipeline.spark.prepare import prepare_spark
    from restow.pipeline.spark.session import Resources

    services, stored, failed = _services(settings, args), 0, dict[tuple[str, int, int], str]()
    prepare_spark()
    with temporary("rejected"):
        engine = Engine(settings, Resources("restow-rejected", cores=1.0))
        try:
            for topic, service in services.items():
                retrier = Retrier(settings, engine, service)
                try:
                    done = retrier.retry(_filter(args, (topic,)), lambda: stop.wait(0.0))
                finally:
                    retrier.close()
                stored, failed = stored + done.stored, failed | done.failed
        finally:
            engine.close()
    for (topic, partition, offset), reason in sorted(failed.items())[:MOST_LISTED]:
        log.warning("%s-%d at offset %d still can't be stored: %s", topic, partition, offset, reason)
    if args.json:
        print_json({"stored": stored, "still_rejected": len(failed)})
    else:
        log.info("stored %s; %s can't be stored still", counted(stored, "record"), counted(len(failed), "record"))
    return 1 if failed else 0


def _found(args: argparse.Namespace, **one: int) -> "list[RejectedRecord]":
    settings = settings_of(args)
    services = _services(settings, args)
    from restow.pipeline import rejected_records
    from restow.pipeline.light import rejected as in_files

    is_light = settings.consumer.pipeline == "light"
    rejected_in = in_files.rejected_in if is_light else rejected_records.rejected_in
    return [
        r for topic, service in services.items() for r in rejected_in(settings, service, _filter(args, (topic,), **one))
    ]


def _services(settings: Settings, args: argparse.Namespace) -> dict[str, TopicService]:
    """By topic: those with a table that args name."""
    if args.topic is None:
        named = {name: each for name, each in settings.consume.items() if not name.startswith("^")}
        return {name: each.for_topic(name) for name, each in sorted(named.items()) if each.table}
    entry = NamesAndPatterns(settings.consume).entry_for(args.topic, is_restows=False)
    if entry is None or settings.consume[entry].table is None:
        raise InvalidInput(f"{args.config} has no [consume.{args.topic}] with a table; name another topic")
    return {args.topic: settings.consume[entry].for_topic(args.topic)}


def _filter(args: argparse.Namespace, topics: tuple[str, ...], **one: int) -> "Filter":
    from restow.pipeline.rejected_records import Filter

    since = None if args.since is None else args.since.last_before(datetime.now(UTC))
    return Filter(topics, since, **one)


def _plain(record: "RejectedRecord") -> dict[str, object]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
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
