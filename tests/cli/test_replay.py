"""`restow replay`: explains a controller's event log and checks its effects."""

import json
from pathlib import Path

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, Driver

from restow.cli.main import main

STORY = """\
      1000.0 s  command     to consumer 1: report what you hold (query 1)
      1000.0 s  command     to consumer 2: report what you hold (query 1)
      1000.0 s  consumer    consumer 1: answered the query: it holds 2 partitions
      1000.0 s  consumer    consumer 2: answered the query: it holds 2 partitions
      1000.0 s  transition  Synchronize -> Sentinel: every consumer has answered or was given up
      1000.0 s  transition  Sentinel -> Reassign: the assignment is due for its periodic review
      1000.0 s  transition  Reassign -> Sentinel: the current assignment stays
      1001.0 s  transition  Sentinel -> Reassign: a consumer's load is above the trigger
      1001.0 s  decision    group: 2 -> 3 consumers, 1 move of 0.4 capacities
      1001.0 s  decision    a-1 goes from consumer 1 to 3: consumer 1 was at 100 % of its capacity, \
above its trigger of 95 %; a-1 at 40 % was the lightest that sufficed; consumer 3 is opened (40 % after)
      1001.0 s  decision    consumer 3 is opened for a-1, 40 % of its capacity
      1001.0 s  transition  Reassign -> Manage: the assignment changes
      1001.0 s  consumer    consumer 3: creating it
      1001.0 s  platform    create consumer 3
      1001.0 s  consumer    consumer 3: ready, with 0 partitions
      1001.0 s  command     to consumer 1: stop a-1 (command 1)
      1001.0 s  command     to consumer 3: start a-1 (command 1)
      1001.0 s  transition  Manage -> Sentinel: every partition is where it should be
"""
SUMMARY = "restow: replayed 11 events; lines: transition 6, decision 3, consumer 4, command 4, platform 1\n"


@pytest.fixture(scope="module")
def log() -> list[str]:
    """A partition is moved to a new consumer."""
    driver = Driver().takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    driver.ticks(1)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    driver.is_ready(3)
    driver.settles()
    assert driver.is_calm
    return driver.log


@pytest.fixture
def file(tmp_path: Path, log: list[str]) -> Path:
    file = tmp_path / "events.jsonl"
    file.write_text("".join(log))
    return file


def replayed(file: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    assert main(["replay", str(file), *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_all_lines_are_printed_and_counted(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(file)]) == 0
    assert capsys.readouterr() == (STORY, SUMMARY)


def test_only_some_kinds_of_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = replayed(file, capsys, "--only", "platform", "--only", "decision")
    assert lines == [line for line in STORY.splitlines() if line[16:24].strip() in ("platform", "decision")]


def test_only_what_is_about_a_partition(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [line[16:] for line in replayed(file, capsys, "--about", "a-1", "--only", "command")] == [
        "command     to consumer 1: stop a-1 (command 1)",
        "command     to consumer 3: start a-1 (command 1)",
    ]


def test_only_what_is_about_a_consumer(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [line[16:] for line in replayed(file, capsys, "--about", "consumer 2")] == [
        "command     to consumer 2: report what you hold (query 1)",
        "consumer    consumer 2: answered the query: it holds 2 partitions",
    ]


def test_json_is_an_object_a_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        json.loads(line) for line in replayed(file, capsys, "--json", "--about", "consumer 3", "--only", "command")
    ]
    assert lines == [
        {
            "time_s": 1001.0,
            "kind": "command",
            "about": ["a-1", "consumer 3"],
            "words": "to consumer 3: start a-1 (command 1)",
        }
    ]


def test_a_log_without_events_is_valid(file: Path, log: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(log[0])
    assert main(["replay", str(file)]) == 0
    assert capsys.readouterr() == ("", "restow: replayed 0 events; lines: none\n")


def test_a_step_with_other_effects_is_reported_and_the_exit_code_is_1(
    file: Path, log: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    stop = next(line for line in log if "StopConsumingCommand" in line)
    file.write_text("".join(log).replace(stop, stop.replace('"sequence":1', '"sequence":9')))
    assert main(["replay", str(file)]) == 1
    out, err = capsys.readouterr()
    assert out == STORY
    assert err == SUMMARY + (
        f"restow: 1 of them had other effects than recorded, the first in line {log.index(stop) + 1}; "
        "another version of restow wrote the log, or it is damaged\n"
    )


def refusal(file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["replay", str(file)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"restow: {file}: ")
    assert err.count("\n") == 1
    return err.removeprefix(f"restow: {file}: ").rstrip("\n")


def test_a_damaged_line_is_refused_with_the_file_and_its_number(
    file: Path, log: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("".join(log)[:-20])
    assert refusal(file, capsys) == (
        f"line {len(log)}: this is not JSON; the file is damaged, or no log of a controller"
    )


def test_a_file_that_is_no_log_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('{"capacity": 100}')
    assert refusal(file, capsys) == (
        "line 1: this is no log of version 2 or 3; it must begin with the controller's state"
    )


def test_a_file_that_is_no_text_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(b"\xff\xfe")
    assert refusal(file, capsys) == "this is not UTF-8 text; an event log is lines of JSON"


def test_a_missing_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(tmp_path / "none", capsys) == "can't be read (no such file or directory); it must be an event log"
    assert refusal(tmp_path, capsys) == "can't be read (is a directory); it must be an event log"


def test_an_unknown_kind_of_line_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["replay", str(file), "--only", "gossip"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.startswith("restow: argument --only: invalid choice: 'gossip'")
