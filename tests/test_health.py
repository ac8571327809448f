"""A role's signs of life: what stands in their directory, and when."""

import os
from pathlib import Path

import pytest

from restow import health as signs_module
from restow.errors import InvalidInput
from restow.health import Signs


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_process_is_alive_at_once_and_ready_when_it_says_so_until_it_is_to_end(tmp_path: Path) -> None:
    signs = Signs(str(tmp_path))
    assert files(tmp_path) == ["alive"]
    signs.ready()
    assert files(tmp_path) == ["alive", "ready"]
    signs.ending()
    assert files(tmp_path) == ["alive"]


def test_what_the_process_before_left_does_not_count(tmp_path: Path) -> None:
    for name in ("alive", "ready"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    Signs(str(tmp_path))
    assert files(tmp_path) == ["alive"]
    assert (tmp_path / "alive").stat().st_mtime > 0


def test_each_turn_of_the_loop_makes_it_younger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs_module, "TOUCH_EVERY_S", 0.0)
    signs = Signs(str(tmp_path))
    os.utime(tmp_path / "alive", (0, 0))
    signs.alive()
    assert (tmp_path / "alive").stat().st_mtime > 0


def test_where_nobody_looks_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    signs = Signs()
    signs.alive()
    signs.ready()
    signs.ending()
    assert files(tmp_path) == []


def test_a_directory_that_is_none_is_told(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    with pytest.raises(InvalidInput) as refusal:
        Signs(str(nowhere))
    assert str(refusal.value) == f"RESTOW_SIGNS={nowhere} can't be used: No such file or directory; name a directory"
