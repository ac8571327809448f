"""Reads dead-letter tables, without Spark: what is rejected, and what of it was retried. `restow rejected` calls it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from restow.pipeline.delta.rejects import REJECTED, STORED, RejectTable
from restow.pipeline.delta.staging import Writer, WrittenFile
from restow.pipeline.places import place_of
from restow.settings import Settings


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rejected records are meant."""

    topics: tuple[str, ...] = ()
    """All if empty."""
    since: datetime | None = None
    """When they were rejected."""
    partition: int | None = None
    offset: int | None = None

    @property
    def sql(self) -> str:
        terms = ["true"]
        if self.topics:
            terms.append(f"topic IN ({', '.join(_quoted(topic) for topic in self.topics)})")
        if self.since is not None:
            terms.append(f"at >= to_timestamp('{self.since.astimezone(UTC).strftime('%Y-%m-%dT%H:%M:%S.%fZ')}')")
        if self.partition is not None:
            terms.append(f'"partition" = {self.partition}')
        if self.offset is not None:
            terms.append(f'"offset" = {self.offset}')
        return " AND ".join(terms)


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    topic: str
    partition: int
    offset: int
    timestamp: datetime | None
    record_key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    error: str
    code: str | None
    at: datetime

    @property
    def key(self) -> tuple[str, int, int]:
        return self.topic, self.partition, self.offset


def rejected_in(settings: Settings, table: str, wanted: Filter) -> list[RejectedRecord]:
    """`table` is a dead-letter table, named as in restow.toml. Raises DeltaTableError."""
    writer = Writer(settings.group.name, 0, 0)
    letters = RejectTable(place_of(table, settings).uri, writer, settings.table, _writes_nothing)
    try:
        return pending(letters, wanted)
    finally:
        letters.close()


def pending(letters: RejectTable, wanted: Filter) -> list[RejectedRecord]:
    """The rejected records that were not retried since, in their order. Raises DeltaTableError."""
    done = {_key(row) for row in letters.rows('topic, "partition", "offset"', f"state = '{STORED}'")}
    rows = letters.rows("*", f"state = '{REJECTED}' AND {wanted.sql}")
    return sorted((_record(row) for row in rows if _key(row) not in done), key=lambda record: record.key)


def _writes_nothing(*_: object) -> list[WrittenFile]:
    raise AssertionError("dead letters are only read here")


def _record(row: dict[str, Any]) -> RejectedRecord:
    return RejectedRecord(
        row["topic"],
        row["partition"],
        row["offset"],
        row["timestamp"],
        row["key"],
        row["value"],
        list(_headers(row["headers"])),
        row["error"],
        row["code"],
        row["at"],
    )


def _headers(headers: list[dict[str, Any]] | None) -> Iterator[tuple[str, bytes | None]]:
    for header in headers or ():
        yield header["key"], header["value"]


def _key(row: dict[str, Any]) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["offset"]


def _quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
