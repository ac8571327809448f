"""Application transactions of a Delta table: the version of each transaction id, as of the newest commit that was read.

restow keeps offsets in them. delta-rs answers for one id by reading the last checkpoint and the log after it, which
takes 1 ms and grows with the table. So the ledger caches each answer, and follows the log: it reads the few commits
since the last known one. On a local disk it makes commits itself (local_log.py); elsewhere delta-rs does.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Final

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from restow.pipeline.delta.files import files_below
from restow.pipeline.delta.local_log import Entry, LocalLog, Removal, Taken, entry_lines, parsed
from restow.pipeline.delta.log_copy import LogCopy
from restow.pipeline.delta.stores import is_remote, options_of

MOST_COMMITS: Final = 1000
"""How many new commits are read one by one on a local disk, at 0.05 ms each. After more than that the table is loaded
again instead."""
MOST_COMMITS_OF_STORE: Final = 100
TRIES: Final = 100

_LOADS = count()


class Ledger:
    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.table = DeltaTable(uri, storage_options=options_of(uri))
        """Its schema and properties are up to date; its version and files only after `reload`."""
        self.version = self.table.version()
        """Of the newest commit that was read."""
        self.load = next(_LOADS)
        """Another number whenever the table's schema and properties may have changed."""
        self.removed: set[str] | None = None
        """The paths of files that were removed by commits since the last `load_files`; None before it. A consumer's
        ledger would collect those of days."""
        self.own_version: int | None = None
        """Of the last commit that was made here."""
        self.on_commit: Callable[[Entry], None] = lambda _: None
        """Called for each commit that is read or made."""
        self.files = files_below(uri)
        self._log = None if is_remote(uri) else LocalLog(uri)
        self._identity = self._log.identity(self.version) if self._log else None
        self._copy: LogCopy | None = None
        """Of the log in a store. An id that no later entry has, which would be cached, has the same version there."""
        self._cache: dict[str, int | None] = {}

    def refresh(self) -> None:
        """Reads the new commits. Raises TableNotFoundError if the table is gone."""
        if self._log is None:
            self._refresh_from_store()
        elif self._identity is None or self._log.identity(self.version) != self._identity:
            self._reopen()  # expired, or a table that was created anew
        else:
            self._follow(self._log)

    def reload(self) -> None:
        """Brings `table` to the newest version."""
        self.table.update_incremental()
        self.version, self.load = self.table.version(), next(_LOADS)
        self.removed = None if self.removed is None else set()
        self._cache.clear()
        self._copy = None
        self._identity = self._log.identity(self.version) if self._log else None

    def load_files(self) -> None:
        """Loads `table` with its list of files at the newest version; from then on `removed` has the files that commits
        remove."""
        self.removed = set()
        self.reload()

    def __getitem__(self, app_id: str) -> int | None:
        """Raises CommitFailedError if entries expired since the table was loaded: what was looked up before may be
        old."""
        if app_id not in self._cache:
            try:
                self._cache[app_id] = self._looked_up(app_id)
            except DeltaError:
                self.reload()
                raise CommitFailedError("entries of the log expired; compare again") from None
        return self._cache[app_id]

    def _looked_up(self, app_id: str) -> int | None:
        if self._log is None and self._copy is None:
            with suppress(FileNotFoundError):
                self._copy = LogCopy(self.files, self.version)
        return self._copy.version_of(app_id) if self._copy else self.table.transaction_version(app_id)

    @property
    def last_checkpoint(self) -> int | None:
        """Its version; None where delta-rs writes checkpoints with its commits."""
        return self._log.last_checkpoint() if self._log else None

    def commit(
        self, versions: Mapping[str, int], added: Sequence[AddAction] = (), removed: Sequence[Removal] = ()
    ) -> None:
        """One commit. Raises CommitFailedError if a commit that was not read yet has one of these ids, changes the
        table's schema, or removes one of these files."""
        if self._log is None:
            self._commit_to_store(versions, added, removed)
            return
        before = {app_id: self[app_id] for app_id in versions}
        paths = {file.path for file in removed}
        assert not paths or self.removed is not None, "files are removed only from a list that is followed"
        for _ in range(TRIES):
            load = self.load
            try:
                self._append(self._log, versions, added, removed)
            except Taken:
                self.refresh()
                if self.load != load:  # it changed the table, or there were too many to know
                    raise CommitFailedError("concurrent commits changed the table") from None
                if any(self[app_id] != version for app_id, version in before.items()) or paths & (
                    self.removed or set()
                ):
                    raise CommitFailedError("a concurrent commit has the same transactions or files") from None
            else:
                return
        raise CommitFailedError(f"other commits interfered {TRIES} times")

    def _append(
        self, log: LocalLog, versions: Mapping[str, int], added: Sequence[AddAction], removed: Sequence[Removal]
    ) -> None:
        version = self.version + 1
        log.append(version, entry_lines(versions, added, removed))
        if log.last_checkpoint() > self.version:
            # Either a checkpoint of this very commit, or we were away so long that an entry of this name had expired:
            # then the new one counts for nothing. The table knows.
            self._reopen()
            raise CommitFailedError("whether the commit was taken is uncertain; compare again")
        self.own_version = version
        self._apply(Entry(dict(versions), frozenset(), tuple(file.size for file in added), changes_table=False))
        self._identity = log.identity(version)

    def _follow(self, log: LocalLog) -> None:
        """To the newest entry."""
        begun, changes_table = self.version, False
        while (found := log.entry(self.version + 1)) is not None and self.version - begun < MOST_COMMITS:
            entry = parsed(found)
            self._apply(entry)
            changes_table |= entry.changes_table
        # A later checkpoint shows that there are entries which expired before they were read.
        if changes_table or self.version - begun >= MOST_COMMITS or log.last_checkpoint() > self.version:
            self.reload()
        elif self.version > begun:
            self._identity = log.identity(self.version)

    def _apply(self, entry: Entry) -> None:
        self.version += 1
        self._cache |= entry.versions
        if self.removed is not None:
            self.removed |= entry.removed
        self.on_commit(entry)

    def _reopen(self) -> None:
        self.table = DeltaTable(self.uri, storage_options=options_of(self.uri))
        self.reload()

    def _refresh_from_store(self) -> None:
        self.table.update_incremental()
        if self.table.version() - self.version > MOST_COMMITS_OF_STORE:
            self.reload()
            return
        for version in range(self.version + 1, self.table.version() + 1):
            try:
                entry = parsed(self.files.read(f"_delta_log/{version:020}.json"))
            except FileNotFoundError:  # the log entry has expired already
                self.reload()
                return
            self._apply(entry)
            self.load = next(_LOADS) if entry.changes_table else self.load

    def _commit_to_store(
        self, versions: Mapping[str, int], added: Sequence[AddAction], removed: Sequence[Removal]
    ) -> None:
        """Files are removed only at the version at which they were seen."""
        gone = [RemoveAction(f.path, False, _now_ms(), f.size_bytes, dict(f.partition_values)) for f in removed]
        partition_by = self.table.metadata().partition_columns or None
        self.table.create_write_transaction(
            [*added, *gone],
            mode="append",
            schema=self.table.schema(),
            partition_by=partition_by,
            commit_properties=CommitProperties(
                max_commit_retries=0 if removed else None,
                app_transactions=[Transaction(app_id, version) for app_id, version in sorted(versions.items())],
            ),
        )
        self.own_version = self.version + 1


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
