"""What the ledger remembers is what the table says, whoever committed and however much of the log is gone."""

from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.support.delta.lake import COLUMNS, P0, lake

from restow.pipeline.delta import ledger as ledgers
from restow.pipeline.delta.ledger import Ledger, commit_versions

IDS = ("a", "b", "never")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lake(tmp_path).register({P0: 0}, COLUMNS)
    return tmp_path


def remembered(ledger: Ledger) -> list[int | None]:
    return [ledger[app_id] for app_id in IDS]


def somebody_commits(root: Path, **versions: int) -> None:
    commit_versions(DeltaTable(root), versions)


def test_what_others_committed_is_known_after_a_refresh(root: Path) -> None:
    ledger = Ledger(str(root))
    assert remembered(ledger) == [None, None, None]
    somebody_commits(root, a=1)
    somebody_commits(root, a=2, b=7)
    assert remembered(ledger) == [None, None, None]
    ledger.refresh()
    assert remembered(ledger) == [2, 7, None]


def test_what_is_remembered_is_not_asked_for_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(str(root))
    remembered(ledger)
    somebody_commits(root, a=1)
    ledger.refresh()
    monkeypatch.delattr(DeltaTable, "transaction_version")
    assert remembered(ledger) == [1, None, None]


def test_commits_that_are_gone_from_the_log_are_asked_for(root: Path) -> None:
    ledger = Ledger(str(root))
    remembered(ledger)
    somebody_commits(root, a=1)
    somebody_commits(root, b=2)
    DeltaTable(root).create_checkpoint()
    for version in range(3):
        (root / "_delta_log" / f"{version:020}.json").unlink()
    ledger.refresh()
    assert remembered(ledger) == [1, 2, None]


def test_after_many_commits_all_is_asked_for_anew(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "MOST_COMMITS", 2)
    ledger = Ledger(str(root))
    remembered(ledger)
    for version in (1, 2, 3):
        somebody_commits(root, a=version)
    monkeypatch.delattr(Ledger, "_apply")
    ledger.refresh()
    assert remembered(ledger) == [3, None, None]


def test_a_checkpoint_keeps_what_the_log_forgets(root: Path) -> None:
    somebody_commits(root, a=5)
    table = DeltaTable(root)
    table.create_checkpoint()
    for file in (root / "_delta_log").glob("*.json"):
        if int(file.stem) < table.version():
            file.unlink()
    assert remembered(Ledger(str(root))) == [5, None, None]
