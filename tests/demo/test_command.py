"""`restow demo`: its options, what it refuses, and how it narrates."""

import io
from pathlib import Path

import pytest

from restow.cli.demo import kept_picture, narrator
from restow.cli.main import main


@pytest.mark.parametrize("time", ["4", "0s", "-3m", "4 minutes", "1e2s", ""])
def test_a_time_that_is_no_duration_is_refused(time: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", f"--for={time}"])
    assert ended.value.code == 2
    expected = f"restow: argument --for: '{time}' is not a duration; write 90s, 4m or 1h; see `restow demo --help`\n"
    assert capsys.readouterr().err == expected


def test_a_directory_that_is_not_empty_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").touch()
    assert main(["demo", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"restow: --data {tmp_path} holds thesis.txt; name a new or empty directory\n"


def test_a_file_is_refused_as_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    assert main(["demo", "--data", str(file)]) == 2
    assert (
        capsys.readouterr().err == f"restow: --data {file} can't be used: File exists; name a new or empty directory\n"
    )


def test_lines_have_the_time_since_the_start_and_their_continuations_are_indented() -> None:
    stream = io.StringIO()
    narrate = narrator(stream)
    narrate("busy: the load rises")
    narrate("  because " + "very " * 40 + "much is sold")
    assert stream.getvalue().splitlines() == [
        "  0:00  busy: the load rises",
        "          because " + "very " * 35 + "very",
        "          very very very very much is sold",
    ]


def test_the_last_picture_is_kept_in_the_cache_in_place_of_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path))
    picture = tmp_path / "picture.json"
    assert kept_picture(picture) == picture, "there is none"
    for text in ("{}", '{"overview": {}}'):
        picture.write_text(text)
        assert kept_picture(picture) == tmp_path / "demo-picture.json"
        assert (tmp_path / "demo-picture.json").read_text() == text
