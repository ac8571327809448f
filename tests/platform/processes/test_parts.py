"""The parts that consumers as processes are made of: who is who, files, logs, cores."""

from pathlib import Path

import pytest

from restow.platform.processes.children import share_of_cores
from restow.platform.processes.disk import locked
from restow.platform.processes.files import Home, Status, Wish
from restow.platform.processes.linux import is_alive, this_process
from restow.platform.processes.logs import LONGEST_BYTES, keep_short, last_words

WISH = Wish("x", True, 3, ("run", "it"), "/", "/volume", 2.5, memory_mb=700, cores=0.5, environment={"A": "b"})


def test_a_process_is_known_by_its_start_too() -> None:
    itself = this_process()
    assert is_alive(itself)
    assert not is_alive(itself._replace(started=itself.started + 1))
    assert not is_alive(itself._replace(boot="another"))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    home, itself = Home(tmp_path), this_process()
    assert (home.wish(), home.status()) == (None, None)
    home.set_wish(WISH)
    assert home.wish() == WISH
    for status in (Status(itself), Status(itself, itself, falls=2, reason="it ended")):
        home.set_status(status)
        assert home.status() == status


@pytest.mark.parametrize("content", ["", '{"made": "x", "wan', "[]", "{}", "null", '{"keeper": 1}', "\ufffd"])
def test_what_is_torn_counts_as_none(tmp_path: Path, content: str) -> None:
    for name in ("wish.json", "status.json"):
        (tmp_path / name).write_text(content)
    assert (Home(tmp_path).wish(), Home(tmp_path).status()) == (None, None)


def test_a_directory_is_locked_by_one_at_a_time_and_may_be_removed_meanwhile(tmp_path: Path) -> None:
    directory = tmp_path / "home"
    with locked(directory, 0.0) as first:
        assert first
        with locked(directory, 0.0) as second:
            assert not second
        directory.rmdir()
        with locked(directory, 0.0) as anew:
            assert anew, "it is another directory"
    with locked(directory, 0.0) as again:
        assert again


@pytest.mark.parametrize(
    ("cores", "consumer", "share"),
    [(1.0, 1, {0}), (1.0, 2, {2}), (1.0, 5, {0}), (1.5, 2, {5, 7}), (3.0, 2, {7, 0, 2}), (4.0, 9, {0, 2, 5, 7})],
)
def test_consumers_share_the_cores_in_turn(cores: float, consumer: int, share: set[int]) -> None:
    assert share_of_cores({0, 2, 5, 7}, cores, consumer) == share


def test_a_long_log_starts_anew(tmp_path: Path) -> None:
    log = tmp_path / "consumer.log"
    with log.open("ab") as writer:
        writer.write(b"x" * LONGEST_BYTES + b"end\n")
        writer.flush()
        keep_short(tmp_path)
        assert log.read_bytes() == b""
        writer.write(b"again\n")
    assert log.read_bytes() == b"again\n"
    assert (tmp_path / "consumer.log.1").stat().st_size == LONGEST_BYTES
    assert (tmp_path / "consumer.log.1").read_bytes().endswith(b"xend\n")
    keep_short(tmp_path)
    assert log.read_bytes() == b"again\n"


def test_the_last_words_are_those_of_the_last_process(tmp_path: Path) -> None:
    (tmp_path / "consumer.log").write_text("before\none\n\ntwo with hush\nthree\nfour\nfive\nsix\n")
    assert last_words(tmp_path, len("before\n"), ["hush", "e"]) == "two with *** | three | four | five | six"
    assert last_words(tmp_path, len("before\none\n\ntwo with hush\nthree\nfour\nfive\n"), []) == "six"
    assert last_words(tmp_path / "lost", 0, []) == ""
