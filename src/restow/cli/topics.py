"""`restow topics list|add|set|remove|reset`: what the running group consumes."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rich.table import Column

from restow.cli.support.config import CHANGE, add_change, add_config
from restow.cli.support.options import Subparsers, number, whole_number
from restow.cli.support.output import print_json, right, show, table
from restow.errors import InvalidInput
from restow.protocol.definitions import EVOLVE, FORMATS, ON_BAD_RECORD
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import OnService
from restow.protocol.topic_names import NamesAndPatterns
from restow.protocol.topic_service import ON_GAP, TopicService
from restow.text import counted, sized

if TYPE_CHECKING:
    from restow.picture.picture import Picture
    from restow.settings import Settings

DESCRIPTION = """\
What the group consumes: restow.toml says it, and the service topic overrides it for a topic while the group runs.
`restow topics COMMAND --help` explains each.
"""

LIST = """\
Shows every topic that the group consumes: where its definition comes from, its partitions, how fast they are written,
and their lag; and every pattern of restow.toml that no topic matches. Changes nothing. It needs the right Read on
<prefix>-service and <prefix>-status.
"""

ADD = f"""\
Has the group consume a topic that restow.toml does not name.

{CHANGE}"""

SET = f"""\
Changes the definition of a consumed topic; what is not given stays as it is. Its partitions are stopped and started
again with the new definition, unless only --cost changes: the next plan uses the new cost.

{CHANGE}"""

REMOVE = f"""\
Stops the group from consuming a topic, even if restow.toml names it. The table and the offsets in it stay: after
`restow topics add` or `reset` reading continues where it stopped.

{CHANGE}"""

RESET = f"""\
Returns a topic to its definition in restow.toml; without one there, the group stops consuming it.

{CHANGE}"""

EPILOG: Final = """\
examples:
  restow topics list
  restow topics add clicks --table lake/clicks --transform shop:clicks --start latest
  restow topics set clicks --transform shop:clicks_v2 --reason "new field"
  restow topics remove clicks
  restow topics reset clicks
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("topics", help="list and change what the group consumes", description=DESCRIPTION)
    of_topics = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = of_topics.add_parser("list", help="show every consumed topic", description=LIST, epilog=EPILOG)
    listing.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_config(listing)
    listing.set_defaults(run=list_)
    for name, description, words, run in (
        ("add", ADD, "consume a topic", add_topic),
        ("set", SET, "change a topic's definition", set_topic),
        ("remove", REMOVE, "stop consuming a topic", remove_topic),
        ("reset", RESET, "return a topic to restow.toml", reset_topic),
    ):
        command = of_topics.add_parser(name, help=words, description=description, epilog=EPILOG)
        command.add_argument("topic", metavar="TOPIC", help="its name")
        if name in ("add", "set"):
            _add_definition(command)
        add_change(command)
        command.set_defaults(run=run)


def _add_definition(parser: argparse.ArgumentParser) -> None:
    """The keys of [consume.NAME] in restow.toml. None: not given."""
    option, flag = parser.add_argument, argparse.BooleanOptionalAction
    option("--table", metavar="URL", help="the table: a URL, or a path relative to the consumer's restow.toml")
    option("--transform", metavar="MODULE:FUNCTION", help="turns records into rows; `none` stores them as they are")
    option("--sql", metavar="QUERY", help="turns records into rows, in place of a transform; `none` removes it")
    option("--format", metavar="|".join(FORMATS), help="how values are parsed; `none` leaves them as they are")
    option("--schema", metavar="FILE", help="the values' schema, a path relative to the consumer's restow.toml")
    option("--registry", metavar="URL", help="the schema registry whose ids values begin with")
    option("--subject", metavar="NAME", help="the registry's name of the topic's schemas")
    option("--message", metavar="NAME", help="the Protobuf message, with its package")
    option("--evolve", choices=EVOLVE, help="what happens to columns that the table lacks: `none` makes them an error")
    option("--partition-by", type=_columns, metavar="COLUMNS", help="of a new table, like `day(created_at),country`")
    option("--start", metavar="WHERE", help="earliest, latest or a time, for partitions that were never read")
    option("--lineage", action=flag, help="columns with topic, partition, offset and timestamp of each record")
    option("--on-gap", metavar="|".join(ON_GAP), help="what to do when records were deleted before they were read")
    option("--on-bad-record", metavar="|".join(ON_BAD_RECORD), help="what to do with a record that can't be stored")
    option("--most-rejected-per-min", type=whole_number(1), metavar="N", help="beyond so many bad records, stop")
    option("--rejected-table", metavar="URL", help="the dead-letter table; `none`: the table's name and _rejected")
    option("--from-group", metavar="GROUP", help="the consumer group to take offsets over from")
    option("--refuses-late-writes", action=flag, help="whether the table fences off a replaced consumer")
    option("--cost", type=_cost, metavar="C", help="work of a byte, relative to the mean topic; `none`: as learned")


