"""Several roles as children of one process: their lines, restarts, and the order in which they end."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import Eventually
from tests.support.role_scripts import SERVING, STUBBORN

from restow.platform.processes.linux import Process, is_alive
from restow.roles import child as child_module
from restow.roles.child import LONGEST_LINE, Lines, how_it_ended
from restow.roles.together import Together

REFUSING = "import sys; print('restow: restow.toml: wrong'); sys.exit(2)"


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


class Stage:
    """Runs roles until a condition about their lines holds."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.children: tuple[Process, ...] = ()

    def remember(self, children: tuple[Process, ...]) -> None:
        self.children = children

    def run(
        self, commands: dict[str, list[str]], until: Callable[[], bool] = lambda: False, grace_s: float = 60.0
    ) -> int:
        with Together(commands, self.lines.append, self.remember, grace_s) as together:
            return together.run(lambda _: until(), lambda: None)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_their_lines_are_one_stream_and_the_last_started_ends_first(stage: Stage) -> None:
    commands = {name: python(SERVING, name) for name in ("monitor", "controller")}
    assert stage.run(commands, lambda: len(stage.lines) == 2) == 0
    assert sorted(stage.lines[:2]) == ["controller serves", "monitor serves"]
    assert stage.lines[2:] == ["controller ends", "monitor ends"]
    assert len(stage.children) == 2
    assert not any(map(is_alive, stage.children))


def test_a_role_that_ends_unasked_is_started_again_after_growing_pauses(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    falling = python("import os, signal; print('falls', flush=True); os.kill(os.getpid(), signal.SIGKILL)")
    commands = {"monitor": python(SERVING, "monitor"), "controller": falling}
    with caplog.at_level(logging.INFO, "restow"):
        assert stage.run(commands, lambda: stage.lines.count("falls") == 3) == 0
    assert stage.lines.count("monitor serves") == 1
    assert caplog.messages[:2] == [
        "the controller was killed by SIGKILL; starting it again in 0.5 s",
        "the controller was killed by SIGKILL; starting it again in 1 s",
    ]


def test_a_role_that_refuses_its_settings_at_its_first_start_ends_all_with_its_error(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    assert stage.run({"monitor": python(SERVING, "monitor"), "controller": python(REFUSING)}) == 2
    assert "restow: restow.toml: wrong" in stage.lines
    assert caplog.messages == ["the controller can't start with these settings; its error is above"]
    assert not any(map(is_alive, stage.children))


def test_one_that_refuses_them_later_is_tried_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(child_module, "STABLE_AFTER_S", 0.0)
    assert stage.run({"controller": python(REFUSING)}, lambda: len(stage.lines) == 2) == 0
    assert caplog.messages[0] == "the controller ended with exit code 2; starting it again in 0.5 s"


def test_a_role_that_ignores_the_stop_signal_is_killed(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    assert stage.run({"monitor": python(STUBBORN, "monitor")}, lambda: bool(stage.lines), grace_s=0.1) == 0
    assert caplog.messages == ["killing the monitor: it still runs 0.1 s after SIGTERM"]
    assert not any(map(is_alive, stage.children))


def test_roles_end_by_themselves_when_their_parent_is_killed(tmp_path: Path, eventually: Eventually) -> None:
    parent = f"""
from restow.roles.together import Together
def remember(children):
    open({str(tmp_path / "children")!r}, "w").write(repr([tuple(child) for child in children]))
with Together({{"monitor": {python(SERVING, "monitor")!r}}}, lambda line: print(line, flush=True), remember, 10) as all:
    all.run(lambda _: False, lambda: None)
"""
    with subprocess.Popen(python(parent), stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert running.stdout.readline() == "monitor serves\n"
        os.kill(running.pid, signal.SIGKILL)
    [child] = (Process(*each) for each in eval((tmp_path / "children").read_text()))
    eventually(lambda: not is_alive(child))


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"one\ntw", b"o\n"], ["one", "two"]),
        ([b"caf\xc3", b"\xa9\n"], ["café"]),
        ([b"\n\n"], ["", ""]),
        ([b"\xff\n"], ["\ufffd"]),
        ([b"x" * (LONGEST_LINE + 1), b"y\n"], ["x" * (LONGEST_LINE + 1), "y"]),
    ],
)
def test_a_stream_is_cut_into_lines(pieces: list[bytes], lines: list[str]) -> None:
    cut = Lines()
    assert [line for piece in pieces for line in cut.complete(piece)] == lines
    assert list(cut.rest()) == []


def test_a_last_line_without_an_end_is_kept() -> None:
    cut = Lines()
    assert list(cut.complete(b"one\ntwo")) == ["one"]
    assert list(cut.rest()) == ["two"]


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (0, "ended with exit code 0 without being asked to"),
        (1, "ended with exit code 1"),
        (137, "was killed by SIGKILL"),
        (255, "ended with exit code 255"),
    ],
)
def test_how_a_role_ended_is_said(exit_code: int, words: str) -> None:
    assert how_it_ended(exit_code) == words
