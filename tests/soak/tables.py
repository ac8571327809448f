"""What the soak's group has stored: the positions of partitions, and an audit that counts every record."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb
from deltalake import DeltaTable
from tests.support.delta.lake import brought

from restow.model import TopicPartition
from restow.pipeline.audit import absent_from, stored_in
from restow.pipeline.delta.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Audit:
    stored: int
    lost: int
    doubled: int
    out_of_order: int


class Tables(Protocol):
    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The next offset of each partition that was stored."""

    def audit(self, produced: Mapping[str, int]) -> Audit:
        """`produced`: how many ids each topic has."""


class DeltaTables:
    def __init__(self, lake: Path, group: str) -> None:
        self._lake, self._group = lake, group

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        ledgers: dict[str, Ledger] = {}
        for partition in partitions:
            table = self._lake / partition.topic
            if partition.topic not in ledgers and DeltaTable.is_deltatable(str(table)):
                ledgers[partition.topic] = Ledger(str(table))
            if partition.topic in ledgers:
                at = ledgers[partition.topic][f"{self._group}/{partition.topic}/{partition.partition}"]
                found |= {} if at is None else {partition: at}
        return found

    def audit(self, produced: Mapping[str, int]) -> Audit:
        stored = {topic: stored_in(self._lake / topic) for topic in produced}
        return Audit(
            sum(each.rows for each in stored.values()),
            sum(absent_from(self._lake / topic, topic, count) for topic, count in produced.items()),
            sum(each.doubled for each in stored.values()),
            sum(out_of_order(self._lake / topic) for topic in produced),
        )


def out_of_order(table: Path) -> int:
    """Rows that came after a later one of their partition: in a later commit, or further down in the same file, be it a
    file that compaction wrote. Files that vacuum deleted are in a compacted one."""
    first = [str(file) for file in brought(table) if file.exists()]
    now = [path.removeprefix("file://") for path in DeltaTable(str(table)).file_uris()]
    compacted = sorted(set(now) - set(first))
    across = "PARTITION BY _topic, _partition ORDER BY list_position($files, filename), file_row_number"
    within = "PARTITION BY filename, _topic, _partition ORDER BY file_row_number"
    return _late(first, across) + _late(compacted, within)


def _late(files: list[str], order: str) -> int:
    if not files:
        return 0
    rows = "(SELECT *, $files AS files FROM read_parquet($files, filename = true, file_row_number = true))"
    query = f"SELECT count(*) FROM (SELECT _offset < lag(_offset) OVER ({order}) AS is_late FROM {rows}) WHERE is_late"
    with duckdb.connect() as engine:
        [(count,)] = engine.execute(query, {"files": files}).fetchall()
    return int(count)


class LightTables:
    def __init__(self, file: Path) -> None:
        self._file = file

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        rows = self._query("SELECT topic, partition, next_offset FROM positions")
        found = {TopicPartition(topic, number): at for topic, number, at in rows}
        return {partition: found[partition] for partition in partitions if partition in found}

    def audit(self, produced: Mapping[str, int]) -> Audit:
        [(rows,)] = self._query("SELECT count(*) FROM records") or [(0,)]
        ids = {bytes(value).split(b" ")[0].decode() for (value,) in self._query("SELECT value FROM records")}
        wanted = {f"{topic}-{number}" for topic, count in produced.items() for number in range(count)}
        late = '"offset" < lag("offset") OVER (PARTITION BY topic, partition ORDER BY rowid)'
        [(out_of_order,)] = self._query(f"SELECT count(*) FROM (SELECT {late} AS is_late FROM records) WHERE is_late")
        return Audit(rows, len(wanted - ids), rows - len(ids), out_of_order)

    def _query(self, query: str) -> list[Any]:
        if not self._file.exists():
            return []
        try:
            with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True, timeout=20.0)) as database:
                return database.execute(query).fetchall()
        except sqlite3.OperationalError:  # it is being created
            return []
