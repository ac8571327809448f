"""Compaction and vacuum of Delta tables: no row and no offset changes, and no file is deleted too soon."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from tests.support.delta.lake import COLUMNS, P0, P1, Spans, brought, lake, on_disk, rows, store, stored, visible, write

from restow.pipeline.delta import compaction, maintenance, vacuum
from restow.pipeline.delta.compaction import File, chosen_groups, compact
from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import WrittenFile
from restow.pipeline.sinks import Span
from restow.settings import Table as TableSettings

Eventually = Callable[[Callable[[], object]], None]

KEPT_S = 3600.0
SETTINGS = TableSettings(compact_at_files=5, removed_files_kept_s=KEPT_S)
IMPATIENT = TableSettings(compact_at_files=5, removed_files_kept_s=1.0)


def filled(root: Path, batches: int, settings: TableSettings = SETTINGS) -> DeltaSink:
    table = lake(root, 1, settings)
    table.register({P0: 0, P1: 0}, COLUMNS)
    for batch in range(batches):
        assert store(table, {P0: Span(batch, batch + 1)}) == ()
    return table


def maintain(root: Path, settings: TableSettings = SETTINGS) -> None:
    maintenance.maintain(str(root), settings)


def maintain_as_a_process(root: Path, settings: TableSettings = SETTINGS) -> None:
    command = [sys.executable, "-m", "restow.pipeline.delta.maintenance", str(root), json.dumps(asdict(settings))]
    subprocess.run(command, check=True, timeout=60)


def write_long_ago(table: DeltaSink, spans: Spans, monkeypatch: pytest.MonkeyPatch) -> list[WrittenFile]:
    """Both the stamp and the files' modification times are old."""
    long_ago_ns = time.time_ns() - int(2 * KEPT_S * 1e9)
    with monkeypatch.context() as clock:
        clock.setattr(time, "time_ns", lambda: long_ago_ns)
        files = write(table, spans)
    for file in files:
        os.utime(Path(table.uri) / file.path, ns=(long_ago_ns, long_ago_ns))
    return files


def test_many_small_files_become_one_and_rows_offsets_and_order_stay(tmp_path: Path) -> None:
    table = filled(tmp_path, 12)
    maintain_as_a_process(tmp_path)
    assert len(visible(tmp_path)) == 1
    assert stored(tmp_path) == rows({P0: Span(0, 12)})
    [file] = visible(tmp_path)
    with duckdb.connect() as engine:
        order = engine.execute(f"SELECT \"offset\" FROM '{tmp_path / file}'").fetchall()
    assert order == [(offset,) for offset in range(12)]
    assert table.positions([P0, P1]) == {P0: 12, P1: 0}
    assert store(table, {P0: Span(12, 13)}) == ()


def test_an_object_store_is_maintained_through_delta_rs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 6)
    [old] = write_long_ago(lake(tmp_path, 2, SETTINGS), {P1: Span(0, 5)}, monkeypatch)
    maintenance.maintain(tmp_path.as_uri(), SETTINGS)
    assert (len(visible(tmp_path)), (tmp_path / old.path).exists()) == (1, False)
    assert stored(tmp_path) == rows({P0: Span(0, 6)})


def test_few_small_files_are_left_alone(tmp_path: Path) -> None:
    filled(tmp_path, 4)
    maintain(tmp_path)
    assert len(visible(tmp_path)) == 4


def test_compaction_that_another_consumer_started_is_not_repeated(tmp_path: Path) -> None:
    table = filled(tmp_path, 6)
    maintain(tmp_path)
    for batch in range(6, 12):
        store(table, {P0: Span(batch, batch + 1)})
    version = DeltaTable(tmp_path).version()
    maintain(tmp_path)
    assert (DeltaTable(tmp_path).version(), len(visible(tmp_path))) == (version, 7)


def test_the_later_of_two_compactions_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 6)
    late = Ledger(str(tmp_path))
    replace = compaction._replace

    def another_compacts_first(*arguments: Any) -> None:
        monkeypatch.undo()
        compact(Ledger(str(tmp_path)), 2**20, run=1)
        replace(*arguments)

    monkeypatch.setattr(compaction, "_replace", another_compacts_first)
    with pytest.raises(CommitFailedError, match="another commit replaced files"):
        compact(late, 2**20, run=2)
    assert stored(tmp_path) == rows({P0: Span(0, 6)})


def test_compaction_gives_way_to_a_delete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 6)
    replace = compaction._replace

    def delete_first(*arguments: Any) -> None:
        DeltaTable(tmp_path).delete('"offset" = 3')
        replace(*arguments)

    monkeypatch.setattr(compaction, "_replace", delete_first)
    with pytest.raises(CommitFailedError, match="another commit replaced files"):
        compact(Ledger(str(tmp_path)), 2**20, run=1)
    assert stored(tmp_path) == rows({P0: Span(0, 3)}) + rows({P0: Span(4, 6)})