def _cost(text: str) -> float | str:
    return text if text == "none" else number(above=0)(text)


def _columns(text: str) -> tuple[str, ...]:
    return () if text == "none" else tuple(column.strip() for column in text.split(","))


def _given(args: argparse.Namespace) -> dict[str, Any]:
    parsing = ("format", "schema", "registry", "subject", "message")
    reading = ("start", "lineage", "on_gap", "from_group", "refuses_late_writes", "cost")
    bad = ("on_bad_record", "most_rejected_per_min", "rejected_table")
    names = ("table", "transform", "sql", "evolve", "partition_by", *parsing, *reading, *bad)
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return {name: None if value == "none" and name != "evolve" else value for name, value in given.items()}


@dataclass(frozen=True, slots=True)
class Consumed:
    """What the group does with a topic, and where that is said."""

    service: TopicService | None
    """None: removed by the service topic."""
    source: str


class Definitions:
    """The definitions in restow.toml and on the service topic, which comes first."""

    def __init__(self, settings: "Settings", services: Mapping[str, OnService]) -> None:
        self._settings = settings
        self._wanted = NamesAndPatterns(settings.consume)
        updates = (each for each in services.values() if isinstance(each, ServiceUpdate))
        self.updates = {each.topic: each for each in updates if each.topic is not None and each.action != "reset"}

    def of(self, topic: str) -> Consumed | None:
        update = self.updates.get(topic)
        if update is not None:
            return Consumed(update.service, f"service topic{f', by {update.by}' if update.by else ''}")
        return self.in_file(topic)

    def in_file(self, topic: str) -> Consumed | None:
        entry = self._wanted.entry_for(topic, is_restows=False)
        if entry is None:
            return None
        return Consumed(self._settings.consume[entry], "restow.toml" if entry == topic else f"pattern {entry}")

    def of_pattern(self, pattern: str) -> TopicService:
        return self._settings.consume[pattern]

    def known(self, picture: "Picture | None") -> list[str]:
        seen = set() if picture is None else {partition.topic for partition in picture.partitions}
        return sorted({*self.updates, *self._wanted.names, *seen})

    def idle_patterns(self, topics: Iterable[str]) -> list[str]:
        """The patterns of restow.toml that none of these topics comes from."""
        used = {self._wanted.entry_for(topic, is_restows=False) for topic in topics}
        return sorted(self._wanted.patterns - used)

    def consumed(self, topic: str, picture: "Picture | None") -> TopicService:
        """Raises InvalidInput if the group does not consume the topic."""
        found = self.of(topic)
        if found is None or found.service is None:
            names = [
                each for each in self.known(picture) if (of := self.of(each)) is not None and of.service is not None
            ]
            group = self._settings.group.name
            raise InvalidInput(f"group {group} does not consume {topic}; it consumes {', '.join(names) or 'nothing'}")
        return found.service


