"""The transactions of applications that a Delta table has taken: for each id a version, as of one version of the table.

`delta.py` keeps offsets there. Asking delta-rs for one id reads the last checkpoint and the log after it: 1 ms, and
more as the table grows. So what was asked once is remembered, and brought up to date from the few commits since.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from deltalake import CommitProperties, DeltaTable, Transaction

# Not among deltalake's public names, which need pyarrow; it reads from every store that tables can be on.
from deltalake._internal import DeltaFileSystemHandler
from deltalake.transaction import AddAction

MOST_COMMITS: Final = 100
"""Commits that are read one by one; reading one takes 0.1 ms. Beyond that everything is asked for anew."""


class Ledger:
    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.table = DeltaTable(uri)
        self._files = DeltaFileSystemHandler(uri)
        self._known: dict[str, int | None] = {}

    def refresh(self) -> None:
        before = self.table.version()
        self.table.update_incremental()
        now = self.table.version()
        if now - before > MOST_COMMITS:
            self._known.clear()
        else:
            for version in range(before + 1, now + 1):
                self._apply(version)

    def __getitem__(self, app_id: str) -> int | None:
        if app_id not in self._known:
            self._known[app_id] = self.table.transaction_version(app_id)
        return self._known[app_id]

    def read(self, path: str) -> bytes:
        file = self._files.open_input_file(path)
        return file.read(file.size())

    def write(self, path: str, data: bytes) -> None:
        file = self._files.open_output_stream(path)
        file.write(data)
        file.close()  # type: ignore[attr-defined] # it has one; the stub forgets it

    def delete(self, path: str) -> None:
        self._files.delete_file(path)

    def delete_directory(self, path: str) -> None:
        """With all that is in it. It may be gone already."""
        self._files.delete_dir(path)
        if "://" not in self.uri:  # stores have no directories, and delta-rs leaves those of a disk where they are
            shutil.rmtree(Path(self.uri, path), ignore_errors=True)

    def _apply(self, version: int) -> None:
        if not self._known:
            return
        try:
            commit = self.read(f"_delta_log/{version:020}.json")
        except FileNotFoundError:  # cleaned up already, by somebody with little patience
            self._known.clear()
            return
        for line in commit.splitlines():
            if (
                b'"txn"' in line
                and (transaction := json.loads(line).get("txn"))
                and transaction["appId"] in self._known
            ):
                self._known[transaction["appId"]] = transaction["version"]


def commit_versions(table: DeltaTable, versions: Mapping[str, int], files: Sequence[AddAction] = ()) -> None:
    """One commit. It goes through if no commit since the table was refreshed has one of these ids; the table is to be
    refreshed after it."""
    table.create_write_transaction(
        list(files),
        mode="append",
        schema=table.schema(),
        commit_properties=CommitProperties(
            app_transactions=[Transaction(app_id, version) for app_id, version in sorted(versions.items())]
        ),
    )
