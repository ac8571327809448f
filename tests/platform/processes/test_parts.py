"""The parts of the process platform: process identity, files, logs, cores."""

import json
from pathlib import Path

import pytest

from restow.platform.processes.children import share_of_cores
from restow.platform.processes.files import DesiredState, Home, Status
from restow.platform.processes.linux import is_alive, this_process
from restow.platform.processes.logs import LONGEST_BYTES, last_lines, rotate

DESIRED = DesiredState(
    "x", True, 3, ("run", "it"), "/", "/volume", 2.5, memory_mb=700, cores=0.5, environment={"A": "b"}
)


def test_a_process_is_identified_by_pid_start_time_and_boot() -> None:
    itself = this_process()
    assert is_alive(itself)
    assert not is_alive(itself._replace(started=itself.started + 1))
    assert not is_alive(itself._replace(boot="another"))


def test_desired_state_and_status_are_read_as_written(tmp_path: Path) -> None:
    home, itself = Home(tmp_path), this_process()
    assert (home.desired(), home.status()) == (None, None)
    home.set_desired(DESIRED)
    assert home.desired() == DESIRED
    for status in (Status(itself), Status(itself, itself, crashes=2, reason="it ended")):
        home.set_status(status)
        assert home.status() == status


def test_the_names_on_disk_are_those_that_running_supervisors_know(tmp_path: Path) -> None:
    home, itself = Home(tmp_path), this_process()
    home.set_desired(DESIRED)
    home.set_status(Status(itself))
    assert [*json.loads((tmp_path / "wish.json").read_text())] == [
        *("made", "wanted", "generation", "command", "directory", "volume", "grace_s"),
        *("memory_mb", "cores", "environment", "settings"),
    ]
    assert [*json.loads((tmp_path / "status.json").read_text())] == ["keeper", "child", "falls", "reason", "ended"]


@pytest.mark.parametrize("content", ["", '{"made": "x", "wan', "[]", "{}", "null", '{"keeper": 1}', "\ufffd"])
def test_a_damaged_file_counts_as_missing(tmp_path: Path, content: str) -> None:
    for name in ("wish.json", "status.json"):
        (tmp_path / name).write_text(content)
    assert (Home(tmp_path).desired(), Home(tmp_path).status()) == (None, None)


@pytest.mark.parametrize(
    ("cores", "consumer", "share"),
    [(1.0, 1, {0}), (1.0, 2, {2}), (1.0, 5, {0}), (1.5, 2, {5, 7}), (3.0, 2, {7, 0, 2}), (4.0, 9, {0, 2, 5, 7})],
)
def test_consumers_share_the_cores_in_turn(cores: float, consumer: int, share: set[int]) -> None:
    assert share_of_cores({0, 2, 5, 7}, cores, consumer) == share


def test_a_long_log_is_rotated(tmp_path: Path) -> None:
    log = tmp_path / "consumer.log"
    with log.open("ab") as writer:
        writer.write(b"x" * LONGEST_BYTES + b"end\n")
        writer.flush()
        rotate(log)
        assert log.read_bytes() == b""
        writer.write(b"again\n")
    assert log.read_bytes() == b"again\n"
    assert (tmp_path / "consumer.log.1").stat().st_size == LONGEST_BYTES
    assert (tmp_path / "consumer.log.1").read_bytes().endswith(b"xend\n")
    rotate(log)
    assert log.read_bytes() == b"again\n"


def test_the_last_lines_are_those_of_the_last_process_with_secrets_masked(tmp_path: Path) -> None:
    (tmp_path / "consumer.log").write_text("before\none\n\ntwo with hush\nthree\nfour\nfive\nsix\n")
    assert last_lines(tmp_path, len("before\n"), ["hush", "e"]) == "two with *** | three | four | five | six"
    assert last_lines(tmp_path, len("before\none\n\ntwo with hush\nthree\nfour\nfive\n"), []) == "six"
    assert last_lines(tmp_path / "lost", 0, []) == ""
