"""Keeps a Delta table fast to read and to commit to: compacts small files and vacuums files that no reader needs.

Checkpoints are checkpoints.py's. Compaction and vacuum run in a process of their own
(`python -m restow.pipeline.delta.maintenance`) with a low priority. The process may be killed at any instruction: it
changes the table by ordinary commits, none of which changes a row. A consumer that starts maintenance commits the time
to the table, so that the others leave it alone. That only saves work; any number of them at once would be correct too.
"""

import json
import logging
import os
import subprocess
import sys
import time
from dataclasses import asdict
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from restow.pipeline.delta.checkpoints import LAST_WAIT_S, Checkpoints
from restow.pipeline.delta.compaction import compact, files_of
from restow.pipeline.delta.errors import STORE_ERRORS, one_line
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.local_log import Entry
from restow.pipeline.delta.vacuum import vacuum
from restow.settings import Table as TableSettings

log = logging.getLogger(__name__)

COMPACTION: Final = "restow/compacting"
VACUUM: Final = "restow/sweeping"
"""Transaction ids whose versions are the milliseconds at which a compaction or a vacuum last started."""
SMALL_FILES_LEFT: Final = "restow/small-files"
"""The transaction id whose version is the number of small files that the last compaction left."""

LOOK_EVERY_COMMITS: Final = 20
COMPACT_AFTER_S: Final = 30.0
"""No other compaction starts for this long. Compacting a hundred files of 1.1 MB took 0.9 s and 150 MB of memory."""
VACUUMS_PER_RETENTION: Final = 6
WITHIN_S: Final = 600.0
NICENESS: Final = 10
MB: Final = 2**20


class Maintenance:
    """Starts the maintenance process of one table when it is due, and logs its failure. One per consumer."""

    def __init__(self, uri: str, settings: TableSettings) -> None:
        self._uri, self._settings = uri, settings
        self.checkpoints = Checkpoints(uri, settings)
        self._looked_at: int | None = None
        """A version of the table."""
        self._small_files = 0
        """That were added since the last compaction or look."""
        self._process: subprocess.Popen[str] | None = None
        self._until_s = 0.0

    def saw(self, entry: Entry) -> None:
        """Called for every commit to the table."""
        self._small_files += sum(size < self._settings.file_mb * MB for size in entry.added_bytes)
        if SMALL_FILES_LEFT in entry.versions:
            self._small_files = 0

    def run_if_due(self, ledger: Ledger) -> None:
        """Costs nothing between two looks, which are LOOK_EVERY_COMMITS apart."""
        self.checkpoints.write_if_due(ledger)
        if self._looked_at is None:
            self._looked_at = ledger.version
        if self._process is not None:
            self._check(self._process)
        elif ledger.version - self._looked_at >= LOOK_EVERY_COMMITS:
            self._looked_at = ledger.version
            is_crowded = 0 < self._settings.compact_at_files <= self._small_files
            if (is_crowded and is_over(ledger, COMPACTION, self._settings)) or is_over(ledger, VACUUM, self._settings):
                self._start()

    def close(self) -> None:
        self.checkpoints.wait(LAST_WAIT_S)
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> None:
        self._until_s = time.monotonic() + WITHIN_S
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, self._uri, json.dumps(asdict(self._settings))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _check(self, process: "subprocess.Popen[str]") -> None:
        if process.poll() is None and time.monotonic() < self._until_s:
            return
        if process.poll() is None:
            process.kill()
        _, stderr = process.communicate()
        self._process = None
        if process.returncode:
            reason = stderr.strip().rpartition("\n")[2] or f"it took more than {WITHIN_S:g} s"
            log.warning("maintenance of the table %s failed: %s; it is retried later", self._uri, reason)


def is_over(ledger: Ledger, what: str, settings: TableSettings) -> bool:
    """Whether the pause after the last one has passed. `what` is COMPACTION or VACUUM."""
    started_ms = ledger[what]
    pause_s = COMPACT_AFTER_S if what == COMPACTION else settings.removed_files_kept_s / VACUUMS_PER_RETENTION
    return started_ms is None or _now_ms() - started_ms > 1000 * pause_s


def has_new_small_files(ledger: Ledger, settings: TableSettings) -> bool:
    """Whether enough small files were added since the last compaction; files that it had to leave don't count. The
    ledger must be loaded."""
    left = ledger[SMALL_FILES_LEFT] or 0
    return 0 < settings.compact_at_files <= small_files(ledger.table, settings) - left


def small_files(table: DeltaTable, settings: TableSettings) -> int:
    return sum(file.size_bytes < settings.file_mb * MB for file in files_of(table))


def maintain(uri: str, settings: TableSettings) -> None:
    """Compacts and vacuums the table, each if it is due. Raises CommitFailedError if another consumer was faster."""
    ledger = Ledger(uri)
    if is_over(ledger, COMPACTION, settings) and has_new_small_files(ledger, settings):
        ledger.commit({COMPACTION: _now_ms()})
        compact(ledger, settings.file_mb * MB, run=os.getpid())
        ledger.reload()
        ledger.commit({SMALL_FILES_LEFT: small_files(ledger.table, settings)})
    ledger.reload()
    if is_over(ledger, VACUUM, settings):
        ledger.commit({VACUUM: _now_ms()})
        ledger.reload()
        vacuum(ledger, settings.removed_files_kept_s)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def main(uri: str, settings: str) -> int:
    _lower_priority()
    try:
        maintain(uri, TableSettings(**json.loads(settings)))
    except CommitFailedError:
        return 0  # another consumer was faster; maintenance becomes due again
    except STORE_ERRORS as error:
        sys.stderr.write(f"{one_line(error)}\n")
        return 1
    return 0


def _lower_priority() -> None:
    """Cycles come first. On one core delta-rs also keeps the rows of a file in order."""
    os.nice(NICENESS)
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
