"""Audits Delta tables with DuckDB, an engine that wrote none of the data, from the files that the log names.

The demo and the soak test end with it.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from deltalake import DeltaTable

MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Stored:
    rows: int
    ids: int
    """Distinct ids."""

    @property
    def doubled(self) -> int:
        return self.rows - self.ids


def stored_in(table: Path) -> Stored:
    files = _files(table)
    if not files:
        return Stored(0, 0)
    [(rows, ids)] = _query("SELECT count(*), count(DISTINCT id) FROM read_parquet($files)", files)
    return Stored(rows, ids)


def absent_from(table: Path, name: str, count: int) -> int:
    """How many of the ids NAME-0 to NAME-(count - 1) have no row."""
    files = _files(table)
    if not files:
        return count
    wanted = "SELECT $name || '-' || number AS id FROM range($count) AS numbers(number)"
    query = f"SELECT count(*) FROM ({wanted}) ANTI JOIN read_parquet($files) USING (id)"
    [(absent,)] = _query(query, files, name=name, count=count)
    return int(absent)


def last_offsets(table: Path) -> dict[int, int]:
    """The highest offset of each Kafka partition that has rows, for a table of one topic."""
    files = _files(table)
    query = "SELECT _partition, max(_offset) FROM read_parquet($files) GROUP BY _partition ORDER BY _partition"
    return dict(_query(query, files)) if files else {}


def copies_in(table: Path) -> dict[tuple[int, int], int]:
    """How many rows each partition's offset has, for a table of one topic."""
    files = _files(table)
    query = "SELECT _partition, _offset, count(*) FROM read_parquet($files) GROUP BY _partition, _offset"
    return {(partition, offset): count for partition, offset, count in _query(query, files)} if files else {}


def latencies_s(table: Path) -> list[float]:
    """The time from each record's timestamp to the commit of its row, sorted."""
    committed = _commits(table)
    query = "SELECT filename, epoch_us(_timestamp) FROM read_parquet($files, filename = true)"
    rows = _query(query, sorted(committed)) if committed else []
    return sorted(committed[file] - micros / MICROSECONDS for file, micros in rows)


def _files(table: Path) -> list[str]:
    if not DeltaTable.is_deltatable(str(table)):
        return []
    return sorted(path.removeprefix("file://") for path in DeltaTable(str(table)).file_uris())


def _commits(table: Path) -> dict[str, float]:
    """When each file with new rows was committed. Compacted files are left out: they repeat rows."""
    found = {}
    for entry in sorted((table / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in entry.read_text().splitlines() if line]
        [info] = [action["commitInfo"] for action in actions if "commitInfo" in action]
        for action in actions:
            if "add" in action and action["add"]["dataChange"]:
                found[str(table / action["add"]["path"])] = info["timestamp"] / 1000
    return found


def _query(query: str, files: list[str], **values: object) -> list[Any]:
    with duckdb.connect() as database:
        return database.execute(query, {"files": files, **values}).fetchall()
