"""Locks of controllers: one is free exactly when its controller is dead."""

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from restow.platform.processes.controllers import ControllerLock
from restow.platform.processes.identity import identity_of

HOLDER = """
import sys, time
from pathlib import Path
from restow.platform.processes.controllers import ControllerLock
with ControllerLock("shop", Path(sys.argv[1])) as lock:
    print(lock.name, flush=True)
    time.sleep(600)
"""


def held_by_another(directory: Path) -> tuple["subprocess.Popen[str]", str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(directory)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_a_lock_is_free_when_its_controller_was_killed_and_not_while_it_hangs(tmp_path: Path) -> None:
    process, name = held_by_another(tmp_path)
    with ControllerLock("shop", tmp_path) as lock:
        assert lock.name is not None
        assert not lock.is_free(name)
        os.kill(process.pid, signal.SIGSTOP)
        assert not lock.is_free(name)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert lock.is_free(name)
        assert lock.is_free(name), "to look takes no lock"
        lock.remove_free()
        assert not lock.is_free(name), "a missing lock proves nothing"


def test_neither_its_own_lock_nor_an_unknown_one_is_free(tmp_path: Path) -> None:
    with ControllerLock("shop", tmp_path) as lock, ControllerLock("shop", tmp_path) as other:
        assert lock.name is not None
        assert other.name is not None
        assert not lock.is_free(lock.name)
        assert not lock.is_free(other.name)
        assert not lock.is_free("controller-1-gone")
        assert not lock.is_free("../../../shop")
        lock.remove_free()
        assert not other.is_free(lock.name)
        first = lock.name
    with ControllerLock("shop", tmp_path) as later:
        assert later.is_free(first)


def test_without_a_usable_directory_there_is_no_lock(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "file"
    file.touch()
    with caplog.at_level(logging.WARNING, "restow"), ControllerLock("shop", file) as lock:
        assert lock.name is None
        assert not lock.is_free("controller-1-abc")
    assert "if this controller dies, the next one waits" in caplog.text


def test_a_platform_is_the_same_under_every_path_and_another_in_every_directory(tmp_path: Path) -> None:
    here, there, link = tmp_path / "here", tmp_path / "there", tmp_path / "link"
    identity = identity_of(here)
    link.symlink_to(here)
    assert identity is not None
    assert identity == identity_of(here) == identity_of(link)
    assert identity.name.endswith(str(here))
    other = identity_of(there)
    assert other is not None
    assert other.id != identity.id
    file = tmp_path / "file"
    file.touch()
    assert identity_of(file) is None
