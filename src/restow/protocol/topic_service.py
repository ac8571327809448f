"""The definition of a topic: what consumers do with its records. `[consume.NAME]` and the service topic have it.

It has a digest. Consumers report the digests they run, and the controller starts a partition again where one differs
from the definition that is wanted.
"""

import json
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Final

from restow.errors import InvalidInput
from restow.protocol import checks
from restow.protocol.definitions import (
    ON_BAD_RECORD,
    SUBJECT,
    TOPIC,
    check_bad_records,
    check_names,
    check_parsing,
    check_rows,
    check_table,
    rejected_table,
)
from restow.protocol.digests import digest
from restow.protocol.field_types import ADDED, NO_OPTIONS, Options

ON_GAP: Final = ("go on", "stop")
"""The valid values of `on_gap`."""
MOST_REJECTED_PER_MIN: Final = 100


@dataclass(frozen=True)
class TopicService:
    """The definition of a topic: what consumers do with its records."""

    table: str | None = None
    """The table they are stored in: a URL, or a path, relative to the consumer's restow.toml. `{topic}` in it stands
    for the topic's name, so that each topic of a regular expression has its own. Without it, they are read and not
    stored."""
    transform: str | None = None
    """The function that turns records into rows, as `module:function`. Without it, records are stored as they are."""
    start: str = "earliest"
    """Where to start a partition that was never read: earliest, latest, or a time in UTC like 2026-03-01T12:00:00Z."""
    refuses_late_writes: bool = True
    """Whether the table fences off a consumer that was replaced. If not, a partition waits until its last consumer is
    confirmed gone."""
    lineage: bool = field(default=True, metadata=ADDED)
    """Whether each row has the columns _topic, _partition, _offset and _timestamp of its record."""
    on_gap: str = field(default="go on", metadata=ADDED)
    """When records were deleted before they were read: `go on` after them, or `stop` reading the partition. The missing
    offsets are reported either way."""
    from_group: str | None = field(default=None, metadata=ADDED)
    """A consumer group to take offsets over from, for partitions without an offset in the table and in our own
    group."""
    cost: float | None = field(default=None, metadata=ADDED)
    """How much work a byte of the topic is, relative to the mean of the group's topics: with 1.5, a partition fills
    half as much again of its consumer as its speed alone would. Without it, the cost is learned if the capacity of
    consumers is, and 1 otherwise."""
    format: str | None = field(default=None, metadata=ADDED)
    """How values are parsed: `json`, `avro`, `protobuf`, `text` or `bytes`. The transform gets the parsed columns.
    Without it, it gets the bytes. docs/formats.md has the details."""
    schema: str | None = field(default=None, metadata=ADDED)
    """The file with the schema of the values: a path, relative to the consumer's restow.toml. For `json` a JSON Schema
    or Spark's DDL, for `avro` an Avro schema, for `protobuf` a .proto file or a descriptor set."""
    registry: str | None = field(default=None, metadata=ADDED)
    """The URL of a schema registry with Confluent's API: values begin with a zero byte and the id of their schema.
    Credentials are in [registry]."""
    subject: str | None = field(default=None, metadata=ADDED)
    """The registry's name of the topic's schemas; the newest gives the columns. Without it, `{topic}-value`."""
    message: str | None = field(default=None, metadata=ADDED)
    """The name of the Protobuf message, with its package. Without it, the first one of the schema."""
    sql: str | None = field(default=None, metadata=ADDED)
    """A query that turns records into rows, in place of a transform: `select id, amount from records`."""
    options: Options = field(default=NO_OPTIONS, metadata=ADDED)
    """Texts, numbers and truth values for the transform, which gets them as `context.options`."""
    evolve: str = field(default="add columns", metadata=ADDED)
    """What happens to columns that the table lacks: `add columns` to the table, or `none`, which makes them an
    error."""
    partition_by: tuple[str, ...] = field(default=(), metadata=ADDED)
    """The table's partition columns, when it is created: columns of the rows, or `year`, `month`, `day` or `hour` of a
    date or timestamp, like `day(created_at)`, which adds the column `created_at_day`."""
    on_bad_record: str = field(default=ON_BAD_RECORD[0], metadata=ADDED)
    """What to do with a record that doesn't parse, or on which the transform fails: `reject` stores it in the
    dead-letter table, `skip` only counts it, and `stop` stores nothing more of the topic until it can be stored."""
    most_rejected_per_min: int = field(default=MOST_REJECTED_PER_MIN, metadata=ADDED)
    """How many records a consumer may reject or skip in a minute. Beyond it, it stops as with `on_bad_record = "stop"`:
    a broken transform must not turn all records into dead letters."""
    rejected_table: str | None = field(default=None, metadata=ADDED)
    """The dead-letter table: a URL, or a path, relative to the consumer's restow.toml. Without it, the name of the
    table with `_rejected` at its end."""

    def __post_init__(self) -> None:
        check_names(table=self.table, subject=self.subject, rejected_table=self.rejected_table)
        check_table(self.evolve, self.partition_by)
        check_bad_records(self.on_bad_record, self.most_rejected_per_min, self.table, self.rejected_table)
        check_parsing(self.format, self.schema, self.registry, self.subject, self.message)
        check_rows(self.transform, self.sql, bool(self.options))
        if self.start not in ("earliest", "latest") and not checks.is_time(self.start):
            raise InvalidInput(
                f"start is '{self.start}'; it must be earliest, latest or a time like 2026-03-01T12:00:00Z"
            )
        if self.transform is not None and not checks.FUNCTION.fullmatch(self.transform):
            raise InvalidInput(f"transform is '{self.transform}'; it must be module:function")
        checks.above_0(cost=self.cost)
        if self.on_gap not in ON_GAP:
            raise InvalidInput(f"on_gap is '{self.on_gap}'; it must be {' or '.join(ON_GAP)}")

    @cached_property  # decisions and reports compare it again and again
    def digest(self) -> str:
        """Changes with every field that matters to a partition that is being read."""
        # A definition without the fields that were added later keeps its digest.
        added = () if self.lineage and self.on_gap == ON_GAP[0] else (self.lineage, self.on_gap)
        named = (self._named,) if self._given else ()
        return digest(self.table, self.transform, self.refuses_late_writes, *added, *named)

    @property
    def _named(self) -> str:
        """The other fields that were added later, with their names."""
        given = {name: getattr(self, name) for name in self._given if name != "options"}
        return json.dumps({**given, "options": dict(self.options)}, sort_keys=True)

    @property
    def _given(self) -> tuple[str, ...]:
        """The fields of SINCE_VERSION that don't have their defaults."""
        return tuple(name for name in SINCE_VERSION if (value := getattr(self, name)) and value != DEFAULTS[name])

    @property
    def readers_version(self) -> int:
        """The version of a message below which a reader would do something else with the records."""
        names_topic = 2 if TOPIC in (self.table or "") else 1
        return max([names_topic, *(SINCE_VERSION[name] for name in self._given)])

    @property
    def dead_letters(self) -> str | None:
        """The dead-letter table; None if the topic has no table."""
        return rejected_table(self.table, self.rejected_table)

    def for_topic(self, topic: str) -> "TopicService":
        """The definition with all names that are made from the topic's."""
        subject = self.subject or (SUBJECT if self.registry else None)
        if subject is None and TOPIC not in (self.table or "") + (self.rejected_table or ""):
            return self
        table = None if self.table is None else self.table.replace(TOPIC, topic)
        rejected = self.rejected_table and self.rejected_table.replace(TOPIC, topic)
        return replace(self, table=table, subject=subject and subject.replace(TOPIC, topic), rejected_table=rejected)


SINCE_VERSION: Final = {
    **dict.fromkeys(("format", "schema", "registry", "subject", "message", "sql", "options"), 2),
    **dict.fromkeys(("evolve", "partition_by"), 3),
    # An older reader may pass over these: it stops at a bad record, and stores no other rows.
    **dict.fromkeys(("on_bad_record", "most_rejected_per_min", "rejected_table"), 1),
}
"""Fields that older readers would pass over, and the version of StartConsumingCommand and ServiceUpdate that has them
(versions.py). They have their names in a definition's digest, so that a definition without them keeps its digest."""
DEFAULTS: Final = {each.name: each.default for each in fields(TopicService)}
