"""Generates docs/protocol.md: every topic, every message with its fields, and an example of each.

Names, types and defaults come from the dataclasses, descriptions from their docstrings, examples from examples.py.
`make docs` (scripts/docs.py) writes the page; a test fails if it is out of date.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, Final, get_type_hints

from restow.protocol import measurement, measurement_parts
from restow.protocol.channels import CHANNELS, Lane
from restow.protocol.codec import form_of, to_plain
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.examples import CONSUMERS_UPDATE, EXAMPLES, IN_VERSION_2, IN_VERSION_3, MEASUREMENT
from restow.protocol.measurement import Measurement, PartitionSpeed
from restow.protocol.messages.reports import Failure, Gap, Rejected
from restow.protocol.messages.unions import Message
from restow.protocol.pages import Docs, docs_of, table
from restow.protocol.platform_identity import PlatformIdentity
from restow.protocol.records import CONSUMERS_KEY, VERSIONS, encode
from restow.protocol.topic_service import TopicService

EXAMPLE_GROUP: Final = "data-engineering"
"""The page shows the topics of a group of this name."""

PARTS: Final[tuple[type, ...]] = (TopicService, ConsumerSettings, Gap, Failure, Rejected, PlatformIdentity)
"""Dataclasses inside messages, each described once."""

REPEATED: Final = {
    "consumer": "The number of the sender.",
    "incarnation": "The incarnation of the sender: the offset of its ConsumerReady.",
    "epoch": "The epoch of the controller: the offset of its ControllerStarted.",
    "sequence": "The number of the command, counted per consumer and epoch. A command that is sent again keeps its "
    "number; an answer has that of its command.",
}
"""Descriptions of fields that many messages have; a field's own docstring takes precedence."""

MEASURED: Final = {
    "bytes_per_s": ("a number, 0 or more", "The mean write speed over the window, in bytes of Kafka's log."),
    "filtered_bytes_per_s": (
        "a number, 0 or more",
        "The same, filtered: it follows a step within seconds and varies less. The controller packs by it.",
    ),
    "records_per_s": ("a number, 0 or more", "The mean number of records written per second of the window."),
    "end_offset": ("a whole number, 0 or more", "The offset of the next record to be written."),
    "size_bytes": ("a whole number, 0 or more, or null", "Bytes of the leader's log; null if they can't be read."),
    "estimated": ("true or false; default: `false`", "Whether speeds in bytes are estimated from records."),
    "stable_offset": (
        "a whole number, 0 or more, or null; default: `null`",
        "The last stable offset, if it is below `end_offset`: what follows belongs to transactions that are open.",
    ),
}

INTRODUCTION: Final = """\
# Topics and messages

*Generated from the code by `make docs`; don't edit it.*

The monitor, the controller and the consumers of a group communicate over five Kafka topics of their own. Their names
start with a prefix: the group's name, unless restow.toml has another one (`[topics] prefix`). This page shows the
topics of a group called `{prefix}`. Consumers are numbered from 1, and partition i belongs to consumer i; partition 0
belongs to the controller. All readers use `read_committed`.
"""

RECORDS: Final = """\
## Records

The value of a record is one JSON object in UTF-8, on one line; the examples below are wrapped for reading. It has the
message's `type` and `version` beside its fields. The headers `type`, `version` and `sender` let a reader skip a record
without decoding it. They may be missing, as in a record written by hand, but must not contradict the value. Readers
ignore unknown keys. A sender uses the highest version of a message that both sides know; consumers list theirs in
ConsumerReady. Version 2 of StartConsumingCommand and ServiceUpdate is that of definitions with `format`, `sql`,
`options` or `{{topic}}`: a reader of version 1 would ignore those and store other rows, so it skips the message. Other
definitions are sent in version 1.

The header `group` names the consumer group whose message it is. A reader skips a record of another group, and logs the
first of each group on a topic: such a record changes nothing. Older senders and people write no such header; their
records are the reader's own group's.

Partitions are grouped by topic: `{{"orders": [0, 1]}}` means orders-0 and orders-1, and `{{"orders": {{"0": 81240}}}}`
has a value for orders-0.

A reader skips a record that it can't decode, that has an unknown version, or that is not allowed on its partition. It
counts the record and logs its topic, partition, offset and the reason once.

On the service topic, the key is the name of the topic that an update is about, `{consumers_key}` for an update of the
consumers' settings, or what its message says below. A tombstone (a record without a value) deletes the record:
restow.toml applies again, the group is not paused, nothing is pinned.
"""


IN_PARTS: Final = f"""\
A measurement of more than {measurement_parts.LARGEST_PART_BYTES // 1000} kB comes in parts of at most that, as version
{measurement_parts.VERSION}: each has some of the partitions, the name of its `measurement`, its `part` from 0 on and
the number of `parts`, and the header `part`, as in `0/27`. A reader uses a measurement when it has all of its parts,
and nothing of it before.
"""


