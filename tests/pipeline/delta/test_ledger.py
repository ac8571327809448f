"""The ledger's cache agrees with the table, after commits of other writers and after log entries expired."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from tests.support.delta.lake import COLUMNS, P0, lake

from restow.pipeline.delta import ledger as ledgers
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.local_log import Entry

IDS = ("a", "b", "never")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lake(tmp_path).register({P0: 0}, COLUMNS)
    return tmp_path


def versions_of(ledger: Ledger) -> list[int | None]:
    return [ledger[app_id] for app_id in IDS]


def another_commits(root: Path, **versions: int) -> None:
    Ledger(str(root)).commit(versions)


def test_a_refresh_sees_the_commits_of_others(root: Path) -> None:
    ledger = Ledger(str(root))
    assert versions_of(ledger) == [None, None, None]
    another_commits(root, a=1)
    another_commits(root, a=2, b=7)
    assert versions_of(ledger) == [None, None, None]
    ledger.refresh()
    assert versions_of(ledger) == [2, 7, None]


def test_cached_versions_are_not_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(str(root))
    versions_of(ledger)
    another_commits(root, a=1)
    ledger.refresh()
    monkeypatch.delattr(DeltaTable, "transaction_version")
    assert versions_of(ledger) == [1, None, None]


def test_expired_log_entries_clear_the_cache(root: Path) -> None:
    ledger = Ledger(str(root))
    versions_of(ledger)
    another_commits(root, a=1)
    another_commits(root, b=2)
    DeltaTable(root).create_checkpoint()
    for version in range(3):
        (root / "_delta_log" / f"{version:020}.json").unlink()
    ledger.refresh()
    assert versions_of(ledger) == [1, 2, None]


def test_many_commits_clear_the_cache(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "MOST_COMMITS", 2)
    ledger = Ledger(str(root))
    versions_of(ledger)
    for version in (1, 2, 3):
        another_commits(root, a=version)
    monkeypatch.setattr(ledgers, "parsed", lambda _: Entry({}, frozenset(), (), changes_table=False))
    ledger.refresh()
    assert versions_of(ledger) == [3, None, None], "read from the table itself"


def test_a_checkpoint_keeps_versions_of_expired_log_entries(root: Path) -> None:
    another_commits(root, a=5)
    table = DeltaTable(root)
    table.create_checkpoint()
    for file in (root / "_delta_log").glob("*.json"):
        if int(file.stem) < table.version():
            file.unlink()
    assert versions_of(Ledger(str(root))) == [5, None, None]


def test_commits_and_refreshes_list_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(str(root))
    versions_of(ledger)
    another_commits(root, a=1)
    for name in ("__init__", "update_incremental"):
        monkeypatch.delattr(DeltaTable, name)
    ledger.refresh()
    ledger.commit({"b": 5})
    assert versions_of(ledger) == [1, 5, None]


def test_a_commit_follows_those_of_others_unless_they_have_the_same_id(root: Path) -> None:
    ledger = Ledger(str(root))
    another_commits(root, a=1)
    ledger.commit({"b": 5})
    assert (ledger["a"], ledger["b"], DeltaTable(root).transaction_version("b")) == (1, 5, 5)
    another_commits(root, b=6)
    with pytest.raises(CommitFailedError, match="the same transactions"):
        ledger.commit({"b": 7})
    assert DeltaTable(root).transaction_version("b") == 6


def test_a_commit_in_place_of_an_expired_entry_is_not_taken_for_one(root: Path) -> None:
    """As after a pause of days between reading the log and the commit."""
    ledger = Ledger(str(root))
    assert versions_of(ledger) == [None, None, None]
    another_commits(root, a=1)
    another_commits(root, b=2)
    DeltaTable(root).create_checkpoint()
    (root / "_delta_log" / f"{ledger.version + 1:020}.json").unlink()
    with pytest.raises(CommitFailedError, match="uncertain"):
        ledger.commit({"a": 9})
    assert versions_of(ledger) == [1, 2, None]
    assert DeltaTable(root).transaction_version("a") == 1


def test_a_table_that_was_created_anew_is_noticed(root: Path) -> None:
    ledger = Ledger(str(root))
    ledger.commit({"a": 1})
    shutil.rmtree(root)
    lake(root).register({P0: 0}, COLUMNS)
    another_commits(root, b=3)
    ledger.refresh()
    assert versions_of(ledger) == [None, 3, None]
