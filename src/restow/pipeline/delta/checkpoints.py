"""Checkpoints of a Delta table on a local disk, and the expiry of log entries before them.

Where delta-rs commits, on object stores, it does both itself. A reader loads the last checkpoint and the entries after
it. Writing one lists the whole log and takes up to half a second, so that it runs in a thread of its own, which shares
nothing with the others: cycles don't wait for it.

A checkpoint has a line for each file that compaction replaced within a day, megabytes of them. So superseded
checkpoints are deleted, except for one an hour: time travel to a version begins at the one before it.
"""

import logging
import time
from pathlib import Path
from threading import Thread
from typing import Final

from deltalake import DeltaTable

from restow.backoff import News
from restow.pipeline.delta.errors import STORE_ERRORS, one_line
from restow.pipeline.delta.ledger import Ledger
from restow.settings import Table as TableSettings

log = logging.getLogger(__name__)

CHECKPOINT_INTERVAL: Final = "delta.checkpointInterval"
EXPIRIES_PER_RETENTION: Final = 6
KEPT: Final = 5
"""So many of the last ones stay: a reader may be loading one."""
ONE_EVERY_S: Final = 3600.0
LAST_WAIT_S: Final = 1.0
"""At the end of the process. A checkpoint that is not finished counts for nothing."""


class Checkpoints:
    """Writes the checkpoints of one table. Each consumer that writes the table has an instance."""

    def __init__(self, uri: str, settings: TableSettings) -> None:
        self._uri, self._settings = uri, settings
        self._thread: Thread | None = None
        self._expired_s: float | None = None
        self._written: list[int] = []
        """Versions of this process's checkpoints that may be deleted."""
        self._kept_s: float | None = None
        self._news = News()

    def write_if_due(self, ledger: Ledger) -> None:
        """Of several consumers, the writer of the N-th commit writes the checkpoint. If it failed to, any of them does
        after N more."""
        own, last = ledger.own_version, ledger.last_checkpoint
        if own is None or last is None or (self._thread is not None and self._thread.is_alive()):
            return
        every = interval(ledger.table, self._settings)
        if own - last >= every and (own % every == 0 or own - last >= 2 * every):
            ledger.own_version = None
            self._thread = Thread(target=self._write, name="checkpoint", daemon=True)
            self._thread.start()

    def wait(self, within_s: float | None = None) -> None:
        """Waits for a checkpoint that is being written."""
        if self._thread is not None:
            self._thread.join(within_s)

    def _write(self) -> None:
        try:
            table = DeltaTable(self._uri)
            table.create_checkpoint()
            self._delete_superseded(table.version())
            if self._is_expiry_due():
                table.cleanup_metadata()
        except STORE_ERRORS as error:
            line = f"the checkpoint of the table {self._uri} can't be written: {one_line(error)}; it is retried later"
            if self._news.is_new(self._uri, line):
                log.warning("%s", line)
        else:
            self._news.is_over(self._uri)

    def _delete_superseded(self, version: int) -> None:
        now_s = time.monotonic()
        if self._kept_s is None or now_s - self._kept_s >= ONE_EVERY_S:
            self._kept_s = now_s
        else:
            self._written.append(version)
        for old in self._written[:-KEPT]:
            Path(self._uri, "_delta_log", f"{old:020}.checkpoint.parquet").unlink(missing_ok=True)
        self._written = self._written[-KEPT:]

    def _is_expiry_due(self) -> bool:
        """Also once after the start of the process."""
        now_s = time.monotonic()
        is_due = self._expired_s is None or now_s - self._expired_s > self._settings.log_kept_s / EXPIRIES_PER_RETENTION
        self._expired_s = now_s if is_due else self._expired_s
        return is_due


def interval(table: DeltaTable, settings: TableSettings) -> int:
    """The number of commits between two checkpoints."""
    own = table.metadata().configuration.get(CHECKPOINT_INTERVAL) or ""
    return int(own) if own.isdigit() and int(own) else settings.checkpoint_every_commits
