"""The roles of a group in the background: their output in files, and how they end."""

import sys
from pathlib import Path

import pytest
from tests.conftest import Eventually
from tests.support.role_scripts import SERVING, STUBBORN

from restow.roles import child
from restow.roles.background import BackgroundRoles

REFUSING = "import sys; print('restow: restow.toml: wrong'); sys.exit(2)"


def in_background(directory: Path, grace_s: float = 60.0) -> BackgroundRoles:
    return BackgroundRoles("lake", directory / "restow.toml", directory / "processes", grace_s)


def run_instead(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(child, "RESTOW", (sys.executable, "-c", code))


def test_each_role_has_a_file_and_ends_when_it_is_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    run_instead(monkeypatch, SERVING)
    roles = in_background(tmp_path)
    roles.start("monitor")
    roles.start("controller", "--log", "events")
    eventually(lambda: all("serves" in roles.output_of(role) for role in ("monitor", "controller")))
    assert list(roles.ended()) == []
    roles.end()
    assert [roles.output_of(role) for role in ("monitor", "controller")] == [
        "monitor serves\nmonitor ends\n",
        "controller serves\ncontroller ends\n",
    ]


def test_a_role_that_ignores_the_stop_signal_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    run_instead(monkeypatch, STUBBORN)
    roles = in_background(tmp_path, grace_s=1.0)
    roles.start("monitor")
    eventually(lambda: "serves" in roles.output_of("monitor"))
    roles.end()
    assert list(roles.ended()) == ["monitor"]
    assert roles.output_of("monitor") == "monitor serves\n"


def test_a_role_that_ends_by_itself_is_named_and_its_error_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    run_instead(monkeypatch, REFUSING)
    roles = in_background(tmp_path)
    roles.start("controller")
    eventually(lambda: list(roles.ended()) == ["controller"])
    assert roles.output_of("controller") == "restow: restow.toml: wrong\n"
    roles.end()
