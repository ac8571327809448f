"""Application transactions of a Delta table: the version of each transaction id, as of the handle's table version.

restow keeps offsets in them. delta-rs answers for one id by reading the last checkpoint and the log after it, which
takes 1 ms and grows with the table. So the ledger caches each answer and updates the cache from the few new commits.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from deltalake import CommitProperties, DeltaTable, Transaction

# A private name: the public ones need pyarrow. It reads from every store that delta-rs supports.
from deltalake._internal import DeltaFileSystemHandler
from deltalake.transaction import AddAction

MOST_COMMITS: Final = 100
"""How many new commits are read one by one, at 0.1 ms each. After more than that the cache is cleared instead."""


class Ledger:
    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.table = DeltaTable(uri)
        self._files = DeltaFileSystemHandler(uri)
        self._cache: dict[str, int | None] = {}

    def refresh(self) -> None:
        """Moves the handle to the newest version of the table."""
        before = self.table.version()
        self.table.update_incremental()
        now = self.table.version()
        if now - before > MOST_COMMITS:
            self._cache.clear()
        else:
            for version in range(before + 1, now + 1):
                self._apply(version)

    def __getitem__(self, app_id: str) -> int | None:
        if app_id not in self._cache:
            self._cache[app_id] = self.table.transaction_version(app_id)
        return self._cache[app_id]

    def read(self, path: str) -> bytes:
        file = self._files.open_input_file(path)
        return file.read(file.size())

    def write(self, path: str, data: bytes) -> None:
        file = self._files.open_output_stream(path)
        file.write(data)
        file.close()  # type: ignore[attr-defined] # missing in the stub only

    def delete(self, path: str) -> None:
        self._files.delete_file(path)

    def delete_directory(self, path: str) -> None:
        """With everything in it. Does nothing if it is gone already."""
        self._files.delete_dir(path)
        if "://" not in self.uri:  # object stores have no directories; on a disk delta-rs leaves them behind, empty
            shutil.rmtree(Path(self.uri, path), ignore_errors=True)

    def _apply(self, version: int) -> None:
        if not self._cache:
            return
        try:
            commit = self.read(f"_delta_log/{version:020}.json")
        except FileNotFoundError:  # the log entry has expired already
            self._cache.clear()
            return
        for line in commit.splitlines():
            if (
                b'"txn"' in line
                and (transaction := json.loads(line).get("txn"))
                and transaction["appId"] in self._cache
            ):
                self._cache[transaction["appId"]] = transaction["version"]


def commit_versions(table: DeltaTable, versions: Mapping[str, int], files: Sequence[AddAction] = ()) -> None:
    """One commit, which raises CommitFailedError if a commit since the handle's version has one of these ids. Refresh
    the ledger afterwards."""
    table.create_write_transaction(
        list(files),
        mode="append",
        schema=table.schema(),
        commit_properties=CommitProperties(
            app_transactions=[Transaction(app_id, version) for app_id, version in sorted(versions.items())]
        ),
    )
