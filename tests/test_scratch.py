"""Temporary files of killed processes: consumers sweep their own, and the next command those of other commands."""

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from restow.cli.consumer import scratch_of
from restow.kafka.embedded.data import temporary_directory
from restow.pipeline.spark.session import _java_options
from restow.scratch import VARIABLE, new_directory, take, temporary

COMMAND = """
import os, signal, sys, tempfile
from restow.scratch import temporary

with temporary("command") as directory:
    (directory / "spark-1").mkdir()
    print(directory, flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In place of /tmp."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return place


@pytest.fixture
def home(tmp: Path) -> Path:
    return tmp / f"restow-{os.getuid()}"


def test_a_consumer_starts_with_empty_scratch_and_uses_it_for_everything(tmp_path: Path) -> None:
    scratch = tmp_path / "volume" / "scratch"
    (scratch / "blockmgr-1" / "0c").mkdir(parents=True)
    (scratch / "spark-1").mkdir()
    (scratch / "snappy-1.1.10-libsnappyjava.so").write_bytes(b"code")
    (tmp_path / "volume" / "state.json").write_text("{}")
    (scratch / "link").symlink_to(tmp_path / "volume")
    take(scratch)
    assert list(scratch.iterdir()) == []
    assert [file.name for file in (tmp_path / "volume").iterdir() if file != scratch] == ["state.json"]
    assert tempfile.gettempdir() == str(scratch)
    program = "import tempfile; print(tempfile.gettempdir())"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == f"{scratch}\n", "a table's maintenance and Python workers of Spark are processes too"
    assert f'"-Djava.io.tmpdir={scratch}"' in _java_options({}, "local[1]")["spark.driver.extraJavaOptions"]


def test_scratch_that_cannot_be_used_is_logged_and_costs_nothing_else(
    tmp: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "restow")
    (tmp_path / "scratch").write_text("a file")
    take(tmp_path / "scratch")
    [line] = caplog.messages
    assert line.startswith(f"{tmp_path}/scratch can't be used for temporary files, which go to {tmp}: ")
    assert tempfile.gettempdir() == str(tmp)


def test_a_consumers_scratch_is_on_its_volume_or_where_its_platform_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert scratch_of("lake-consumer-1", tmp_path) == tmp_path / "scratch"
    monkeypatch.setenv(VARIABLE, "/fast")
    assert scratch_of("lake-consumer-1", tmp_path) == Path("/fast/lake-consumer-1")
    assert scratch_of("lake-consumer-2", tmp_path) == Path("/fast/lake-consumer-2"), "they must not sweep each other's"


def test_a_commands_directory_lasts_as_long_as_the_command(tmp: Path, home: Path) -> None:
    with temporary("check") as directory:
        assert directory.parent == home
        assert home.stat().st_mode & 0o777 == 0o700
        assert tempfile.gettempdir() == os.environ["TMPDIR"] == str(directory)
    assert tempfile.gettempdir() == os.environ["TMPDIR"] == str(tmp)
    assert list(home.iterdir()) == []


def test_the_next_command_removes_what_a_killed_one_left_and_nothing_of_a_running_one(home: Path) -> None:
    start = [sys.executable, "-c", COMMAND]
    with (
        subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killed,
        subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running,
    ):
        assert killed.stdout
        assert running.stdout
        left, used = Path(killed.stdout.readline().strip()), Path(running.stdout.readline().strip())
        killed.communicate("\n")
        assert killed.returncode < 0
        assert left.exists()
        with temporary("check") as directory:
            assert sorted(home.iterdir()) == sorted([directory, used])
            assert (used / "spark-1").is_dir()
        running.communicate("\n")
    with temporary("check") as directory:
        assert list(home.iterdir()) == [directory]


def test_a_broker_whose_processes_were_all_killed_leaves_its_data_to_the_next(home: Path) -> None:
    dead, living = temporary_directory(1), temporary_directory(1)
    dead.lock.close()  # as the kernel does for killed processes
    assert dead.path.is_dir()
    third = temporary_directory(1)
    assert sorted(home.iterdir()) == sorted([living.path, third.path])
    living.close()
    third.close()
    assert list(home.iterdir()) == []


def test_another_users_directory_of_the_same_name_is_not_used(tmp: Path, tmp_path: Path, home: Path) -> None:
    (tmp_path / "theirs").mkdir()
    home.symlink_to(tmp_path / "theirs")
    with new_directory("check") as directory:
        assert directory.parent == tmp
    assert list((tmp_path / "theirs").iterdir()) == []
