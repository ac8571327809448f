"""The restow.toml that `restow init` writes: what was found, and the settings that people change first.

A line that begins with `# key = value` shows a default. Defaults are taken from the schema, so that they can't differ
from it; tests/starter reads the file with them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from restow.protocol.topic_service import TopicService
from restow.settings import Consumer, Controller, Log, Page, Processes
from restow.starter.facts import TopicFacts
from restow.text import counted, sized

WIDTH: Final = 40
"""Comments begin after this many characters, where they can."""

HEAD: Final = """\
# Group {group}. From the directory of this file:
#   restow check     tries all of it, and changes nothing
#   restow up        runs the group on this machine
#   restow status    shows it: consumers, load, lag; restow top follows it
#   restow down      ends it
# A line that begins with "# key =" shows a default. docs/settings.md has every key, with its reason.
"""
CAPACITY: Final = """\
# What a consumer sustains is learned from its cycles, beginning with 2 MB/s. To fix it, write here:
#   capacity_bytes_per_s = 2000000
"""


@dataclass(frozen=True, slots=True)
class Start:
    """What a group begins with."""

    group: str
    bootstrap: str
    properties: Mapping[str, str]
    """Kafka client properties as they are written, with ${NAME} in place of secrets."""
    light: bool
    topics: Sequence[TopicFacts]
    functions: Mapping[str, str]
    """The transform of each topic."""
    module: str
    most_consumers: int
    why_most: str


def kafka_text(bootstrap: str, properties: Mapping[str, str]) -> str:
    """`[kafka]`, which is also what the broker is looked at with."""
    lines = [
        f"bootstrap = {_toml(bootstrap)}",
        *(f"{_toml(name)} = {_toml(value)}" for name, value in properties.items()),
    ]
    if not properties:
        lines += ["# any other key goes to every Kafka client; secrets come from the environment:"]
        lines += ['# "sasl.username" = "restow"', '# "sasl.password" = "${KAFKA_PASSWORD}"']
    return "\n".join(["[kafka]", *lines, ""])


def settings_text(start: Start) -> str:
    sections = (
        HEAD.format(group=start.group),
        kafka_text(start.bootstrap, start.properties),
        _group(start),
        _consumer(start),
        _controller(start),
        *(_topic(start, topic) for topic in start.topics),
        _others(),
    )
    return "\n".join(sections)


def table_of(topic: str, *, light: bool) -> str:
    return f"tables/{topic}.db" if light else f"lake/{topic}"


def _group(start: Start) -> str:
    name = _commented(f"name = {_toml(start.group)}", "Kafka's name of the group, and the start of restow's topics")
    return f"[group]\n{name}\n"


def _consumer(start: Start) -> str:
    pipeline = 'pipeline = "light"' if start.light else _default(Consumer, "pipeline")
    return "\n".join(
        [
            "[consumer]",
            CAPACITY.rstrip("\n"),
            _commented(pipeline, "SQLite tables, to try a group out" if start.light else 'or "light", without Spark'),
            _commented(_default(Consumer, "memory_mb"), "of each consumer"),
            _commented(_default(Consumer, "cores"), "of each consumer"),
            "",
        ]
    )


def _controller(start: Start) -> str:
    return "\n".join(
        [
            "[controller]",
            _commented(_default(Controller, "least_consumers"), "with 0, a group with nothing to read has none"),
            _commented(f"most_consumers = {start.most_consumers}", start.why_most),
            "",
        ]
    )


def _topic(start: Start, topic: TopicFacts) -> str:
    key = topic.name if topic.name.replace("-", "").replace("_", "").isalnum() else _toml(topic.name)
    return "\n".join(
        [
            f"[consume.{key}]",
            *_found(topic),
            f"table = {_toml(table_of(topic.name, light=start.light))}",
            f"transform = {_toml(f'{start.module}:{start.functions[topic.name]}')}",
            *_without_code(topic, light=start.light),
            _commented(_default(TopicService, "start"), "or latest, or a time like 2026-03-01T12:00:00Z"),
            _commented(_default(TopicService, "on_gap"), "or stop, when records were deleted before they were read"),
            _commented(_default(TopicService, "on_bad_record"), "or skip, or stop, when a record can't be stored"),
            "",
        ]
    )


def _without_code(topic: TopicFacts, *, light: bool) -> list[str]:
    if light or topic.shape.kind not in ("json", "text"):
        return []
    schema = f" and schema = {_toml(f'{topic.name}.json')}, which restow check --infer writes"
    what = f"format = {_toml(topic.shape.kind)}{schema if topic.shape.kind == 'json' else ''}"
    return [f"# in place of the transform, without code: {what}"]


def _found(topic: TopicFacts) -> list[str]:
    if not topic.partitions:
        return []
    facts = [counted(topic.partitions, "partition"), counted(topic.records, "record")]
    facts += [sized(topic.size_bytes)] if topic.size_bytes is not None else []
    facts += [f"{sized(topic.bytes_per_s)}/s written"] if topic.bytes_per_s is not None else []
    return [f"# when this was written: {', '.join(facts)}"]


def _others() -> str:
    return "\n".join(
        [
            "[processes]",
            _commented(_default(Processes, "directory"), "volumes and logs of consumers, relative to this file"),
            "",
            "[page]",
            _commented(_default(Page, "port"), "of the page that restow up and restow page serve"),
            "",
            "[log]",
            _commented(_default(Log, "format"), "or json: one object a line"),
            _commented(_default(Log, "level"), "or debug, warning, error"),
            "",
        ]
    )


def _default(table: type, key: str) -> str:
    return f"# {key} = {_plain(_default_of(table, key))}"


def _default_of(table: type, key: str) -> Any:
    [default] = [each.default for each in fields(table) if each.name == key]
    return default


def _commented(line: str, comment: str) -> str:
    return f"{line:<{WIDTH}} # {comment}"


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 1000 else str(value)
    return _toml(value) if isinstance(value, str) else str(value)


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