def kinds() -> tuple[type, ...]:
    """The classes that the page describes. `page` needs the source of each."""
    return (*(kind for channel in CHANNELS for lane in channel.lanes for kind in lane.messages), *PARTS)


def page(sources: Iterable[str], prefix: str = EXAMPLE_GROUP) -> str:
    """`sources` has the source text of each of `kinds`; `prefix` is that of the topics shown."""
    docs = {name: doc for source in sources for name, doc in docs_of(source)}
    examples: dict[type, Message] = {type(message): message for message in EXAMPLES}
    blocks = [INTRODUCTION.format(prefix=prefix), _topics_table(prefix)]
    blocks.append(RECORDS.format(consumers_key=CONSUMERS_KEY))
    for channel in (channel for channel in CHANNELS if channel.lanes):
        blocks.append(f"## On {channel.topic(prefix)}\n")
        for lane in channel.lanes:
            for kind in lane.messages:
                if kind is Measurement:
                    blocks += _measurement(docs, lane)
                else:
                    blocks += _message(examples[kind], docs[kind.__name__], lane)
    blocks.append("## Parts of messages\n")
    for part in PARTS:
        blocks += [f"### {part.__name__}\n\n{docs[part.__name__].text}\n", _fields_table(part, docs[part.__name__])]
    return "\n".join(blocks)


def _topics_table(prefix: str) -> str:
    rows = [
        (f"`{channel.topic(prefix)}`, {lane.partition}", f"{lane.writers} → {lane.readers}", _names(lane))
        for channel in CHANNELS
        for lane in channel.lanes
    ]
    contents = ((f"`{channel.topic(prefix)}`", channel.partitions, channel.content) for channel in CHANNELS)
    about_topics = table(("topic", "partitions", "content"), contents)
    return about_topics + "\n" + table(("topic, partition", "from → to", "messages"), rows)


def _names(lane: Lane) -> str:
    return ", ".join(f"[{kind.__name__}](#{kind.__name__.lower()})" for kind in lane.messages)


def _message(example: Message, docs: Docs, lane: Lane) -> Iterator[str]:
    kind = type(example)
    way = f"From {lane.writers} to {lane.readers}, partition {lane.partition}; version {VERSIONS[kind]}."
    yield f"### {kind.__name__}\n\n{docs.text}\n\n{way}\n"
    yield _fields_table(kind, docs)
    others = (CONSUMERS_UPDATE, *IN_VERSION_2, *IN_VERSION_3)
    for message in (example, *(other for other in others if type(other) is kind)):
        yield _example(encode(message, "", "")[1])


def _measurement(docs: Mapping[str, Docs], lane: Lane) -> Iterator[str]:
    own = docs[Measurement.__name__]
    way = f"From {lane.writers} to {lane.readers}, partition {lane.partition}; version {measurement.VERSION}."
    headers = ", ".join(f"`{name}`" for name in measurement.headers_of("monitor", ""))
    yield (
        f"### {Measurement.__name__}\n\n{own.text}\n\n{way} The value has `version` but no `type`; the headers are "
        f"{headers}.\n"
    )
    yield IN_PARTS
    whole = (
        ("`time`", "text", own.of_field["time"]),
        ("`window_s`", "a number", own.of_field["window_s"]),
        ("`topics`", "an object: an object for each partition", "The fields below, for each partition."),
    )
    inner = ((f"`{name}`", *MEASURED[name]) for name in PartitionSpeed.__struct_fields__)
    yield table(("field", "type", "meaning"), (*whole, *inner))
    yield _example(measurement.encode(MEASUREMENT))


def _fields_table(kind: Any, docs: Docs) -> str:
    hints = get_type_hints(kind)
    rows = []
    for field in fields(kind):
        hint = hints[field.name]
        words = form_of(hint).words
        for part in PARTS:
            words = words.replace(f"a {part.__name__}", f"a [{part.__name__}](#{part.__name__.lower()})")
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if default is not MISSING:
            words += f"; default: {_compact(to_plain(default, hint))}"
        rows.append((f"`{field.name}`", words, docs.of_field.get(field.name) or REPEATED[field.name]))
    return table(("field", "type", "meaning"), rows)


def _compact(plain: Any) -> str:
    return f"`{json.dumps(plain)}`"


def _example(value: bytes) -> str:
    return f"```json\n{_spread(json.loads(value))}\n```\n"


def _spread(plain: Any, indent: str = "") -> str:
    """JSON wrapped at 100 characters: what fits on a line stays on it."""
    line = json.dumps(plain, ensure_ascii=False)
    if not isinstance(plain, dict) or len(indent) + len(line) <= 100:
        return line
    inside = indent + "  "
    entries = (f"{inside}{json.dumps(key)}: {_spread(value, inside)}" for key, value in plain.items())
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"
