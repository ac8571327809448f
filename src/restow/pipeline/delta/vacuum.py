"""Deletes the files of a Delta table that nobody needs any more. `tidying.py` calls this now and then.

There are two kinds, and both are kept as long as the table says (`delta.deletedFileRetentionDuration`): files that were
compacted into others, and files that were written and never committed. The second kind could belong to a cycle that is
merely slow. So before anything is deleted, the table is told up to which stamp the cycles of each consumer are swept: a
cycle of before that is refused from then on, and if one was committed meanwhile, that is seen, and nothing is deleted.
A compaction is a cycle like any other in this.
"""

import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from restow.pipeline.delta.ledger import Ledger, commit_versions
from restow.pipeline.delta.staging import ROOT, Staged, staged


def sweep(ledger: Ledger, kept_s: float) -> None:
    """Raises CommitFailedError if something was committed meanwhile that it would have deleted."""
    files = ledger.table.vacuum(dry_run=True, full=True)
    directories = _left_behind(ledger.uri, set(files), kept_s)
    cycles = {cycle for file in files if (cycle := staged(file))} | set(directories)
    if fences := _fences(ledger, cycles):
        commit_versions(ledger.table, fences)
    for file in files:
        _delete(ledger, file)
    for path in sorted(directories.values()):
        shutil.rmtree(path, ignore_errors=True)


def _fences(ledger: Ledger, cycles: Iterable[Staged]) -> dict[str, int]:
    """Those who have committed a later cycle are refused the earlier ones already."""
    swept: dict[str, int] = {}
    for cycle in cycles:
        swept[cycle.cycle_id] = max(cycle.stamp, swept.get(cycle.cycle_id, 0))
    return {app_id: stamp for app_id, stamp in swept.items() if (ledger[app_id] or -1) < stamp}


def _delete(ledger: Ledger, file: str) -> None:
    with suppress(FileNotFoundError):  # another sweeper was faster
        ledger.delete(file)


def _left_behind(root: str, doomed: set[str], kept_s: float) -> dict[Staged, Path]:
    """Directories of old cycles in which nothing is left but what is deleted and what Spark hides. Only a local disk
    has directories."""
    oldest_ms = (time.time() - kept_s) * 1000
    found = {}
    for path in Path(root).glob(f"{ROOT}/*/*/*-*"):
        name = path.relative_to(root).as_posix()
        cycle = staged(f"{name}/")
        if cycle and cycle.stamp < oldest_ms:
            files = {f"{name}/{file.name}" for file in path.glob("[!._]*")}
            if files <= doomed:
                found[cycle] = path
    return found
