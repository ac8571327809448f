"""`restow replay`: explains a controller's event log and checks its effects."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, TAKE_OVER_S, Driver

from restow.cli.main import main
from restow.controller.event_log import replay
from restow.controller.journal import Journal

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
    file.write_text("".join(log)[:-20] + "\n")
    assert refusal(file, capsys) == (
        f"line {len(log)}: this is not JSON; the file is damaged, or no log of a controller"
    )


def test_a_last_line_that_is_cut_off_is_reported_and_the_others_are_printed(
    file: Path, log: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("".join(log)[:-20])
    assert main(["replay", str(file)]) == 0
    out, err = capsys.readouterr()
    assert out
    assert STORY.startswith(out)
    assert err.splitlines()[0] == (
        "restow: events.jsonl: its end is cut off, as by a crash; all lines before that are read"
    )


def test_a_file_that_is_no_log_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('{"capacity": 100}')
    assert refusal(file, capsys) == (
        "line 1: this is not a log of version 2, 3, 4, 5, 6 or 7; it must begin with the controller's state"
    )


def test_a_file_that_is_no_text_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(b"\xff\xfe")
    assert refusal(file, capsys) == "this is not UTF-8 text; an event log is lines of JSON"


def test_a_missing_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(tmp_path / "none", capsys) == "can't be read (no such file or directory); it must be an event log"
    assert refusal(tmp_path, capsys) == ("there is no segment of an event log in it; they are called events-….jsonl.gz")


def test_an_unknown_kind_of_line_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["replay", str(file), "--only", "gossip"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.startswith("restow: argument --only: invalid choice: 'gossip'")


# A directory of segments, and the wall clock.

FAILED = "consumer    consumer 1: failing: no memory; waiting for its restart"
READY = "consumer    consumer 1: ready after a crash, with 2 partitions"


def lived_through(controller: str, from_: datetime, minutes: int, directory: Path) -> None:
    """A controller's log. 40 minutes after its start consumer 1 fails, and a minute later it is ready again."""
    driver = Driver().takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    for minute in range(minutes):
        if minute == 40:
            driver.fails(1)
        if minute == 41:
            driver.is_ready(1, A0, A1, clean=False)
        for _ in range(2):
            driver.ticks(30)
            driver.measures()
            for consumer in driver.fakes:
                driver.reports(consumer)
    begun_s = from_.timestamp() - TAKE_OVER_S
    utc_s = from_.timestamp()
    with Journal(directory, controller=controller, wall_clock=lambda: utc_s) as journal:
        for step in replay(driver.log):
            utc_s = begun_s + step.after.time_s
            journal.write(step.before, step.event, step.effects, step.after)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One controller ran on the 16th from 02:30 to 03:36, the next on the 17th. Segments last an hour."""
    directory = tmp_path_factory.mktemp("night")
    for day in (16, 17):
        lived_through(f"host-{day}", datetime(2026, 11, day, 2, 30, tzinfo=UTC), 66, directory)
    return directory


@pytest.mark.slow
def test_a_directory_is_one_history_of_all_its_controllers(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = sorted(file.name for file in night.iterdir())
    assert len(names) == 4
    assert replayed(night, capsys, "--only", "log") == [
        f"2026-11-16 02:30:00.000  log         {names[0]}: controller host-16 begins",
        f"2026-11-17 02:30:00.000  log         {names[2]}: controller host-17 begins",
    ]
    failures = [line for line in replayed(night, capsys, "--about", "consumer 1") if line.endswith(FAILED)]
    assert failures == [f"2026-11-{day} 03:10:00.000  {FAILED}" for day in (16, 17)]


def test_a_segment_alone_is_replayed_too(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = sorted(night.iterdir())[1]
    lines = replayed(segment, capsys)
    assert lines
    assert all("2026-11-16 03:30" <= line <= "2026-11-16 04:01" for line in lines)
    plain = night.parent / "plain.jsonl"
    plain.write_bytes(gzip.decompress(segment.read_bytes()))
    assert replayed(plain, capsys) == lines


@pytest.mark.parametrize(
    ("window", "days"),
    [
        (("--from", "03:00", "--to", "03:30"), ["17"]),
        (("--from", "2026-11-16T03:00", "--to", "03:30"), ["16"]),
        (("--from", "2026-11-16 03:00Z", "--to", "2026-11-17T03:30:00+00:00"), ["16", "17"]),
        (("--from", "2026-11-17"), ["17"]),
        (("--to", "2026-11-16T12:00"), ["16"]),
        (("--from", "03:10:00"), ["17"]),
        (("--from", "03:10:01", "--to", "03:09:59"), []),
        (("--to", "02:59"), ["16"]),
        (("--from", "23:00"), ["17"]),
        (("--from", "2026-11-18"), []),
        (("--to", "2026-11-15"), []),
    ],
)
def test_only_what_is_between_two_times(
    night: Path, capsys: pytest.CaptureFixture[str], window: tuple[str, ...], days: list[str]
) -> None:
    lines = replayed(night, capsys, "--about", "consumer 1", "--only", "consumer", *window)
    assert [line for line in lines if line.endswith(FAILED)] == [
        f"2026-11-{day} 03:10:00.000  {FAILED}" for day in days
    ]


def test_json_has_the_wall_clock_too(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    window = ("--from", "03:05", "--to", "03:10:30", "--only", "consumer")
    [line] = [json.loads(line) for line in replayed(night, capsys, "--json", *window)]
    assert (line["time"], line["time_s"]) == ("2026-11-17T03:10:00.000Z", TAKE_OVER_S + 2400)


def test_only_the_segments_of_the_time_are_read(
    night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in night.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    first, *_ = sorted(tmp_path.iterdir())
    first.write_bytes(b"{}\n")
    assert main(["replay", str(tmp_path)]) == 1
    assert f"restow: {first.name}: line 1: this is not a log" in capsys.readouterr().err
    assert len(replayed(tmp_path, capsys, "--from", "2026-11-17T03:05", "--to", "03:10:30")) > 0


def test_the_log_of_the_group_is_found_by_restow_toml(
    night: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[kafka]\nbootstrap = "localhost:1"\n[group]\nname = "lake"\n[processes]\ndirectory = "data"\n'
    (tmp_path / "restow.toml").write_text(text)
    log = tmp_path / "data" / "lake-controller" / "events"
    log.parent.mkdir(parents=True)
    log.symlink_to(night)
    monkeypatch.chdir(tmp_path)
    assert main(["replay", "--only", "log"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize("time", ["3", "03:99", "yesterday", "2026-13-01"])
def test_a_time_that_is_none_is_refused(file: Path, capsys: pytest.CaptureFixture[str], time: str) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["replay", str(file), "--from", time])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.startswith(
        f"restow: argument --from: '{time}' can't be used; it must be a time in UTC, like 03:00"
    )


def test_times_that_contradict_each_other_are_refused(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(night), "--from", "2026-11-17", "--to", "2026-11-16"]) == 2
    assert capsys.readouterr().err == (
        f"restow: {night}: --to 2026-11-16T00:00:00.000Z is before --from 2026-11-17T00:00:00.000Z; it must be later\n"
    )


def test_an_older_log_has_no_times(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(file), "--from", "03:00"]) == 2
    words = "it has no wall clock times, which logs have since version 4; leave out --from and --to"
    assert words in capsys.readouterr().err
