"""The transaction log of a Delta table on a local disk: reads and appends entries by their names.

delta-rs lists the whole directory for every commit, which takes 0.4 s with a day of one-second commits in it. Here
nothing is listed: the entry after version N is called N + 1, and is there or not. An entry is created by a hard link,
which is atomic and is refused if the name exists, as delta-rs does it. ledger.py calls this.
"""

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from deltalake.transaction import AddAction

from restow import __version__

TEMPORARY: Final = ".commit-{process}-{number}.tmp"
"""Hidden: readers of the log pass over it. Vacuum removes those of killed processes."""
TEMPORARIES: Final = ".commit-*.tmp"

_NUMBERS = count()


class Taken(Exception):
    """Another commit has created the entry of this version."""


class Identity(NamedTuple):
    """Identifies an entry's file: if a table was dropped and created again, its entries have other identities."""

    inode: int
    changed_ns: int


class Removal(NamedTuple):
    """A file that is no longer part of the table."""

    path: str
    size_bytes: int
    partition_values: Mapping[str, str | None]


class LocalLog:
    def __init__(self, table: str) -> None:
        self._directory = Path(table, "_delta_log")

    def entry(self, version: int) -> bytes | None:
        """Returns None if the entry does not exist, or has expired."""
        try:
            return self._path(version).read_bytes()
        except FileNotFoundError:
            return None

    def identity(self, version: int) -> Identity | None:
        try:
            status = self._path(version).stat()
        except FileNotFoundError:
            return None
        return Identity(status.st_ino, status.st_mtime_ns)

    def last_checkpoint(self) -> int:
        """The version of the last checkpoint; -1 if there is none. Entries before it may have expired."""
        try:
            return int(json.loads((self._directory / "_last_checkpoint").read_bytes())["version"])
        except FileNotFoundError:
            return -1

    def append(self, version: int, lines: Iterable[dict[str, Any]]) -> None:
        """Raises Taken, or OSError."""
        temporary = self._directory / TEMPORARY.format(process=os.getpid(), number=next(_NUMBERS))
        try:
            temporary.write_bytes(b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines))
            os.link(temporary, self._path(version))
        except FileExistsError:
            raise Taken from None
        finally:
            with suppress(OSError):
                temporary.unlink()

    def _path(self, version: int) -> Path:
        return self._directory / f"{version:020}.json"


def entry_lines(
    versions: Mapping[str, int], added: Iterable[AddAction], removed: Iterable[Removal]
) -> Iterable[dict[str, Any]]:
    """The actions of a commit, as lines of an entry."""
    now_ms = time.time_ns() // 1_000_000
    yield {
        "commitInfo": {
            "timestamp": now_ms,
            "operation": "WRITE",
            "operationParameters": {"mode": "Append"},
            "engineInfo": f"restow/{__version__}",
        }
    }
    for file in added:
        yield {
            "add": {
                "path": quote(file.path, safe="/="),
                "partitionValues": dict(file.partition_values),
                "size": file.size,
                "modificationTime": file.modification_time,
                "dataChange": file.data_change,
                "stats": file.stats,
            }
        }
    for gone in removed:
        yield {
            "remove": {
                "path": quote(gone.path, safe="/="),
                "deletionTimestamp": now_ms,
                "dataChange": False,
                "extendedFileMetadata": True,
                "partitionValues": dict(gone.partition_values),
                "size": gone.size_bytes,
            }
        }
    for app_id, version in sorted(versions.items()):
        yield {"txn": {"appId": app_id, "version": version, "lastUpdated": now_ms}}


class Entry(NamedTuple):
    """What restow needs to know of a commit."""

    versions: dict[str, int]
    """Of application transactions."""
    removed: frozenset[str]
    """Paths."""
    added_bytes: tuple[int, ...]
    """The sizes of added files."""
    changes_table: bool
    """Whether it changes the table's schema, properties or protocol."""


def parsed(entry: bytes) -> Entry:
    versions, removed, added, changes_table = {}, set(), [], False
    for line in entry.splitlines():
        for kind, action in json.loads(line).items() if line else ():
            match kind:
                case "txn":
                    versions[action["appId"]] = action["version"]
                case "remove":
                    removed.add(unquote(action["path"]))
                case "add":
                    added.append(action["size"])
                case "metaData" | "protocol":
                    changes_table = True
    return Entry(versions, frozenset(removed), tuple(added), changes_table)
