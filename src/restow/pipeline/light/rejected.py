"""Reads the rejected records of a light consumer's table, from the same SQLite file. `restow rejected` calls it."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from restow.pipeline.light.table import LightTableError
from restow.pipeline.places import place_of
from restow.pipeline.rejected_records import Filter, RejectedRecord
from restow.protocol.topic_service import TopicService
from restow.settings import Settings

QUERY: Final = """
SELECT topic, partition, "offset", timestamp, key, value, error, code, at FROM rejected
WHERE consumer_group = ? ORDER BY topic, partition, "offset"
"""


def rejected_in(settings: Settings, service: TopicService, wanted: Filter) -> list[RejectedRecord]:
    """Of a definition with a table. Raises LightTableError."""
    file = place_of(service.table or "", settings).uri
    if not Path(file).exists():
        return []
    try:
        with closing(sqlite3.connect(f"{Path(file).as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute(QUERY, (settings.group.name,)).fetchall()
    except sqlite3.Error as error:
        raise LightTableError(f"the table {file} can't be read: {error}") from None
    found = (_record(*row) for row in rows)
    return [record for record in found if _is_wanted(record, wanted)]


def _record(
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int | None,
    key: bytes | None,
    value: bytes | None,
    error: str,
    code: str | None,
    at_ms: int,
) -> RejectedRecord:
    timestamp = None if timestamp_ms is None else _moment(timestamp_ms)
    return RejectedRecord(topic, partition, offset, timestamp, key, value, [], error, code, _moment(at_ms))


def _is_wanted(record: RejectedRecord, wanted: Filter) -> bool:
    return (
        (not wanted.topics or record.topic in wanted.topics)
        and (wanted.since is None or record.at >= wanted.since)
        and wanted.partition in (None, record.partition)
        and wanted.offset in (None, record.offset)
    )


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
