"""Measures how a commit to a Delta table, and opening it, become slower with the number of commits, with and without
maintenance.

    .venv/bin/python bench/delta_growth.py --commits 3000

    .venv/bin/python bench/delta_growth.py --tables a-day --commits 86400

A commit adds one file of three rows and moves twenty partitions. The growth is that of the CPU time, which a busy
machine doesn't change. A maintained table has restow's defaults, except that compaction runs in the foreground: here
cycles follow each other without a pause. `a-day` keeps all log entries and removed files of the run, as a table has
them after a day of one-second cycles; `maintained` lets log entries expire after seconds.
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

from restow.model import TopicPartition
from restow.pipeline.delta.compaction import compact
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.maintenance import MB
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import Writer, WrittenFile
from restow.pipeline.sinks import Span
from restow.settings import Table as TableSettings

PARTITIONS = tuple(TopicPartition("orders", number) for number in range(20))
SCHEMA = '{"type":"struct","fields":[{"name":"offset","type":"long","nullable":true,"metadata":{}}]}'
ROWS = 3
OPENS = 5

TABLES = {
    "maintained": TableSettings(log_kept_s=2.0),
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


def commit_times(root: Path, settings: TableSettings, commits: int) -> Iterator[CommitTime]:
    file = template(root / "template")
    table = DeltaSink(str(root / "table"), Writer("bench", 1, 1), settings, write_files=_no_spark)
    table.register(dict.fromkeys(PARTITIONS, 0), SCHEMA)
    for number in range(commits):
        path = f"{table.staging()}/part-0.parquet"
        target = root / "table" / path
        target.parent.mkdir(parents=True)
        target.write_bytes(file)
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        replaced = table.commit(
            [WrittenFile(path, len(file), ROWS)], SCHEMA, dict.fromkeys(PARTITIONS, Span(number, number + 1))
        )
        took_s, cpu_took_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
        table.checkpoint_if_due()
        yield CommitTime(1000 * took_s, 1000 * cpu_took_s, 1000 * (time.process_time() - cpu_s))
        assert replaced == ()
        if settings.compact_at_files and number % settings.compact_at_files == settings.compact_at_files - 1:
            compact(Ledger(table.uri), settings.file_mb * MB, run=number)


def measured(settings: TableSettings, commits: int) -> dict[str, float | list[float]]:
    with tempfile.TemporaryDirectory(prefix="restow-growth-") as directory:
        times = list(commit_times(Path(directory), settings, commits))
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
            "mean_cpu_ms_with_checkpoints": _means([each.maintained_ms for each in times]),
            "open_cpu_ms": round(statistics.median(opens), 2),
            "files": len(DeltaTable(root).file_uris()),
            "log_entries": len(list((root / "_delta_log").iterdir())),
        }


def _opened(root: Path) -> float:
    """CPU time in ms of a reader that opens the table and lists its files."""
    begun_s = time.process_time()
    DeltaTable(root).file_uris()
    return 1000 * (time.process_time() - begun_s)


def _means(values: list[float]) -> list[float]:
    """Of each tenth of the run."""
    tenth = max(1, len(values) // 10)
    return [round(statistics.mean(values[at : at + tenth]), 2) for at in range(0, len(values), tenth)][:10]


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
    options = parser.parse_args()
    for name in options.tables.split(","):
        commits = options.commits if name in ("maintained", "a-day") else options.unmaintained_commits
        print(json.dumps({"table": name, **measured(TABLES[name], commits)}))  # noqa: T201  its result


if __name__ == "__main__":
    main()
