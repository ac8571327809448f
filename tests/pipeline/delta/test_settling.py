"""A cycle of which nobody knows whether the table took it: it is asked, and what was not taken never will be."""

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.support.delta.lake import COLUMNS, P0, P1, lake, on_disk, rows, store, stored, write

from restow.pipeline.delta import sink as delta_sink
from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.ledger import Ledger, commit_versions
from restow.pipeline.sinks import Span

SPANS = {P0: Span(0, 4), P1: Span(0, 4)}


def staging_of(path: str) -> str:
    return path.rpartition("/")[0]


def test_what_was_not_taken_leaves_nothing_is_refused_from_then_on_and_can_be_stored_again(tmp_path: Path) -> None:
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


def test_what_was_taken_is_said_to_be_and_keeps_its_files(tmp_path: Path) -> None:
    before, after = lake(tmp_path, incarnation=7), lake(tmp_path, incarnation=8)
    before.register({P0: 0, P1: 0}, COLUMNS)
    [file] = files = write(before, SPANS)
    assert before.commit(files, COLUMNS, SPANS) == ()
    version = DeltaTable(tmp_path).version()
    assert after.settle(staging_of(file.path), SPANS) is True
    assert store(lake(tmp_path, consumer=2), {P1: Span(4, 5)}) == ()
    assert after.settle(staging_of(file.path), SPANS) is True, "though another went on with it"
    assert (DeltaTable(tmp_path).version(), stored(tmp_path)) == (version + 1, rows({**SPANS, P1: Span(0, 5)}))


def test_a_cycle_without_files_is_known_by_its_name(tmp_path: Path) -> None:
    table = lake(tmp_path)
    table.register({P0: 0}, COLUMNS)
    first, second = table.staging(), table.staging()
    spans = {P0: Span(0, 9)}
    assert table.commit([], COLUMNS, spans, first) == ()
    assert table.settle(first, spans) is True
    assert table.settle(second, {P0: Span(9, 10)}) is False
    assert table.positions([P0]) == {P0: 9}


def test_a_commit_that_is_faster_than_what_was_to_refuse_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = lake(tmp_path, incarnation=7), lake(tmp_path, incarnation=8)
    before.register({P0: 0, P1: 0}, COLUMNS)
    [file] = files = write(before, SPANS)

    def let_it_be_faster(*arguments: Any) -> None:
        monkeypatch.undo()
        assert before.commit(files, COLUMNS, SPANS) == ()
        commit_versions(*arguments)

    monkeypatch.setattr(delta_sink, "commit_versions", let_it_be_faster)
    assert after.settle(staging_of(file.path), SPANS) is True
    assert stored(tmp_path) == rows(SPANS)


def test_one_that_was_killed_before_it_removed_the_files_leaves_them_to_be_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lake(tmp_path)
    table.register({P0: 0, P1: 0}, COLUMNS)
    [file] = write(table, SPANS)
    monkeypatch.setattr(Ledger, "delete_directory", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        table.settle(staging_of(file.path), SPANS)
    monkeypatch.undo()
    assert lake(tmp_path, incarnation=8).settle(staging_of(file.path), SPANS) is False
    assert on_disk(tmp_path) == {file.path}, "this commit may have been the cycle's own, for all that can be seen"
    assert store(table, SPANS) == ()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_cycle_of_another_consumer_and_one_of_no_table_are_left_alone(tmp_path: Path) -> None:
    other, table = lake(tmp_path / "orders", consumer=2), lake(tmp_path / "orders", consumer=1)
    assert table.settle(table.staging(), SPANS) is False
    assert not (tmp_path / "orders").exists()
    other.register({P0: 0, P1: 0}, COLUMNS)
    [file] = files = write(other, SPANS)
    assert table.settle(staging_of(file.path), SPANS) is False
    assert other.commit(files, COLUMNS, SPANS) == ()
    assert stored(tmp_path / "orders") == rows(SPANS)
