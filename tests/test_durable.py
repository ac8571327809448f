"""Atomic writes, and locks that end with their process."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.small_disk import SmallDisk

from restow.durable import LineWriter, locked_directory, locked_file, remove, try_lock, write_atomically

HOLDER = """
import sys
from pathlib import Path
from restow.durable import locked_directory, locked_file
lock = locked_file(Path(sys.argv[1])) if sys.argv[2] == "file" else locked_directory(Path(sys.argv[1]), 1.0)
with lock:
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(path: Path, kind: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def test_a_file_is_replaced_whole_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    write_atomically(file, b"old")
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "state.json"
    write_atomically(file, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"


def test_a_lock_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    process = holder(file, "file")
    with file.open("ab") as mine:
        assert not try_lock(mine.fileno())
        end(process)
        assert try_lock(mine.fileno())


def test_waiting_for_a_file_lock_ends_when_it_is_free(tmp_path: Path) -> None:
    process = holder(tmp_path / "lock", "file")
    end(process)
    with locked_file(tmp_path / "lock"):
        pass


def test_a_directory_held_by_another_process_is_not_entered(tmp_path: Path) -> None:
    process = holder(tmp_path / "home", "directory")
    with locked_directory(tmp_path / "home", within_s=0.05) as is_held:
        assert not is_held
    end(process)
    with locked_directory(tmp_path / "home", within_s=0.05) as is_held:
        assert is_held


def test_the_holder_may_remove_its_directory(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with locked_directory(home, within_s=1.0) as is_held:
        assert is_held
        home.rmdir()
        with locked_directory(home, within_s=0.0) as is_held_anew:
            assert is_held_anew, "it is another directory of the same name"
    with locked_directory(home, within_s=1.0) as is_held:
        assert is_held
        assert home.is_dir()


def test_a_full_disk_keeps_the_old_file_and_nothing_of_the_new_one(disk: SmallDisk) -> None:
    file = disk.path / "state.json"
    write_atomically(file, b"old")
    disk.fill()
    with pytest.raises(OSError, match="No space"):
        write_atomically(file, b"new" * 4096)
    assert file.read_bytes() == b"old"
    assert not file.with_name("state.json.new").exists()
    remove(file)
    assert not file.exists()


def test_after_a_line_that_a_full_disk_cut_the_next_one_begins_on_its_own(disk: SmallDisk) -> None:
    writer, file = LineWriter(), disk.path / "log"
    with file.open("ab", buffering=0) as log:
        writer.append(log.fileno(), "first")
        disk.fill()
        cut = "cut " * 2000  # longer than what is left of the file's last block
        with pytest.raises(OSError, match="No space"):
            writer.append(log.fileno(), cut)
        disk.free()
        writer.append(log.fileno(), "second")
        writer.append(log.fileno(), "third")
    first, fragment, *others = file.read_text().splitlines()
    assert (first, others) == ("first", ["second", "third"])
    assert cut.startswith(fragment)
