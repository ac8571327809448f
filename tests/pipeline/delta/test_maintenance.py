"""Compaction and sweeping of Delta tables: no row and no offset changes, and nobody's files are swept too soon."""

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
from tests.support.delta.lake import COLUMNS, P0, P1, Spans, lake, on_disk, rows, store, stored, visible, write

from restow.pipeline.delta import compaction, maintenance, vacuum
from restow.pipeline.delta.compaction import File, chosen, compact
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.table import DeltaLake
from restow.pipeline.delta.vacuum import sweep
from restow.pipeline.table import Span, TableTrouble, WrittenFile
from restow.settings import Table as TableSettings

Eventually = Callable[[Callable[[], object]], None]

KEPT_S = 3600.0
SETTINGS = TableSettings(compact_at_files=5, removed_files_kept_s=KEPT_S)
IMPATIENT = TableSettings(compact_at_files=5, removed_files_kept_s=1.0)


def filled(root: Path, batches: int, settings: TableSettings = SETTINGS) -> DeltaLake:
    table = lake(root, 1, settings)
    table.begin({P0: 0, P1: 0}, COLUMNS)
    for batch in range(batches):
        assert store(table, {P0: Span(batch, batch + 1)}) == ()
    return table


def tidy(root: Path, settings: TableSettings = SETTINGS) -> None:
    maintenance.tidy(str(root), settings)


def tidy_as_a_process(root: Path, settings: TableSettings = SETTINGS) -> None:
    command = [sys.executable, "-m", "restow.pipeline.delta.maintenance", str(root), json.dumps(asdict(settings))]
    subprocess.run(command, check=True, timeout=60)


def write_long_ago(table: DeltaLake, spans: Spans, monkeypatch: pytest.MonkeyPatch) -> list[WrittenFile]:
    """By the consumer's clock, and by the files' own times."""
    long_ago_ns = time.time_ns() - int(2 * KEPT_S * 1e9)
    with monkeypatch.context() as clock:
        clock.setattr(time, "time_ns", lambda: long_ago_ns)
        files = write(table, spans)
    for file in files:
        os.utime(Path(table.uri) / file.path, ns=(long_ago_ns, long_ago_ns))
    return files


def test_many_small_files_become_one_and_rows_offsets_and_order_stay(tmp_path: Path) -> None:
    table = filled(tmp_path, 12)
    tidy_as_a_process(tmp_path)
    assert len(visible(tmp_path)) == 1
    assert stored(tmp_path) == rows({P0: Span(0, 12)})
    [file] = visible(tmp_path)
    with duckdb.connect() as engine:
        order = engine.execute(f"SELECT \"offset\" FROM '{tmp_path / file}'").fetchall()
    assert order == [(offset,) for offset in range(12)]
    assert table.positions([P0, P1]) == {P0: 12, P1: 0}
    assert store(table, {P0: Span(12, 13)}) == ()


def test_a_store_that_is_no_local_directory_is_tidied_through_delta_rs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, 6)
    [old] = write_long_ago(lake(tmp_path, 2, SETTINGS), {P1: Span(0, 5)}, monkeypatch)
    maintenance.tidy(tmp_path.as_uri(), SETTINGS)
    assert (len(visible(tmp_path)), (tmp_path / old.path).exists()) == (1, False)
    assert stored(tmp_path) == rows({P0: Span(0, 6)})


def test_few_small_files_are_left_alone(tmp_path: Path) -> None:
    filled(tmp_path, 4)
    tidy(tmp_path)
    assert len(visible(tmp_path)) == 4


def test_what_was_said_to_be_done_is_not_done_by_another(tmp_path: Path) -> None:
    table = filled(tmp_path, 6)
    tidy(tmp_path)
    for batch in range(6, 12):
        store(table, {P0: Span(batch, batch + 1)})
    version = DeltaTable(tmp_path).version()
    tidy(tmp_path)
    assert (DeltaTable(tmp_path).version(), len(visible(tmp_path))) == (version, 7)


def test_compaction_that_comes_after_another_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 6)
    late = Ledger(str(tmp_path))
    exchange = compaction._exchange

    def let_another_be_faster(*arguments: Any) -> None:
        monkeypatch.undo()
        compact(Ledger(str(tmp_path)), 2**20, run=1)
        exchange(*arguments)

    monkeypatch.setattr(compaction, "_exchange", let_another_be_faster)
    with pytest.raises(CommitFailedError, match="others were faster"):
        compact(late, 2**20, run=2)
    assert stored(tmp_path) == rows({P0: Span(0, 6)})


