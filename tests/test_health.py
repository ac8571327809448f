"""Liveness and readiness files: which exist, and when."""

import os
from pathlib import Path

import pytest

from restow import health as health_module
from restow.errors import InvalidInput
from restow.health import Health


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_process_is_alive_at_once_and_ready_until_it_ends(tmp_path: Path) -> None:
    health = Health(str(tmp_path))
    assert files(tmp_path) == ["alive"]
    health.ready()
    assert files(tmp_path) == ["alive", "ready"]
    health.ending()
    assert files(tmp_path) == ["alive"]


def test_files_of_a_previous_process_are_cleared(tmp_path: Path) -> None:
    for name in ("alive", "ready"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    Health(str(tmp_path))
    assert files(tmp_path) == ["alive"]
    assert (tmp_path / "alive").stat().st_mtime > 0


def test_each_turn_of_the_loop_touches_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "TOUCH_EVERY_S", 0.0)
    health = Health(str(tmp_path))
    os.utime(tmp_path / "alive", (0, 0))
    health.alive()
    assert (tmp_path / "alive").stat().st_mtime > 0


def test_without_a_directory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    health = Health()
    health.alive()
    health.ready()
    health.ending()
    assert files(tmp_path) == []


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    with pytest.raises(InvalidInput) as refusal:
        Health(str(nowhere))
    assert str(refusal.value) == f"RESTOW_SIGNS={nowhere} can't be used: No such file or directory; name a directory"
