"""Compaction: rewrites many small files of a Delta table as few large ones. maintenance.py calls it when it is due.

It does not use delta-rs's `optimize.compact`: when two of them run at once, both commit and every row is doubled (seen
with 1.6.6). This one commits only at the table version at which it saw that all its files are part of the table; any
commit in between makes it look again.

The chosen files become a scratch table on the local disk, whose rows delta-rs writes into one file.
"""

import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from deltalake import DeltaTable, QueryBuilder, Schema, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, create_table_with_add_actions

from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.local_log import Removal
from restow.pipeline.delta.staging import COMPACTOR, cycle_directory, cycle_id

TRIES: Final = 100
"""A try takes 10 ms: beside four consumers that commit once a second, most succeed."""

IN_ORDER: Final = {"datafusion.execution.target_partitions": "1"}
"""Reads one file after the other. The writer keeps the order only on one core; it has no setting for it."""

SCRATCH_LOG: Final = "_delta_log/00000000000000000000.json"


Partition = tuple[tuple[str, str | None], ...]
"""The values of a table's partition columns."""


class File(NamedTuple):
    """Sorts by age."""

    added_ms: int
    path: str
    size_bytes: int
    partition: Partition = ()


def files_of(table: DeltaTable) -> list[File]:
    actions = table.get_add_actions()
    columns = [actions[name].to_pylist() for name in ("modification_time", "path", "size_bytes")]
    partitions: list[dict[str, object]] = [{}] * len(columns[0])
    if "partition" in actions.schema.names:
        partitions = list(actions["partition"].to_pylist())
    return sorted(
        File(int(added), unquote(path), size, tuple((name, _text(value)) for name, value in sorted(partition.items())))
        for added, path, size, partition in zip(*columns, partitions, strict=True)
    )


def _text(value: object) -> str | None:
    """Of a value of a partition column, as in the log."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def by_partition(files: Iterable[File]) -> list[list[File]]:
    found: dict[Partition, list[File]] = {}
    for file in files:
        found.setdefault(file.partition, []).append(file)
    return list(found.values())


def chosen_groups(files: Iterable[File], file_bytes: int) -> Iterator[list[File]]:
    """Yields groups of files that become one file each. A large file is left out until the small ones add up to its
    size: else it would be rewritten again and again for the sake of a few rows."""
    small = sorted(file for file in files if file.size_bytes < file_bytes)
    while small and 2 * max(file.size_bytes for file in small) > sum(file.size_bytes for file in small):
        small.remove(max(small, key=lambda file: file.size_bytes))
    group: list[File] = []
    for file in small:
        group.append(file)
        if sum(each.size_bytes for each in group) >= file_bytes:
            yield group
            group = []
    if len(group) > 1:
        yield group


def compact(ledger: Ledger, file_bytes: int, run: int) -> None:
    """`run` distinguishes compactions that begin in the same millisecond. Raises CommitFailedError if other commits
    changed the chosen files, or kept interfering."""
    ledger.load_files()
    groups = (chosen_groups(files, file_bytes) for files in by_partition(files_of(ledger.table)))
    for files in list(chain.from_iterable(groups)):
        stamp = time.time_ns() // 1_000_000
        directory = "/".join([cycle_directory(*COMPACTOR, run, stamp), *_partition_directories(files[0])])
        with tempfile.TemporaryDirectory(prefix="restow-compaction-") as scratch:
            added = _rewrite(ledger, files, Path(scratch), directory)
        _replace(ledger, files, added, stamp)


def _partition_directories(file: File) -> list[str]:
    """Like `country=AT`, as its writer named them. The log has the values, but Polars takes them from the names."""
    return [part for part in file.path.split("/")[:-1] if part.partition("=")[0] in dict(file.partition)]


def _rewrite(ledger: Ledger, files: Sequence[File], scratch: Path, directory: str) -> list[AddAction]:
    """Returns add actions with dataChange = false, dated like the youngest of the files."""
    source, target = scratch / "source", scratch / "target"
    adds = [_fetch(ledger, file, source / f"{number:06}.parquet") for number, file in enumerate(files)]
    partition, columns = dict(files[0].partition), json.loads(ledger.table.schema().to_json())
    columns["fields"] = [field for field in columns["fields"] if field["name"] not in partition]
    schema = Schema.from_json(json.dumps(columns))
    create_table_with_add_actions(str(source), schema, adds)
    rows = QueryBuilder(IN_ORDER).register("source", DeltaTable(source)).execute("SELECT * FROM source")
    write_deltalake(target, rows)
    actions = [json.loads(line) for line in (target / SCRATCH_LOG).read_text().splitlines()]
    written = [action["add"] for action in actions if "add" in action]
    for add in written:
        ledger.files.upload(target / add["path"], f"{directory}/{add['path']}")
    added_ms = max(file.added_ms for file in files)
    return [
        AddAction(f"{directory}/{add['path']}", add["size"], partition, added_ms, data_change=False, stats=add["stats"])
        for add in written
    ]


def _replace(ledger: Ledger, files: Sequence[File], added: Sequence[AddAction], stamp: int) -> None:
    """Only if all files are part of the table until the commit."""
    removed = [Removal(file.path, file.size_bytes, dict(file.partition)) for file in files]
    for _ in range(TRIES):
        ledger.refresh()
        if _has_all(ledger, (add.path for add in added)):
            return  # an earlier attempt was taken, and its answer was lost
        if not _has_all(ledger, (file.path for file in files)) or (ledger[cycle_id(*COMPACTOR)] or 0) >= stamp:
            raise CommitFailedError("another commit replaced files of this compaction")
        with suppress(CommitFailedError):
            ledger.commit({cycle_id(*COMPACTOR): stamp}, added, removed)
            return
    raise CommitFailedError(f"other commits interfered {TRIES} times")


def _has_all(ledger: Ledger, paths: Iterable[str]) -> bool:
    """The files were part of the table when it was last loaded; since then only commits that were read count."""
    have = {file.path for file in files_of(ledger.table)} - (ledger.removed or set())
    return have.issuperset(paths)


def _fetch(ledger: Ledger, file: File, to: Path) -> AddAction:
    to.parent.mkdir(parents=True, exist_ok=True)
    ledger.files.fetch(file.path, to)
    return AddAction(to.name, file.size_bytes, {}, file.added_ms, data_change=True, stats="{}")