def add_topic(args: argparse.Namespace) -> int:
    wanted = TopicService(**_given(args))
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.cli.support.desired import Desk

    with Desk(args) as desk:
        found = Definitions(desk.settings, desk.services).of(args.topic)
        if found is not None and found.service not in (None, wanted):
            raise InvalidInput(
                f"group {desk.settings.group.name} consumes {args.topic} already ({found.source}); change its "
                f"definition with `restow topics set {args.topic} …`"
            )
        return desk.write(ServiceUpdate("add", args.topic, wanted, **desk.author.fields()), f"add {args.topic}")


def set_topic(args: argparse.Namespace) -> int:
    given = _given(args)
    if not given:
        raise InvalidInput("nothing to change; give at least one of --table, --transform, --start and such")
    from restow.cli.support.desired import Desk

    with Desk(args) as desk:
        present = Definitions(desk.settings, desk.services).consumed(args.topic, desk.picture)
        update = ServiceUpdate("change", args.topic, replace(present, **given), **desk.author.fields())
        return desk.write(update, f"set {args.topic} {', '.join(f'{name} = {value}' for name, value in given.items())}")


def remove_topic(args: argparse.Namespace) -> int:
    from restow.cli.support.desired import Desk

    with Desk(args) as desk:
        definitions = Definitions(desk.settings, desk.services)
        found = definitions.of(args.topic)
        if found is None or found.service is not None:
            table = definitions.consumed(args.topic, desk.picture).table
            stays = f"; {table} and the offsets in it stay" if table else ""
        else:
            stays = ", as it was before"
        return desk.write(ServiceUpdate("remove", args.topic, **desk.author.fields()), f"remove {args.topic}{stays}")


def reset_topic(args: argparse.Namespace) -> int:
    from restow.cli.support.desired import Desk

    with Desk(args) as desk:
        found = Definitions(desk.settings, desk.services).in_file(args.topic)
        what = "which does not name it" if found is None else f"{found.source}"
        update = ServiceUpdate("reset", args.topic, **desk.author.fields())
        return desk.write(update, f"return {args.topic} to restow.toml ({what})")


def list_(args: argparse.Namespace) -> int:
    from restow.cli.support.desired import Desk

    with Desk(args) as desk:
        settings = desk.settings
        rows = list(_rows(Definitions(settings, desk.services), desk.picture))
    if args.json:
        print_json({"group": settings.group.name, "topics": {row.pop("topic"): row for row in rows}})
        return 0
    topics = sum(not row["topic"].startswith("^") for row in rows)
    listing = table(
        Column("topic", no_wrap=True),
        Column("defined in"),
        Column("table"),
        Column("transform"),
        *map(right, ("partitions", "speed", "lag")),
        caption=f"group {settings.group.name}, {counted(topics, 'topic')}",
    )
    for row in rows:
        service = row["definition"]
        listing.add_row(
            row["topic"],
            row["from"],
            "removed" if service is None else service["table"] or "not stored",
            "" if service is None else service["transform"] or service["sql"] or "",
            str(row["partitions"]),
            f"{sized(row['bytes_per_s'])}/s",
            "unknown" if row["lag_records"] is None else f"{row['lag_records']:,}",
        )
    show(listing)
    return 0


def _rows(definitions: Definitions, picture: "Picture | None") -> Iterator[dict[str, Any]]:
    partitions = {} if picture is None else picture.partitions
    known = definitions.known(picture)
    for topic in known:
        found = definitions.of(topic)
        statuses = [status for partition, status in partitions.items() if partition.topic == topic]
        lags = [status.lag.records for status in statuses if status.lag is not None]
        yield {
            "topic": topic,
            "from": "another restow.toml" if found is None else found.source,
            "definition": None if found is None or found.service is None else asdict(found.service),
            "partitions": len(statuses),
            "bytes_per_s": sum(status.bytes_per_s or 0.0 for status in statuses),
            "lag_records": sum(lags) if lags else None,
        }
    for pattern in definitions.idle_patterns(known):
        definition = asdict(definitions.of_pattern(pattern))
        counts = {"partitions": 0, "bytes_per_s": 0.0, "lag_records": None}
        yield {"topic": pattern, "from": "restow.toml, a pattern without topics", "definition": definition, **counts}