def test_compaction_gives_way_to_somebody_who_deletes_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 6)
    exchange = compaction._exchange

    def let_somebody_delete(*arguments: Any) -> None:
        DeltaTable(tmp_path).delete('"offset" = 3')
        exchange(*arguments)

    monkeypatch.setattr(compaction, "_exchange", let_somebody_delete)
    with pytest.raises(CommitFailedError, match="others were faster"):
        compact(Ledger(str(tmp_path)), 2**20, run=1)
    assert stored(tmp_path) == rows({P0: Span(0, 3)}) + rows({P0: Span(4, 6)})


def test_compaction_gives_way_also_between_its_last_look_and_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, 6)
    commit = DeltaTable.create_write_transaction

    def let_somebody_delete(*arguments: Any, **more: Any) -> None:
        monkeypatch.undo()
        DeltaTable(tmp_path).delete('"offset" = 3')
        commit(*arguments, **more)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", let_somebody_delete)
    with pytest.raises(CommitFailedError, match="others were faster"):
        compact(Ledger(str(tmp_path)), 2**20, run=1)
    assert stored(tmp_path) == rows({P0: Span(0, 3)}) + rows({P0: Span(4, 6)})


def test_compaction_whose_files_were_swept_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 6)
    exchange = compaction._exchange

    def sweep_what_is_not_committed(ledger: Ledger, *arguments: Any) -> None:
        [output] = on_disk(tmp_path) - visible(tmp_path)
        os.utime(tmp_path / output, ns=(0, 0))
        sweep(Ledger(str(tmp_path)), KEPT_S)
        assert not (tmp_path / output).exists()
        exchange(ledger, *arguments)

    monkeypatch.setattr(compaction, "_exchange", sweep_what_is_not_committed)
    with pytest.raises(CommitFailedError, match="others were faster"):
        compact(Ledger(str(tmp_path)), 2**20, run=1)
    assert stored(tmp_path) == rows({P0: Span(0, 6)})


def test_a_large_file_waits_until_the_small_ones_have_grown_to_its_size() -> None:
    large, small = File(1, "a", 400), [File(2 + number, "b", 10) for number in range(20)]
    assert list(chosen([large, *small], 1000)) == [small]
    some_more = [File(30 + number, "c", 10) for number in range(25)]
    assert list(chosen([large, *small, *some_more], 1000)) == [[large, *small, *some_more]]


def test_files_become_as_large_as_they_should_and_large_ones_stay() -> None:
    files = [File(number, "a", 300) for number in range(9)]
    assert list(chosen([*files, File(20, "b", 1000)], 1000)) == [files[:4], files[4:8]]


def test_files_that_compaction_leaves_are_not_counted_again(tmp_path: Path) -> None:
    filled(tmp_path, 6)
    tidy(tmp_path)
    ledger = Ledger(str(tmp_path))
    assert ledger[maintenance.LEFT_SMALL] == maintenance.small_files(ledger.table, SETTINGS) == 1
    table = lake(tmp_path, 1, SETTINGS)
    crowded = []
    for batch in range(6, 11):
        crowded.append(maintenance.is_crowded(ledger, SETTINGS))
        store(table, {P0: Span(batch, batch + 1)})
        ledger.refresh()
    assert [*crowded, maintenance.is_crowded(ledger, SETTINGS)] == [False, False, False, False, False, True]


def test_compacted_files_go_when_they_were_kept_long_enough(tmp_path: Path, eventually: Eventually) -> None:
    filled(tmp_path, 6, IMPATIENT)
    tidy(tmp_path, IMPATIENT)
    assert len(on_disk(tmp_path)) == 7

    def swept() -> bool:
        tidy(tmp_path, IMPATIENT)
        return on_disk(tmp_path) == visible(tmp_path)

    eventually(swept)
    assert stored(tmp_path) == rows({P0: Span(0, 6)})
    assert not list(tmp_path.glob("data/shop/consumer-1/*")), "nor do empty directories stay"


