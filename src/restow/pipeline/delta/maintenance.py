"""Keeps a Delta table fast to read and to commit to: compacts small files and vacuums files that no reader needs.

delta-rs itself writes a checkpoint and expires log entries every N commits. The rest is done by a process of its own
(`python -m restow.pipeline.delta.maintenance`) with a low priority. It may take long and may be killed at any
instruction: it changes the table by ordinary commits, and none of them changes a row. One consumer at a time maintains
a table: whoever finds that maintenance is due writes that into the table, with the time, and the others see it. That
only saves work; any number of them at once would be correct too.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from restow.pipeline.delta.compaction import compact, files_of
from restow.pipeline.delta.errors import STORE_ERRORS, one_line
from restow.pipeline.delta.ledger import Ledger, commit_versions
from restow.pipeline.delta.vacuum import sweep
from restow.settings import Table as TableSettings

COMPACTING: Final = "restow/compacting"
SWEEPING: Final = "restow/sweeping"
"""Their versions in the table are the milliseconds at which somebody last began."""
LEFT_SMALL: Final = "restow/small-files"
"""Its version is the number of small files that the last compaction left."""

LOOK_EVERY_COMMITS: Final = 20
COMPACT_AFTER_S: Final = 30.0
"""Who begins has so long before another one would; a hundred files of 1.1 MB took 0.9 s, and 150 MB of memory."""
SWEEPS_IN_KEPT: Final = 6
"""So often in the time that files are kept."""
WITHIN_S: Final = 600.0
NICENESS: Final = 10
MB: Final = 2**20


class Tidier:
    """What is due, seen from a consumer, and the process that does it."""

    def __init__(self, uri: str, settings: TableSettings, say: Callable[[str], None]) -> None:
        self._uri, self._settings, self._say = uri, settings, say
        self._looked_at: int | None = None
        self._process: subprocess.Popen[str] | None = None
        self._until_s = 0.0

    def look(self, ledger: Ledger) -> None:
        """Costs nothing but every so many commits, and some milliseconds then."""
        version = ledger.table.version()
        if self._looked_at is None:
            self._looked_at = version
        if self._process is not None:
            self._hear_of(self._process)
        elif version - self._looked_at >= LOOK_EVERY_COMMITS:
            self._looked_at = version
            if is_due(ledger, COMPACTING, self._settings) or is_due(ledger, SWEEPING, self._settings):
                self._start()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> None:
        self._until_s = time.monotonic() + WITHIN_S
        self._process = subprocess.Popen(
            [sys.executable, "-m", "restow.pipeline.delta.maintenance", self._uri, json.dumps(asdict(self._settings))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _hear_of(self, process: "subprocess.Popen[str]") -> None:
        if process.poll() is None and time.monotonic() < self._until_s:
            return
        if process.poll() is None:
            process.kill()
        _, told = process.communicate()
        self._process = None
        if process.returncode:
            last = told.strip().rpartition("\n")[2] or f"it took more than {WITHIN_S:g} s"
            self._say(f"the table {self._uri} could not be tidied: {last}; it is tried again later")


def is_due(ledger: Ledger, what: str, settings: TableSettings) -> bool:
    begun_ms = ledger[what]
    pause_s = COMPACT_AFTER_S if what == COMPACTING else settings.removed_files_kept_s / SWEEPS_IN_KEPT
    if begun_ms is not None and _now_ms() - begun_ms <= 1000 * pause_s:
        return False
    return what == SWEEPING or is_crowded(ledger, settings)


def is_crowded(ledger: Ledger, settings: TableSettings) -> bool:
    """Many small files have come to those that the last compaction could not do anything about."""
    left = ledger[LEFT_SMALL] or 0
    return 0 < settings.compact_at_files <= small_files(ledger.table, settings) - left


def small_files(table: DeltaTable, settings: TableSettings) -> int:
    return sum(file.size_bytes < settings.file_mb * MB for file in files_of(table))


def tidy(uri: str, settings: TableSettings) -> None:
    ledger = Ledger(uri)
    if is_due(ledger, COMPACTING, settings):
        _say_in(ledger, {COMPACTING: _now_ms()})
        compact(ledger, settings.file_mb * MB, run=os.getpid())
        _say_in(ledger, {LEFT_SMALL: small_files(ledger.table, settings)})
    if is_due(ledger, SWEEPING, settings):
        _say_in(ledger, {SWEEPING: _now_ms()})
        sweep(ledger, settings.removed_files_kept_s)


def _say_in(ledger: Ledger, versions: Mapping[str, int]) -> None:
    """Raises CommitFailedError if somebody else has just said so."""
    commit_versions(ledger.table, versions)
    ledger.refresh()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def main(uri: str, settings: str) -> int:
    _give_way()
    try:
        tidy(uri, TableSettings(**json.loads(settings)))
    except CommitFailedError:
        return 0  # somebody else was faster, or in the way: there is a next time
    except STORE_ERRORS as error:
        sys.stderr.write(f"{one_line(error)}\n")
        return 1
    return 0


def _give_way() -> None:
    """To the cycles, which have all cores. On one core delta-rs also keeps the rows of a file in their order."""
    os.nice(NICENESS)
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
