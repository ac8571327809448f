"""`restow demo`'s own words: its options, what it refuses, and how it tells the story and the outcome."""

import io
from pathlib import Path

import pytest

from restow.cli.demo import storyteller
from restow.cli.main import main


@pytest.mark.parametrize("time", ["4", "0s", "-3m", "4 minutes", "1e2s", ""])
def test_a_time_that_is_none_is_refused(time: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", f"--for={time}"])
    assert ended.value.code == 2
    expected = f"restow: argument --for: '{time}' is no time; write 90s, 4m or 1h; see `restow demo --help`\n"
    assert capsys.readouterr().err == expected


def test_a_place_that_holds_something_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").touch()
    assert main(["demo", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"restow: --data {tmp_path} holds thesis.txt; name a new or an empty place\n"


def test_a_place_that_is_no_directory_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    assert main(["demo", "--data", str(file)]) == 2
    assert capsys.readouterr().err == f"restow: --data {file} can't be used: File exists; name a directory that can\n"


def test_lines_have_the_time_since_the_beginning_and_what_belongs_to_them_is_indented() -> None:
    stream = io.StringIO()
    tell = storyteller(stream)
    tell("busy: the load rises")
    tell("  because " + "very " * 40 + "much is sold")
    assert stream.getvalue().splitlines() == [
        "  0:00  busy: the load rises",
        "          because " + "very " * 35 + "very",
        "          very very very very much is sold",
    ]