def test_compaction_gives_way_to_a_delete_between_its_last_look_and_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, 6)
    commit = Ledger.commit

    def delete_first(*arguments: Any) -> None:
        monkeypatch.undo()
        DeltaTable(tmp_path).delete('"offset" = 3')
        commit(*arguments)

    monkeypatch.setattr(Ledger, "commit", delete_first)
    with pytest.raises(CommitFailedError, match="another commit replaced files"):
        compact(Ledger(str(tmp_path)), 2**20, run=1)
    assert stored(tmp_path) == rows({P0: Span(0, 3)}) + rows({P0: Span(4, 6)})


def test_compaction_is_refused_after_vacuum_deleted_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 6)
    replace = compaction._replace

    def vacuum_first(ledger: Ledger, *arguments: Any) -> None:
        [output] = on_disk(tmp_path) - visible(tmp_path)
        os.utime(tmp_path / output, ns=(0, 0))
        vacuum.vacuum(Ledger(str(tmp_path)), KEPT_S)
        assert not (tmp_path / output).exists()
        replace(ledger, *arguments)

    monkeypatch.setattr(compaction, "_replace", vacuum_first)
    with pytest.raises(CommitFailedError, match="another commit replaced files"):
        compact(Ledger(str(tmp_path)), 2**20, run=1)
    assert stored(tmp_path) == rows({P0: Span(0, 6)})


def test_a_large_file_waits_until_the_small_ones_add_up_to_its_size() -> None:
    large, small = File(1, "a", 400), [File(2 + number, "b", 10) for number in range(20)]
    assert list(chosen_groups([large, *small], 1000)) == [small]
    some_more = [File(30 + number, "c", 10) for number in range(25)]
    assert list(chosen_groups([large, *small, *some_more], 1000)) == [[large, *small, *some_more]]


def test_small_files_are_grouped_up_to_the_target_size_and_large_ones_stay() -> None:
    files = [File(number, "a", 300) for number in range(9)]
    assert list(chosen_groups([*files, File(20, "b", 1000)], 1000)) == [files[:4], files[4:8]]


def test_files_that_compaction_leaves_are_not_counted_again(tmp_path: Path) -> None:
    filled(tmp_path, 6)
    maintain(tmp_path)
    ledger = Ledger(str(tmp_path))
    assert ledger[maintenance.SMALL_FILES_LEFT] == maintenance.small_files(ledger.table, SETTINGS) == 1
    table = lake(tmp_path, 1, SETTINGS)
    crowded = []
    for batch in range(6, 11):
        crowded.append(maintenance.has_new_small_files(ledger, SETTINGS))
        store(table, {P0: Span(batch, batch + 1)})
        ledger.reload()
    assert [*crowded, maintenance.has_new_small_files(ledger, SETTINGS)] == [False, False, False, False, False, True]


def test_compacted_files_are_deleted_after_the_retention(tmp_path: Path, eventually: Eventually) -> None:
    filled(tmp_path, 6, IMPATIENT)
    maintain(tmp_path, IMPATIENT)
    assert len(on_disk(tmp_path)) == 7

    def vacuumed() -> bool:
        maintain(tmp_path, IMPATIENT)
        return on_disk(tmp_path) == visible(tmp_path)

    eventually(vacuumed)
    assert stored(tmp_path) == rows({P0: Span(0, 6)})
    assert not list(tmp_path.glob("data/shop/consumer-1/*")), "empty directories are deleted too"


def test_files_that_were_never_committed_are_deleted_after_the_retention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filled(tmp_path, 2)
    [old] = write_long_ago(lake(tmp_path, 2, SETTINGS), {P1: Span(0, 5)}, monkeypatch)
    [young] = write(lake(tmp_path, 3, SETTINGS), {P1: Span(0, 5)})
    (tmp_path / old.path).with_name("_temporary").mkdir()
    (tmp_path / old.path).with_name(".part-0.parquet.crc").touch()
    maintain(tmp_path)
    assert on_disk(tmp_path) == visible(tmp_path) | {young.path}
    assert not (tmp_path / old.path).parent.exists()
    assert store(table, {P0: Span(2, 3)}) == ()


def test_hidden_files_of_a_killed_spark_job_are_deleted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 2)
    [old] = write_long_ago(lake(tmp_path, 2, SETTINGS), {P1: Span(0, 5)}, monkeypatch)
    hidden = (tmp_path / old.path).parent / "_temporary" / "part-0.parquet"
    hidden.parent.mkdir()
    (tmp_path / old.path).rename(hidden)
    maintain(tmp_path)
    assert not hidden.parent.parent.exists()