def test_files_that_were_never_committed_are_swept_when_they_are_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filled(tmp_path, 2)
    [old] = write_long_ago(lake(tmp_path, 2, SETTINGS), {P1: Span(0, 5)}, monkeypatch)
    [young] = write(lake(tmp_path, 3, SETTINGS), {P1: Span(0, 5)})
    (tmp_path / old.path).with_name("_temporary").mkdir()
    (tmp_path / old.path).with_name(".part-0.parquet.crc").touch()
    tidy(tmp_path)
    assert on_disk(tmp_path) == visible(tmp_path) | {young.path}
    assert not (tmp_path / old.path).parent.exists()
    assert store(table, {P0: Span(2, 3)}) == ()


def test_what_a_killed_job_of_spark_hid_is_swept_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 2)
    [old] = write_long_ago(lake(tmp_path, 2, SETTINGS), {P1: Span(0, 5)}, monkeypatch)
    hidden = (tmp_path / old.path).parent / "_temporary" / "part-0.parquet"
    hidden.parent.mkdir()
    (tmp_path / old.path).rename(hidden)
    tidy(tmp_path)
    assert not hidden.parent.parent.exists()


def test_one_whose_files_were_swept_is_refused_and_writes_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, 1)
    late = lake(tmp_path, 2, SETTINGS)
    files = write_long_ago(late, spans := {P1: Span(0, 5)}, monkeypatch)
    tidy(tmp_path)
    with pytest.raises(TableTrouble, match=r"swept; write it again$"):
        late.commit(files, COLUMNS, spans)
    assert store(late, spans) == ()
    assert stored(tmp_path) == rows({P0: Span(0, 1), **spans})


def test_one_who_commits_old_files_while_they_are_swept_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, 1)
    late = lake(tmp_path, 2, SETTINGS)
    files = write_long_ago(late, spans := {P1: Span(0, 5)}, monkeypatch)
    fences = vacuum._fences

    def let_him_be_faster(*arguments: object) -> dict[str, int]:
        found = fences(*arguments)  # type: ignore[arg-type]
        assert late.commit(files, COLUMNS, spans) == ()
        return found

    monkeypatch.setattr(vacuum, "_fences", let_him_be_faster)
    with pytest.raises(CommitFailedError):
        tidy(tmp_path)
    assert stored(tmp_path) == rows({P0: Span(0, 1), **spans})


def test_a_clock_that_went_back_delays_one_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 1)
    restarted = lake(tmp_path, 1, SETTINGS, incarnation=8)
    files = write_long_ago(restarted, spans := {P0: Span(1, 2)}, monkeypatch)
    with pytest.raises(TableTrouble, match=r"write it again$"):
        restarted.commit(files, COLUMNS, spans)
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert store(restarted, spans) == ()


def test_a_consumer_has_it_done_beside_its_cycles(tmp_path: Path, eventually: Eventually) -> None:
    table = lake(tmp_path, 1, SETTINGS)
    table.begin({P0: 0}, COLUMNS)
    for batch in range(30):
        assert store(table, {P0: Span(batch, batch + 1)}) == ()
        table.tidy()
    eventually(lambda: len(visible(tmp_path)) < 15)
    table.close()
    assert stored(tmp_path) == rows({P0: Span(0, 30)})


def test_what_goes_wrong_is_told_once_and_left_for_the_next_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], eventually: Eventually
) -> None:
    tidier = maintenance.Tidier(str(tmp_path / "nowhere"), SETTINGS, print)
    tidier._start()
    filled(tmp_path / "orders", 0)
    ledger = Ledger(str(tmp_path / "orders"))

    def heard() -> bool:
        tidier.look(ledger)
        return tidier._process is None

    eventually(heard)
    told = capsys.readouterr().out
    assert told.startswith(f"the table {tmp_path / 'nowhere'} could not be tidied: ")
    assert told.endswith("; it is tried again later\n")


def test_the_log_forgets_what_is_in_a_checkpoint(tmp_path: Path) -> None:
    settings = TableSettings(checkpoint_every_commits=5, log_kept_s=0.0)
    table = lake(tmp_path, 1, settings)
    table.begin({P0: 0}, COLUMNS)
    for batch in range(23):
        assert table.commit([], COLUMNS, {P0: Span(batch, batch + 1)}) == ()
    kept = sorted(path.name for path in (tmp_path / "_delta_log").glob("*.json"))
    assert len(kept) <= 2 * 5
    assert lake(tmp_path).positions([P0]) == {P0: 23}
