"""Measures how a commit to a Delta table, and opening it, become slower with the number of commits, with and without
maintenance.

    .venv/bin/python bench/delta_growth.py --commits 3000

    .venv/bin/python bench/delta_growth.py --tables a-day --commits 86400 --log-only

A commit adds one file of three rows and moves twenty partitions. The growth is that of the CPU time, which a busy
machine doesn't change. A maintained table has restow's defaults, except that compaction runs in the foreground: here
cycles follow each other without a pause. `a-day` keeps all log entries and removed files of the run, as a table has
them after a day of one-second cycles; `maintained` lets log entries expire at once. With --log-only the log is
the same, but there are no Parquet files: a compaction is only its commit. Then checkpoints are written every thousand
commits until the last thousand, in which they come as often as in a real table.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from arro3.core import Array, DataType, RecordBatch
from arro3.core import Table as Columns
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import AddAction

from restow.model import TopicPartition
from restow.pipeline.delta.compaction import compact
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.local_log import Removal
from restow.pipeline.delta.maintenance import MB
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import COMPACTOR, Writer, WrittenFile, cycle_directory, cycle_id
from restow.pipeline.sinks import Span
from restow.settings import Table as TableSettings

PARTITIONS = tuple(TopicPartition("orders", number) for number in range(20))
SCHEMA = '{"type":"struct","fields":[{"name":"offset","type":"long","nullable":true,"metadata":{}}]}'
ROWS = 3
OPENS = 5
LAST = 1000

TABLES = {
    "maintained": TableSettings(log_kept_s=0.0),
    "a-day": TableSettings(log_kept_s=86_400.0, removed_files_kept_s=86_400.0),
    "checkpoints-only": TableSettings(checkpoint_every_commits=100, compact_at_files=0),  # what delta-rs does by itself
    "unmaintained": TableSettings(checkpoint_every_commits=1_000_000, compact_at_files=0),
}


def template(directory: Path) -> bytes:
    columns = Columns.from_batches([RecordBatch.from_pydict({"offset": Array([0, 1, 2], DataType.int64())})])
    write_deltalake(directory, columns)
    [file] = directory.glob("*.parquet")
    return file.read_bytes()


def _no_spark(*_: object) -> list[WrittenFile]:
    raise AssertionError("this benchmark writes its files itself")


class CommitTime(NamedTuple):
    wall_ms: float
    cpu_ms: float
    """Of the commit alone."""
    maintained_ms: float
    """CPU time of the commit and of what follows from it: checkpoints, and the expiry of log entries."""


def commit_times(root: Path, settings: TableSettings, commits: int, *, log_only: bool) -> Iterator[CommitTime]:
    file = template(root / "template")
    table = DeltaSink(str(root / "table"), Writer("bench", 1, 1), settings, write_files=_no_spark)
    table.register(dict.fromkeys(PARTITIONS, 0), SCHEMA)
    ledger, small = Ledger(table.uri), list[WrittenFile]()
    for number in range(commits):
        small.append(WrittenFile(f"{table.staging()}/part-0.parquet", len(file), ROWS))
        if not log_only:
            target = root / "table" / small[-1].path
            target.parent.mkdir(parents=True)
            target.write_bytes(file)
        is_filling = log_only and number < commits - LAST
        yield _committed(table, small[-1], number, has_checkpoint=not is_filling or number % LAST == 0)
        if settings.compact_at_files and len(small) == settings.compact_at_files:
            _compact(ledger, small, settings, number, log_only=log_only)
            small.clear()


def _committed(table: DeltaSink, file: WrittenFile, number: int, *, has_checkpoint: bool) -> CommitTime:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    replaced = table.commit([file], SCHEMA, dict.fromkeys(PARTITIONS, Span(number, number + 1)))
    took_s, cpu_took_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    assert replaced == ()
    if has_checkpoint:
        table.checkpoint_if_due()
    return CommitTime(1000 * took_s, 1000 * cpu_took_s, 1000 * (time.process_time() - cpu_s))


def _compact(ledger: Ledger, small: list[WrittenFile], settings: TableSettings, number: int, *, log_only: bool) -> None:
    size = sum(file.size_bytes for file in small)
    if not log_only:
        compact(ledger, settings.file_mb * MB, run=number)
        return
    path = f"{cycle_directory(*COMPACTOR, 1, number)}/part-0.parquet"
    added = AddAction(path, size, {}, number, data_change=False, stats=f'{{"numRecords":{ROWS * len(small)}}}')
    removed = [Removal(file.path, file.size_bytes, {}) for file in small]
    ledger.refresh()
    ledger.removed = set()
    ledger.commit({cycle_id(*COMPACTOR): number}, [added], removed)


def measured(settings: TableSettings, commits: int, *, log_only: bool) -> dict[str, float | list[float]]:
    with tempfile.TemporaryDirectory(prefix="restow-growth-") as directory:
        times = list(commit_times(Path(directory), settings, commits, log_only=log_only))
        root = Path(directory) / "table"
        opens = [_opened(root) for _ in range(OPENS)]
        first, last = (
            CommitTime(*map(statistics.median, zip(*part, strict=True))) for part in (times[:100], times[-100:])
        )
        return {
            "commits": commits,
            "first_hundred_ms": round(first.wall_ms, 2),
            "last_hundred_ms": round(last.wall_ms, 2),
            "p99_ms": round(statistics.quantiles([each.wall_ms for each in times], n=100)[-1], 2),
            "first_hundred_cpu_ms": round(first.cpu_ms, 2),
            "last_hundred_cpu_ms": round(last.cpu_ms, 2),
            "growth": round(last.cpu_ms / first.cpu_ms, 2),
            "cpu_ms_by_tenths": _medians([each.cpu_ms for each in times]),
            "last_cpu_ms_with_checkpoints": round(statistics.mean(each.maintained_ms for each in times[-LAST:]), 2),
            "open_cpu_ms": round(statistics.median(opens), 2),
            "files": len(DeltaTable(root).file_uris()),
            "log_entries": len(list((root / "_delta_log").iterdir())),
            "log_mb": round(sum(path.stat().st_size for path in (root / "_delta_log").iterdir()) / MB, 1),
        }


def _opened(root: Path) -> float:
    """CPU time in ms of a reader that opens the table and lists its files."""
    begun_s = time.process_time()
    DeltaTable(root).file_uris()
    return 1000 * (time.process_time() - begun_s)


def _medians(values: list[float]) -> list[float]:
    """Of each tenth of the run."""
    tenth = max(1, len(values) // 10)
    return [round(statistics.median(values[at : at + tenth]), 2) for at in range(0, len(values), tenth)][:10]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=3000)
    parser.add_argument(
        "--unmaintained-commits",
        type=int,
        default=1000,
        help="of the other tables, whose commits become slow (default: %(default)d)",
    )
    default = ",".join(name for name in TABLES if name != "a-day")
    parser.add_argument("--tables", default=default, help="which to measure (default: %(default)s)")
    parser.add_argument("--log-only", action="store_true", help="write no Parquet files")
    options = parser.parse_args()
    for name in options.tables.split(","):
        commits = options.commits if name in ("maintained", "a-day") else options.unmaintained_commits
        print(json.dumps({"table": name, **measured(TABLES[name], commits, log_only=options.log_only)}))  # noqa: T201  its result


if __name__ == "__main__":
    main()
