"""A Delta table as a sink: positions, commits and refusals in one process. test_races.py has several."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.support.delta.lake import COLUMNS, P0, P1, P2, lake, rows, store, stored, visible, write

from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.sinks import Span


def test_a_missing_table_knows_no_positions(tmp_path: Path) -> None:
    assert lake(tmp_path / "orders").positions([P0, P1]) == {}
    assert not (tmp_path / "orders").exists()


def test_a_registered_partition_is_known_to_all_writers(tmp_path: Path) -> None:
    lake(tmp_path, 1).register({P0: 5, P1: 0}, COLUMNS)
    assert lake(tmp_path, 2).positions([P0, P1, P2]) == {P0: 5, P1: 0}
    assert stored(tmp_path) == []


def test_a_partition_that_is_registered_again_keeps_its_position(tmp_path: Path) -> None:
    first, second = lake(tmp_path, 1), lake(tmp_path, 2)
    first.register({P0: 5}, COLUMNS)
    second.register({P0: 9, P1: 3}, COLUMNS)
    assert first.positions([P0, P1]) == {P0: 5, P1: 3}


def test_rows_and_offsets_are_taken_together(tmp_path: Path) -> None:
    table = lake(tmp_path)
    table.register({P0: 5, P1: 0, P2: 0}, COLUMNS)
    spans = {P0: Span(5, 8), P1: Span(0, 2)}
    assert store(table, spans) == ()
    assert lake(tmp_path, 2).positions([P0, P1, P2]) == {P0: 8, P1: 2, P2: 0}
    assert stored(tmp_path) == rows(spans)


def test_a_cycle_without_rows_moves_the_offsets(tmp_path: Path) -> None:
    table = lake(tmp_path)
    table.register({P0: 5}, COLUMNS)
    assert table.commit([], COLUMNS, {P0: Span(5, 8)}) == ()
    assert table.commit([], COLUMNS, {P0: Span(8, 9)}) == ()
    assert table.positions([P0]) == {P0: 9}


def test_a_batch_with_a_partition_of_another_writer_is_refused_as_a_whole(tmp_path: Path) -> None:
    table, other = lake(tmp_path, 1), lake(tmp_path, 2)
    table.register({P0: 0, P1: 0}, COLUMNS)
    files = write(table, late := {P0: Span(0, 4), P1: Span(0, 4)})
    store(other, {P1: Span(0, 2)})
    assert table.commit(files, COLUMNS, late) == (P1,)
    assert stored(tmp_path) == rows({P1: Span(0, 2)})
    assert store(table, {P0: Span(0, 4)}) == (), "the other partition continues"


def test_a_partition_that_the_table_does_not_know_is_refused(tmp_path: Path) -> None:
    table = lake(tmp_path)
    table.register({P0: 0}, COLUMNS)
    assert store(table, {P0: Span(0, 1), P2: Span(0, 1)}) == (P2,)


def test_a_dropped_table_refuses_until_its_partitions_are_registered_again(tmp_path: Path) -> None:
    table = lake(tmp_path / "orders")
    table.register({P0: 0}, COLUMNS)
    store(table, {P0: Span(0, 3)})
    shutil.rmtree(tmp_path / "orders")
    assert store(table, {P0: Span(3, 4)}) == (P0,)
    table.register({P0: 3}, COLUMNS)
    assert store(table, {P0: Span(3, 4)}) == ()
    assert stored(tmp_path / "orders") == rows({P0: Span(3, 4)})


def test_a_commit_whose_answer_was_lost_is_found_to_be_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake(tmp_path)
    table.register({P0: 0}, COLUMNS)
    commit = Ledger.commit

    def commit_and_lose_the_answer(*arguments: Any) -> None:
        monkeypatch.undo()
        commit(*arguments)
        raise OSError("connection reset")

    files = write(table, spans := {P0: Span(0, 3)})
    monkeypatch.setattr(Ledger, "commit", commit_and_lose_the_answer)
    assert table.commit(files, COLUMNS, spans) == ()
    assert stored(tmp_path) == rows(spans)


def test_a_commit_between_the_comparison_and_the_commit_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, other = lake(tmp_path, 1), lake(tmp_path, 2)
    table.register({P0: 0, P1: 0}, COLUMNS)

    commit = Ledger.commit

    def other_commits_first(*arguments: Any) -> None:
        monkeypatch.undo()
        assert store(other, {P0: Span(0, 2)}) == ()
        commit(*arguments)

    monkeypatch.setattr(Ledger, "commit", other_commits_first)
    assert store(table, {P0: Span(0, 3), P1: Span(0, 3)}) == (P0,)
    assert stored(tmp_path) == rows({P0: Span(0, 2)})


def test_many_partitions_are_taken_by_one_commit(tmp_path: Path) -> None:
    table = lake(tmp_path)
    table.register({P0: 0, P1: 0, P2: 0}, COLUMNS)
    before = DeltaTable(tmp_path).version()
    store(table, {P0: Span(0, 1), P1: Span(0, 1), P2: Span(0, 1)})
    assert DeltaTable(tmp_path).version() == before + 1


def test_uncommitted_files_are_invisible(tmp_path: Path) -> None:
    table = lake(tmp_path)
    table.register({P0: 0}, COLUMNS)
    [file] = write(table, {P0: Span(0, 3)})
    assert (tmp_path / file.path).exists()
    assert visible(tmp_path) == set()


def test_an_unwritable_path_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "orders").write_text("no directory")
    with pytest.raises(DeltaTableError) as error:
        lake(tmp_path / "orders").register({P0: 0}, COLUMNS)
    assert str(error.value).startswith(f"the table {tmp_path / 'orders'} can't be used: ")
    assert "\n" not in str(error.value)


def test_a_damaged_log_is_reported_in_one_line(tmp_path: Path) -> None:
    lake(tmp_path).register({P0: 0}, COLUMNS)
    (tmp_path / "_delta_log" / f"{1:020}.json").write_text('{"txn":{"appId"')
    with pytest.raises(DeltaTableError) as error:
        lake(tmp_path).positions([P0])
    assert str(error.value).startswith(f"the table {tmp_path} can't be used: ")
    assert "\n" not in str(error.value)
