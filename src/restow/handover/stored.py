"""The progress of restow's consumers, from what is in their tables: who stored which offsets, and when."""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from restow.pipeline.audit import copies_in
from restow.pipeline.delta.staging import DIRECTORY
from restow.study.handover import Progress

NEW: Final = 'SELECT rowid, partition, "offset", key FROM records WHERE rowid > ? ORDER BY rowid'
COPIES: Final = 'SELECT partition, "offset", count(*) FROM records GROUP BY partition, "offset"'
POSITION: Final = re.compile(r"[^/]+/[^/]+/([0-9]+)")


class LightProgress:
    """Reads the progress from a light table whose records are stamped (light_transform.py)."""

    def __init__(self, file: Path) -> None:
        self._file, self._last = file, 0

    def new(self) -> list[Progress]:
        found: dict[tuple[int, bytes], list[int]] = {}
        for row, partition, offset, stamp in self._query(NEW, self._last):
            found.setdefault((partition, bytes(stamp)), []).append(offset)
            self._last = row
        return [_stamped(partition, stamp, offsets) for (partition, stamp), offsets in found.items()]

    def copies(self) -> Mapping[tuple[int, int], int]:
        return {(partition, offset): count for partition, offset, count in self._query(COPIES)}

    def _query(self, query: str, *values: int) -> list[Any]:
        if not self._file.exists():
            return []
        try:
            with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True, timeout=10.0)) as database:
                return database.execute(query, values).fetchall()
        except sqlite3.OperationalError:  # it is being created
            return []


def _stamped(partition: int, stamp: bytes, offsets: list[int]) -> Progress:
    when, process = stamp.decode().split()
    return Progress(partition, min(offsets), max(offsets) + 1, float(when), process)


class DeltaProgress:
    """Reads the progress from the log of a Delta table of one topic: each commit has its time, its files' names and the
    next offsets."""

    def __init__(self, table: Path) -> None:
        self._table, self._seen = table, -1
        self._at: dict[int, int] = {}

    def new(self) -> list[Progress]:
        found: list[Progress] = []
        while (entry := self._table / "_delta_log" / f"{self._seen + 1:020}.json").exists():
            self._seen += 1
            found += self._in(entry)
        return found

    def copies(self) -> Mapping[tuple[int, int], int]:
        return copies_in(self._table)

    def _in(self, entry: Path) -> Iterator[Progress]:
        actions = [json.loads(line) for line in entry.read_text().splitlines() if line]
        paths = [action["add"]["path"] for action in actions if "add" in action and action["add"]["dataChange"]]
        cycle = DIRECTORY.fullmatch(paths[0]) if paths else None
        owner = f"{cycle['member']} {cycle['incarnation']}" if cycle else ""
        for action in actions:
            position = POSITION.fullmatch(action["txn"]["appId"]) if "txn" in action else None
            if position:
                partition, after = int(position[1]), int(action["txn"]["version"])
                before, self._at[partition] = self._at.get(partition, after), after
                if owner and after > before:
                    yield Progress(partition, before, after, entry.stat().st_mtime, owner)
