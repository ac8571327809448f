"""Targets: partitions of a cycle that are read, transformed and stored together."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from restow.consumer.planning import Range
from restow.model import TopicPartition
from restow.pipeline.searching import BadOffsets
from restow.pipeline.sinks import DeadLetters, Sink, Span, TableRules
from restow.protocol.definitions import partition_column, rejected_table
from restow.protocol.topic_service import TopicService


class Parsing(NamedTuple):
    """How values are parsed; the fields of TopicService, empty where it has none."""

    format: str = ""
    schema: str = ""
    registry: str = ""
    subject: str = ""
    message: str = ""


UNPARSED: Final = Parsing()


class OnBadRecord(NamedTuple):
    """What becomes of bad records; the fields of TopicService."""

    action: str = "stop"
    most_per_min: int = 0
    letters: str = ""
    """The dead-letter table; empty if there is none."""


STOP: Final = OnBadRecord()


class Target(NamedTuple):
    """A table and what makes its rows. Topics that have all of it in common share one target."""

    table: str
    """Empty if records are only counted."""
    transform: str
    """Empty if records are stored as they are, or by a query."""
    lineage: bool
    parsing: Parsing = UNPARSED
    sql: str = ""
    options: str = ""
    """As JSON; empty if there are none."""
    partition_by: tuple[str, ...] = ()
    """As in TopicService."""
    may_add_columns: bool = True
    is_output: bool = False
    """The table is one of several that the transform returns."""
    on_bad: OnBadRecord = STOP

    def output(self, table: str) -> "Target":
        letters = rejected_table(table, None) or ""
        return self._replace(table=table, is_output=True, on_bad=self.on_bad._replace(letters=letters))

    @property
    def rules(self) -> TableRules:
        return TableRules(tuple(map(partition_column, self.partition_by)), self.may_add_columns)

    @property
    def may_leave_out(self) -> bool:
        """Whether bad records are left out. Without lineage rows may be of many records."""
        return self.on_bad.action != "stop" and self.lineage and bool(self.maker or self.parsing.format)

    @property
    def rejects(self) -> bool:
        """Whether the records that are left out go to a dead-letter table; else they are only counted."""
        return self.on_bad.action == "reject" and bool(self.table)

    @property
    def maker(self) -> str:
        """What makes the rows, in words; empty if records are stored as they are."""
        if self.sql:
            return "the query in sql"
        return f"the transform {self.transform}" if self.transform else ""


@dataclass(frozen=True, slots=True)
class TargetCycle:
    """One target's share of a cycle."""

    target: Target
    ranges: Mapping[TopicPartition, Range]
    bytes: float
    """An estimate."""
    sink: Sink
    staging: str = ""
    held: int = 1
    """How many partitions the consumer holds, in all targets."""
    bad: BadOffsets = field(default_factory=dict)
    """Offsets that this cycle leaves out, and rejects or skips."""
    rejected: Mapping[TopicPartition, frozenset[int]] = field(default_factory=dict)
    """Offsets that it leaves out because they are in the dead-letter table already."""
    letters: DeadLetters | None = None
    """Where bad records go; None if they are skipped."""

    @property
    def left_out(self) -> dict[TopicPartition, set[int]]:
        partitions = {*self.bad, *self.rejected}
        return {p: {*self.bad.get(p, ()), *self.rejected.get(p, ())} for p in sorted(partitions)}

    @property
    def leaves_all_out(self) -> bool:
        """Whether no record is left to be stored. A part of a cycle has the offsets that the whole one leaves out."""
        left_out = self.left_out
        return bool(left_out) and all(
            sum(taken.first <= offset < taken.next for offset in left_out.get(p, ())) >= taken.records
            for p, taken in self.ranges.items()
        )

    @property
    def spans(self) -> dict[TopicPartition, Span]:
        return {partition: Span(taken.position, taken.next) for partition, taken in self.ranges.items()}


def target_of(service: TopicService) -> Target:
    options = json.dumps(dict(service.options)) if service.options else ""
    parsing = UNPARSED
    if service.format is not None:
        parsing = Parsing(*(getattr(service, name) or "" for name in Parsing._fields))
    on_bad = OnBadRecord(service.on_bad_record, service.most_rejected_per_min, service.dead_letters or "")
    return Target(
        service.table or "",
        service.transform or "",
        service.lineage,
        parsing,
        service.sql or "",
        options,
        service.partition_by,
        service.evolve == "add columns",
        on_bad=on_bad,
    )


def by_target(
    partitions: Iterable[TopicPartition], topics: Mapping[str, TopicService]
) -> dict[Target, list[TopicPartition]]:
    found: dict[Target, list[TopicPartition]] = {}
    for partition in sorted(partitions):
        found.setdefault(target_of(topics[partition.topic]), []).append(partition)
    return dict(sorted(found.items()))
