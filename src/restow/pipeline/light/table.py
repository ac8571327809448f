"""The light consumer's table: a SQLite file with the records and the next offset of every partition.

Several consumers may write to one file. A cycle's records and next offsets go into one transaction. It takes only
partitions whose offset in the table is where the cycle began: a consumer that was replaced is refused.
"""

import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from restow.errors import RestowError
from restow.kafka.reading import Record
from restow.model import TopicPartition
from restow.pipeline.places import TableElsewhere

BUSY_WITHIN_S: Final = 2.0
"""How long to wait for another writer's lock. A cycle's write takes milliseconds on a healthy disk."""
OPEN_WITHIN_S: Final = 10.0
PAUSE_S: Final = 0.05

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS records (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, "offset" INTEGER NOT NULL,
    timestamp INTEGER, key BLOB, value BLOB
);
CREATE TABLE IF NOT EXISTS positions (
    consumer_group TEXT NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL, next_offset INTEGER NOT NULL,
    PRIMARY KEY (consumer_group, topic, partition)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rejected (
    consumer_group TEXT NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL, "offset" INTEGER NOT NULL,
    timestamp INTEGER, key BLOB, value BLOB, error TEXT NOT NULL, code TEXT, at INTEGER NOT NULL
);
"""
COLUMNS: Final = {
    "records": ("topic", "partition", "offset", "timestamp", "key", "value"),
    "positions": ("consumer_group", "topic", "partition", "next_offset"),
    "rejected": (
        *("consumer_group", "topic", "partition", "offset", "timestamp", "key", "value", "error", "code", "at"),
    ),
}
POSITION: Final = "SELECT next_offset FROM positions WHERE consumer_group = ? AND topic = ? AND partition = ?"
MOVE: Final = "UPDATE positions SET next_offset = ? WHERE consumer_group = ? AND topic = ? AND partition = ?"
GROUPS: Final = "SELECT DISTINCT consumer_group FROM positions"
BEGIN: Final = "INSERT OR IGNORE INTO positions (next_offset, consumer_group, topic, partition) VALUES (?, ?, ?, ?)"
ADD: Final = "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)"
REJECT: Final = "INSERT INTO rejected VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class LightTableError(RestowError):
    """The file can't be opened, read or written. A retry may succeed."""


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """What a cycle stores of one partition: the rows made from its records from `first` up to, and without, `next`."""

    first: int
    next: int
    rows: tuple[Record, ...]
    rejected: tuple[tuple[Record, str], ...] = ()
    """Bad records, each with the error. They are stored in the same transaction."""


class LightTable:
    def __init__(self, file: str, group: str, former: Path | None = None, code: str | None = None) -> None:
        """`former` is where older versions had the file, if that is another place; `code` is the digest of the
        transforms' modules. Raises LightTableError, or TableElsewhere."""
        self._file, self._group, self._code = file, group, code
        _refuse_store(file)
        _look_elsewhere(file, group, former)
        self._database = self._opened()

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Returns the next offsets of the partitions that the table knows. Raises LightTableError."""
        try:
            found = {partition: self._position(partition) for partition in partitions}
        except sqlite3.Error as error:
            raise self._failed(error) from None
        return {partition: offset for partition, offset in found.items() if offset is not None}

    def begin(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Records the start offsets of partitions that the table doesn't know yet. Raises LightTableError."""
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany(BEGIN, [(at, self._group, *p) for p, at in sorted(offsets.items())])
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def write(self, batch: Mapping[TopicPartition, PartitionRows]) -> dict[TopicPartition, int | None]:
        """Stores the batch. Returns the refused partitions with their offsets in the table: another consumer has moved
        them. Raises LightTableError."""
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                at = {partition: self._position(partition) for partition in sorted(batch)}
                taken = [partition for partition in at if at[partition] == batch[partition].first]
                for partition in taken:
                    self._database.executemany(ADD, batch[partition].rows)
                    self._database.executemany(REJECT, self._letters(batch[partition].rejected))
                self._database.executemany(MOVE, [(batch[p].next, self._group, *p) for p in taken])
        except sqlite3.Error as error:
            raise self._failed(error) from None
        return {partition: offset for partition, offset in at.items() if partition not in taken}

    def close(self) -> None:
        self._database.close()

    def _letters(self, rejected: Iterable[tuple[Record, str]]) -> list[tuple[object, ...]]:
        now_ms = time.time_ns() // 1_000_000
        return [(self._group, *record, error, self._code, now_ms) for record, error in rejected]

    def _position(self, partition: TopicPartition) -> int | None:
        row = self._database.execute(POSITION, (self._group, *partition)).fetchone()
        return None if row is None else int(row[0])

    def _opened(self) -> sqlite3.Connection:
        """Opens the file, and retries while another consumer is creating it."""
        deadline_s = time.monotonic() + OPEN_WITHIN_S
        while True:
            try:
                return self._open()
            except OSError as error:
                raise LightTableError(
                    f"the table {self._file} can't be created: {error.filename}: {error.strerror}"
                ) from None
            except sqlite3.Error as error:
                if "locked" not in str(error) or time.monotonic() > deadline_s:
                    raise self._failed(error) from None
            time.sleep(PAUSE_S)

    def _open(self) -> sqlite3.Connection:
        Path(self._file).parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self._file, timeout=BUSY_WITHIN_S, isolation_level=None)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            # A power cut may lose the last transactions, but rows and offsets together: they are read again.
            database.execute("PRAGMA synchronous = NORMAL")
            database.executescript(SCHEMA)
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _failed(self, error: sqlite3.Error) -> LightTableError:
        return LightTableError(f"the table {self._file} can't be used: {error}")


def preview(file: str, group: str, former: Path | None = None) -> bool:
    """Whether the file exists and can be written; False if it would be created. Changes nothing in it. Raises
    LightTableError or TableElsewhere, as opening it would."""
    _refuse_store(file)
    _look_elsewhere(file, group, former)
    if not Path(file).exists():
        return False
    try:
        with closing(
            sqlite3.connect(f"{Path(file).absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
        ) as found:
            found.execute("BEGIN IMMEDIATE")
            for table, columns in COLUMNS.items():
                others = tuple(row[1] for row in found.execute(f"PRAGMA table_info({table})"))
                if others not in ((), columns):
                    raise LightTableError(
                        f"the file {file} has a table {table} with the columns {', '.join(others)}, which is not "
                        "restow's; name another file"
                    )
            found.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise LightTableError(
            f"the table {file} can't be used: {error}; name another file, or correct its rights"
        ) from None
    return True


def _refuse_store(file: str) -> None:
    if "://" in file:
        raise LightTableError(
            f"the table {file} is in an object store, and light consumers write SQLite files; name a file, or write "
            '[consumer] pipeline = "spark"'
        )


def _look_elsewhere(file: str, group: str, former: Path | None) -> None:
    if former and not Path(file).exists() and _is_ours(former, group):
        raise TableElsewhere(file, former)


def _is_ours(former: Path, group: str) -> bool:
    """Whether the file has positions of this group, or of none. A file that only other groups write is theirs."""
    try:
        with closing(sqlite3.connect(f"{former.as_uri()}?mode=ro", uri=True)) as database:
            groups = {found for (found,) in database.execute(GROUPS)}
    except sqlite3.Error:
        return False  # there is none, or it is no table of restow's
    return not groups or group in groups
