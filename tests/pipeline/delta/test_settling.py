"""Settling: a cycle with unknown outcome is found to be taken, or is refused from then on."""

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.support.delta.lake import COLUMNS, P0, P1, lake, on_disk, rows, store, stored, write

from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.files import LocalFiles
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.sinks import Span

SPANS = {P0: Span(0, 4), P1: Span(0, 4)}


def staging_of(path: str) -> str:
    return path.rpartition("/")[0]


def test_a_cycle_that_was_not_taken_is_removed_and_refused_and_can_be_stored_again(tmp_path: Path) -> None:
    before, after = lake(tmp_path, incarnation=7), lake(tmp_path, incarnation=8)
    before.register({P0: 0, P1: 0}, COLUMNS)
    [file] = files = write(before, SPANS)
    hidden = (tmp_path / file.path).parent / "_temporary" / "part-1.parquet"
    hidden.parent.mkdir()
    hidden.touch()
    assert after.settle(staging_of(file.path), SPANS) is False
    assert not (tmp_path / file.path).parent.exists()
    with pytest.raises(DeltaTableError, match=r"write it again$"):
        before.commit(files, COLUMNS, SPANS)
    assert store(after, SPANS) == ()
    assert stored(tmp_path) == rows(SPANS)


def test_a_cycle_that_was_taken_keeps_its_files(tmp_path: Path) -> None:
    before, after = lake(tmp_path, incarnation=7), lake(tmp_path, incarnation=8)
    before.register({P0: 0, P1: 0}, COLUMNS)
    [file] = files = write(before, SPANS)
    assert before.commit(files, COLUMNS, SPANS) == ()
    version = DeltaTable(tmp_path).version()
    assert after.settle(staging_of(file.path), SPANS) is True
    assert store(lake(tmp_path, consumer=2), {P1: Span(4, 5)}) == ()
    assert after.settle(staging_of(file.path), SPANS) is True, "though another consumer continued after it"
    assert (DeltaTable(tmp_path).version(), stored(tmp_path)) == (version + 1, rows({**SPANS, P1: Span(0, 5)}))


def test_a_cycle_without_files_is_identified_by_its_staging_directory(tmp_path: Path) -> None:
    table = lake(tmp_path)
    table.register({P0: 0}, COLUMNS)
    first, second = table.staging(), table.staging()
    spans = {P0: Span(0, 9)}
    assert table.commit([], COLUMNS, spans, first) == ()
    assert table.settle(first, spans) is True
    assert table.settle(second, {P0: Span(9, 10)}) is False
    assert table.positions([P0]) == {P0: 9}


def test_a_commit_that_precedes_its_settling_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = lake(tmp_path, incarnation=7), lake(tmp_path, incarnation=8)
    before.register({P0: 0, P1: 0}, COLUMNS)
    [file] = files = write(before, SPANS)

    commit = Ledger.commit

    def commit_first(*arguments: Any) -> None:
        monkeypatch.undo()
        assert before.commit(files, COLUMNS, SPANS) == ()
        commit(*arguments)

    monkeypatch.setattr(Ledger, "commit", commit_first)
    assert after.settle(staging_of(file.path), SPANS) is True
    assert stored(tmp_path) == rows(SPANS)


def test_a_settling_killed_before_it_removed_the_files_leaves_them_for_vacuum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lake(tmp_path)
    table.register({P0: 0, P1: 0}, COLUMNS)
    [file] = write(table, SPANS)
    monkeypatch.setattr(LocalFiles, "delete_directory", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        table.settle(staging_of(file.path), SPANS)
    monkeypatch.undo()
    assert lake(tmp_path, incarnation=8).settle(staging_of(file.path), SPANS) is False
    assert on_disk(tmp_path) == {file.path}, "this commit may have been the cycle's own, for all that can be seen"
    assert store(table, SPANS) == ()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_cycle_of_another_consumer_or_of_no_table_is_left_alone(tmp_path: Path) -> None:
    other, table = lake(tmp_path / "orders", consumer=2), lake(tmp_path / "orders", consumer=1)
    assert table.settle(table.staging(), SPANS) is False
    assert not (tmp_path / "orders").exists()
    other.register({P0: 0, P1: 0}, COLUMNS)
    [file] = files = write(other, SPANS)
    assert table.settle(staging_of(file.path), SPANS) is False
    assert other.commit(files, COLUMNS, SPANS) == ()
    assert stored(tmp_path / "orders") == rows(SPANS)
