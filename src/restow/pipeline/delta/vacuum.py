"""Vacuum: deletes files of a Delta table that no reader needs. maintenance.py calls it now and then.

Two kinds of files are deleted after the table's retention (`delta.deletedFileRetentionDuration`): files that compaction
replaced, and files that were written and never committed. The second kind may belong to a cycle that is merely slow. So
before it deletes anything, vacuum commits, for each consumer, the stamp up to which it deletes. From then on the table
refuses cycles up to that stamp; and if such a cycle was committed first, vacuum's own commit is refused and nothing is
deleted. A compaction counts as a cycle.
"""

import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.local_log import TEMPORARIES
from restow.pipeline.delta.staging import ROOT, StagedCycle, staged_cycle
from restow.pipeline.delta.stores import is_remote


def vacuum(ledger: Ledger, kept_s: float) -> None:
    """Raises CommitFailedError if one of the cycles was committed at the same time."""
    files = ledger.table.vacuum(dry_run=True, full=True)
    directories = {} if is_remote(ledger.uri) else _abandoned_directories(ledger.uri, set(files), kept_s)
    cycles = {cycle for file in files if (cycle := staged_cycle(file))} | set(directories)
    if fences := _fences(ledger, cycles):
        ledger.commit(fences)
    for file in files:
        ledger.files.delete(file)
    for path in sorted(directories.values()):
        shutil.rmtree(path, ignore_errors=True)
    if not is_remote(ledger.uri):
        _delete_temporaries(Path(ledger.uri, "_delta_log"), kept_s)


def _fences(ledger: Ledger, cycles: Iterable[StagedCycle]) -> dict[str, int]:
    """The stamp up to which each consumer's cycles are refused; none is needed after a later cycle was committed."""
    deleted: dict[str, int] = {}
    for cycle in cycles:
        deleted[cycle.cycle_id] = max(cycle.stamp, deleted.get(cycle.cycle_id, 0))
    return {app_id: stamp for app_id, stamp in deleted.items() if (ledger[app_id] or -1) < stamp}


def _abandoned_directories(root: str, deleted: set[str], kept_s: float) -> dict[StagedCycle, Path]:
    """Staging directories of old cycles that contain nothing but deleted files and Spark's hidden ones. Only on a local
    disk: object stores have no directories."""
    oldest_ms = (time.time() - kept_s) * 1000
    found = {}
    for path in Path(root).glob(f"{ROOT}/*/*/*-*"):
        name = path.relative_to(root).as_posix()
        cycle = staged_cycle(f"{name}/")
        if cycle and cycle.stamp < oldest_ms:
            files = {f"{name}/{file}" for file in _visible_files(path)}
            if files <= deleted:
                found[cycle] = path
    return found


def _visible_files(directory: Path) -> list[str]:
    """Of a staging directory and those of its partitions, relative to it."""
    return [
        file.relative_to(directory).as_posix()
        for file in directory.rglob("[!._]*")
        if file.is_file() and not any(part[0] in "._" and "=" not in part for part in file.relative_to(directory).parts)
    ]


def _delete_temporaries(log: Path, kept_s: float) -> None:
    """Of processes that were killed in the middle of a commit."""
    for file in log.glob(TEMPORARIES):
        with suppress(FileNotFoundError):
            if time.time() - file.stat().st_mtime > kept_s:
                file.unlink()
