"""Makes many small files of a Delta table into few larger ones. `tidying.py` calls this.

delta-rs has a compaction of its own, which is not used: of two at the same time both are taken, and every row is there
twice (seen with 1.6.6). Here one is taken by the very version of the table at which all its files were seen to be part
of it, or not at all; whatever anybody commits in between makes it look again.

The chosen files become a table of their own on the local disk, whose rows are written into one file.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from deltalake import CommitProperties, DeltaTable, QueryBuilder, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.staging import COMPACTOR, cycle_directory, cycle_id

TRIES: Final = 100
"""A try takes 10 ms; four consumers that commit once a second leave most of them undisturbed."""

IN_ORDER: Final = {"datafusion.execution.target_partitions": "1"}
"""One file after the other. The writer has no such setting: it keeps the order where it has one core."""

SCRATCH_LOG: Final = "_delta_log/00000000000000000000.json"


class File(NamedTuple):
    """In the order in which they came, if sorted."""

    added_ms: int
    path: str
    size_bytes: int


def files_of(table: DeltaTable) -> list[File]:
    actions = table.get_add_actions()
    columns = (actions[name].to_pylist() for name in ("modification_time", "path", "size_bytes"))
    return sorted(File(int(added), path, size) for added, path, size in zip(*columns, strict=True))


def chosen(files: Iterable[File], file_bytes: int) -> Iterator[list[File]]:
    """Files that become one, each time. A large one among small ones is left until they have grown to its size: else
    it would be written again and again for the sake of a few rows."""
    small = sorted(file for file in files if file.size_bytes < file_bytes)
    while small and 2 * max(file.size_bytes for file in small) > sum(file.size_bytes for file in small):
        small.remove(max(small, key=lambda file: file.size_bytes))
    some: list[File] = []
    for file in small:
        some.append(file)
        if sum(each.size_bytes for each in some) >= file_bytes:
            yield some
            some = []
    if len(some) > 1:
        yield some


def compact(ledger: Ledger, file_bytes: int, run: int) -> None:
    """`run` tells this one from others that began in the same millisecond. Raises CommitFailedError if others were in
    the way all the time."""
    for files in list(chosen(files_of(ledger.table), file_bytes)):
        stamp = time.time_ns() // 1_000_000
        directory = cycle_directory(*COMPACTOR, run, stamp)
        with tempfile.TemporaryDirectory(prefix="restow-compaction-") as scratch:
            added = _rewritten(ledger, files, Path(scratch), directory)
        _exchange(ledger, files, added, stamp)


def _rewritten(ledger: Ledger, files: Sequence[File], scratch: Path, directory: str) -> list[AddAction]:
    """Adds that change no data, as old as the youngest of the files."""
    source, target = scratch / "source", scratch / "target"
    adds = [_fetch(ledger, file, source / f"{number:06}.parquet") for number, file in enumerate(files)]
    schema = Schema.from_json(ledger.table.schema().to_json())
    create_table_with_add_actions(str(source), schema, adds)
    rows = QueryBuilder(IN_ORDER).register("source", DeltaTable(source)).execute("SELECT * FROM source")
    write_deltalake(target, rows)
    actions = [json.loads(line) for line in (target / SCRATCH_LOG).read_text().splitlines()]
    written = [action["add"] for action in actions if "add" in action]
    for add in written:
        _send(ledger, target / add["path"], f"{directory}/{add['path']}")
    added_ms = max(file.added_ms for file in files)
    return [
        AddAction(f"{directory}/{add['path']}", add["size"], {}, added_ms, data_change=False, stats=add["stats"])
        for add in written
    ]


def _exchange(ledger: Ledger, files: Sequence[File], added: Sequence[AddAction], stamp: int) -> None:
    for _ in range(TRIES):
        ledger.refresh()
        have = {file.path for file in files_of(ledger.table)}
        if not have.issuperset(file.path for file in files) or (ledger[cycle_id(*COMPACTOR)] or 0) >= stamp:
            raise CommitFailedError("others were faster")
        now_ms = time.time_ns() // 1_000_000
        removed = [RemoveAction(file.path, False, now_ms, file.size_bytes, {}) for file in files]
        try:
            ledger.table.create_write_transaction(
                [*added, *removed],
                mode="append",
                schema=ledger.table.schema(),
                commit_properties=CommitProperties(
                    app_transactions=[Transaction(cycle_id(*COMPACTOR), stamp)],
                    max_commit_retries=0,  # at this version, at which the files were seen, or not at all
                ),
            )
        except CommitFailedError:
            continue
        ledger.refresh()
        return
    raise CommitFailedError("others were in the way all the time")


def _fetch(ledger: Ledger, file: File, to: Path) -> AddAction:
    to.parent.mkdir(parents=True, exist_ok=True)
    local = Path(ledger.uri) / file.path
    if local.is_file():
        to.symlink_to(local)
    else:
        to.write_bytes(ledger.read(file.path))
    return AddAction(to.name, file.size_bytes, {}, file.added_ms, data_change=True, stats="{}")


def _send(ledger: Ledger, file: Path, to: str) -> None:
    if Path(ledger.uri).is_dir():
        target = Path(ledger.uri) / to
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    else:
        ledger.write(to, file.read_bytes())
