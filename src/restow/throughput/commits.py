"""Follows the commits to Delta tables, whoever makes them: each entry of a log has its rows and its time.

Rows of compacted files don't count: they were stored before.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from restow.study.throughput import Commit
from restow.throughput.records import KEPT


class Commits:
    """`tables` has their directories by name. Tables that don't exist yet have no commits."""

    def __init__(self, tables: Mapping[str, Path]) -> None:
        self._logs = {name: path / "_delta_log" for name, path in sorted(tables.items())}
        self._seen: dict[str, set[str]] = {name: set() for name in tables}

    def new(self) -> list[Commit]:
        """The commits with rows that were not returned before."""
        found = []
        for table, log in self._logs.items():
            for entry in sorted(log.glob("*.json")):
                if entry.name not in self._seen[table] and entry.stem.isdigit():
                    self._seen[table].add(entry.name)
                    if rows := rows_in(entry.read_text()):
                        found.append(Commit(table, entry.stat().st_mtime, rows / KEPT))
        return sorted(found, key=lambda commit: commit.time_s)


def rows_in(entry: str) -> int:
    """The rows that an entry of a Delta log adds."""
    adds = [json.loads(line).get("add") for line in entry.splitlines() if '"add"' in line]
    return sum(json.loads(add["stats"])["numRecords"] for add in adds if add and add["dataChange"])
