import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from tests.support.small_disk import SmallDisk

from restow.logs import configure, painted, to_terminal
from restow.settings import Log

log = logging.getLogger("restow.somewhere")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("restow")
    before, hooks = (root.handlers[:], root.level, ours.level), (sys.excepthook, threading.excepthook)
    yield
    root.handlers[:], root.level, ours.level = before
    sys.excepthook, threading.excepthook = hooks
    logging.captureWarnings(False)


def test_a_line_has_utc_time_level_role_and_words(capsys: pytest.CaptureFixture[str]) -> None:
    configure("consumer-3", Log())
    log.info("stored %s records", "1,000")
    time, rest = capsys.readouterr().err.split(" ", 1)
    assert rest == "INFO    consumer-3  stored 1,000 records\n"
    assert time.endswith("Z")
    assert abs((datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()) < 60


def test_json_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure("controller", Log(format="json"))
    log.warning("no speeds for 30 s\nsecond line, “quoted”")
    [line] = capsys.readouterr().err.splitlines()
    found = json.loads(line)
    assert datetime.fromisoformat(found.pop("time")).tzinfo == UTC
    assert found == {
        "level": "WARNING",
        "role": "controller",
        "logger": "restow.somewhere",
        "message": "no speeds for 30 s\nsecond line, “quoted”",
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_exception_comes_with_its_traceback(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure("monitor", Log(format=form))
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("it failed")
    text = capsys.readouterr().err
    assert "it failed" in text
    assert "ValueError: broken" in text


def test_the_level_is_restows_own_and_libraries_only_warn(capsys: pytest.CaptureFixture[str]) -> None:
    configure("monitor", Log(level="debug"))
    library = logging.getLogger("some.library")
    log.debug("ours")
    library.info("theirs")
    library.warning("their warning")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[-1].strip() for line in lines] == ["ours", "their warning"]


def test_a_higher_level_hides_lower_lines(capsys: pytest.CaptureFixture[str]) -> None:
    configure("monitor", Log(level="error"))
    log.warning("hidden")
    log.error("shown")
    assert capsys.readouterr().err.endswith("ERROR   monitor     shown\n")


def test_an_uncaught_exception_is_a_line_of_the_log_too() -> None:
    program = """
from tests.support.small_disk import SmallDisk

from restow.logs import configure, painted, to_terminal
from restow.settings import Log
with to_terminal():
    configure("monitor", Log(format="json"))
    raise ValueError("broken")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    [line] = ended.stderr.splitlines()
    found = json.loads(line)
    assert (ended.returncode, found["level"], found["role"]) == (1, "CRITICAL", "monitor")
    assert found["message"].startswith("ended by an unexpected error\nTraceback")
    assert found["message"].endswith("ValueError: broken")


def test_a_command_at_the_terminal_logs_without_time_and_leaves_logging_as_it_was(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handlers = logging.getLogger().handlers[:]
    with to_terminal():
        log.info("fetching Kafka once")
        logging.getLogger("some.library").warning("slow disk")
    assert capsys.readouterr().err == "restow: fetching Kafka once\nsome: slow disk\n"
    assert logging.getLogger().handlers == handlers


def test_a_process_logs_each_line_once_in_its_own_form(capsys: pytest.CaptureFixture[str]) -> None:
    with to_terminal():
        configure("monitor", Log())
        log.info("once")
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("INFO    monitor     once")


def test_lines_that_a_full_disk_does_not_take_are_counted(disk: SmallDisk) -> None:
    program = """
import logging, sys
from restow.logs import configure
from restow.settings import Log
configure("monitor", Log())
log = logging.getLogger("restow")
for line in sys.stdin:
    log.info("%s", line.strip())
    print("done", flush=True)
"""
    file = disk.path / "log"
    with file.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )

    def say(line: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"

    with process:
        say("before")
        disk.fill()
        say("cut " * 2000)  # longer than what is left of the file's last block
        say("lost")
        disk.free()
        say("after")
        say("and on")
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
    before, cut, *others = [line[25:] for line in file.read_text().splitlines()]
    assert before == "INFO    monitor     before"
    assert cut.startswith("INFO    monitor     cut cut")
    assert others == [
        "WARNING monitor     2 log lines before this one could not be written; was the disk full?",
        "INFO    monitor     after",
        "INFO    monitor     and on",
    ]


def test_in_colour_the_role_stands_out_and_so_does_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    configure("monitor", Log(), in_colour=True)
    log.warning("no answer")
    time, rest = capsys.readouterr().err.split(" ", 1)
    assert time.startswith("\x1b[2m2")
    assert rest == "\x1b[33mWARNING\x1b[0m \x1b[36mmonitor\x1b[0m     no answer\n"


@pytest.mark.parametrize("line", ["", "Traceback (most recent call last):", '{"level": "ERROR"}', "restow: wrong"])
def test_a_line_of_another_form_stays_as_it_is(line: str) -> None:
    assert painted(line) == line