def test_a_late_cycle_is_refused_after_vacuum_and_writes_its_files_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, 1)
    late = lake(tmp_path, 2, SETTINGS)
    files = write_long_ago(late, spans := {P1: Span(0, 5)}, monkeypatch)
    maintain(tmp_path)
    with pytest.raises(DeltaTableError, match=r"vacuum removed files of this one; write it again$"):
        late.commit(files, COLUMNS, spans)
    assert store(late, spans) == ()
    assert stored(tmp_path) == rows({P0: Span(0, 1), **spans})


def test_a_late_cycle_that_commits_during_vacuum_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, 1)
    late = lake(tmp_path, 2, SETTINGS)
    files = write_long_ago(late, spans := {P1: Span(0, 5)}, monkeypatch)
    fences = vacuum._fences

    def commit_first(*arguments: object) -> dict[str, int]:
        found = fences(*arguments)  # type: ignore[arg-type]
        assert late.commit(files, COLUMNS, spans) == ()
        return found

    monkeypatch.setattr(vacuum, "_fences", commit_first)
    with pytest.raises(CommitFailedError):
        maintain(tmp_path)
    assert stored(tmp_path) == rows({P0: Span(0, 1), **spans})


def test_a_clock_that_went_back_delays_one_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 1)
    restarted = lake(tmp_path, 1, SETTINGS, incarnation=8)
    files = write_long_ago(restarted, spans := {P0: Span(1, 2)}, monkeypatch)
    with pytest.raises(DeltaTableError, match=r"write it again$"):
        restarted.commit(files, COLUMNS, spans)
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert store(restarted, spans) == ()


def test_a_consumer_starts_maintenance_beside_its_cycles(tmp_path: Path, eventually: Eventually) -> None:
    table = lake(tmp_path, 1, SETTINGS)
    table.register({P0: 0}, COLUMNS)
    for batch in range(30):
        assert store(table, {P0: Span(batch, batch + 1)}) == ()
        table.maintain()
    eventually(lambda: len(visible(tmp_path)) < 15)
    table.close()
    assert stored(tmp_path) == rows({P0: Span(0, 30)})


def test_failed_maintenance_is_logged_once_and_left_for_the_next_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, eventually: Eventually
) -> None:
    failing = maintenance.Maintenance(str(tmp_path / "nowhere"), SETTINGS)
    failing._start()
    filled(tmp_path / "orders", 0)
    ledger = Ledger(str(tmp_path / "orders"))

    def has_ended() -> bool:
        failing.run_if_due(ledger)
        return failing._process is None

    eventually(has_ended)
    [line] = caplog.messages
    assert line.startswith(f"maintenance of the table {tmp_path / 'nowhere'} failed: ")
    assert line.endswith("; it is retried later")


def test_a_streaming_reader_that_was_away_finds_every_commit_with_its_files(tmp_path: Path) -> None:
    settings = TableSettings(compact_at_files=5, checkpoint_every_commits=3)
    table = filled(tmp_path, 12, settings)
    table.checkpoint_if_due()
    maintain(tmp_path, settings)
    assert len(visible(tmp_path)) == 1
    entries = sorted((tmp_path / "_delta_log").glob("*.json"))
    assert [int(entry.stem) for entry in entries] == list(range(DeltaTable(tmp_path).version() + 1))
    assert [file.exists() for file in brought(tmp_path)] == [True] * 12


def test_log_entries_expire_after_a_checkpoint(tmp_path: Path) -> None:
    settings = TableSettings(checkpoint_every_commits=5, log_kept_s=0.0)
    table = lake(tmp_path, 1, settings)
    table.register({P0: 0}, COLUMNS)
    for batch in range(23):
        assert table.commit([], COLUMNS, {P0: Span(batch, batch + 1)}) == ()
        table.checkpoint_if_due()
    kept = sorted(path.name for path in (tmp_path / "_delta_log").glob("*.json"))
    assert len(kept) <= 2 * 5
    assert lake(tmp_path).positions([P0]) == {P0: 23}


def test_superseded_checkpoints_are_deleted_except_for_one_an_hour(tmp_path: Path) -> None:
    table = lake(tmp_path, 1, TableSettings(checkpoint_every_commits=2))
    table.register({P0: 0}, COLUMNS)
    for batch in range(40):
        assert table.commit([], COLUMNS, {P0: Span(batch, batch + 1)}) == ()
        table.checkpoint_if_due()
    kept = sorted(int(path.name[:20]) for path in (tmp_path / "_delta_log").glob("*.checkpoint.parquet"))
    newest = DeltaTable(tmp_path).version()
    assert kept == [2, *range(newest - newest % 2 - 8, newest + 1, 2)]
    assert DeltaTable(tmp_path, version=21).transaction_version("shop/orders/0") == 20, "time travel works"
    assert len(list((tmp_path / "_delta_log").glob("*.json"))) == newest + 1
