"""`restow study packing`: what it prints, what it draws, and how it answers mistakes."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from restow.cli import main
from restow.packing import PACKERS

SMALL = ("study", "packing", "--d", "5,25", "--seeds", "2", "--steps", "3")
COMMAND = (sys.executable, "-c", "import sys; from restow.cli import main; sys.exit(main())")
KEYS = ["d", "packer", "worth", "cbs", "r", "consumers", "moves"]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "trace.json"
    file.write_text('[{"orders": {"0": 6, "1": 5, "2": 4, "3": 5}}, {"orders": {"1": 5, "2": 4, "3": 7, "4": 3}}]')
    return file


def test_json_is_one_object_of_rows_by_d_and_packer_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--packer", "mwf,bfd", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert list(document) == ["rows"]
    assert [list(row) for row in document["rows"]] == [KEYS] * 4
    assert [(row["d"], row["packer"], row["worth"]) for row in document["rows"]] == [
        (5, "mwf", None),
        (5, "bfd", None),
        (25, "mwf", None),
        (25, "bfd", None),
    ]
    assert err == ""


def test_a_trace_has_no_d(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "packing", "--trace", str(trace), "--capacity", "10", "--packer", "nf,bfd", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "rows": [
            {"d": None, "packer": "nf", "worth": None, "cbs": 25.0, "r": 0.0, "consumers": 2.5, "moves": 0.0},
            {"d": None, "packer": "bfd", "worth": None, "cbs": 0.0, "r": 0.5, "consumers": 2.0, "moves": 1.0},
        ]
    }


def test_without_json_a_table_is_shown(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "packing", "--trace", str(trace), "--capacity", "10", "--packer", "nf,bfd"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if line and "─" not in line[0]] == [
        ["d", "packer", "worth", "CBS", "%", "R", "consumers", "moves"],
        ["trace", "nf", "25.00", "0.00", "2.5", "0.0"],
        ["trace", "bfd", "0.00", "0.50", "2.0", "1.0"],
    ]


def test_the_start_of_the_walk_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    walk = ["--d", "0", "--seeds", "1", "--steps", "1", "--packer", "bfd", "--json"]
    consumers = []
    for start in ("0", "50", "100"):
        main(["study", "packing", *walk, "--start", start])
        consumers += [row["consumers"] for row in json.loads(capsys.readouterr().out)["rows"]]
    assert consumers == [1, 100, 200]


def test_an_option_of_the_walk_is_ignored_with_a_trace_and_a_note(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", "packing", "--trace", str(trace), "--packer", "nf", "--json", "--seeds", "9"]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)["rows"]) == 1
    assert err == "restow: --seeds is not used: it belongs to the published workload, and --trace is given\n"


PACKER_NAMES = ", ".join(PACKERS)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--packer", "mwf,foo"], f"--packer: there is no packer 'foo'; known are {PACKER_NAMES};"),
        (["--packer", ""], f"--packer: there is no packer ''; known are {PACKER_NAMES};"),
        (["--d", "-1"], "--d: '-1' can't be used; it must be a whole number, 0 or more;"),
        (["--d", "5,x"], "--d: 'x' can't be used; it must be a whole number, 0 or more;"),
        (["--d", "2.5"], "--d: '2.5' can't be used; it must be a whole number, 0 or more;"),
        (["--steps", "0"], "--steps: '0' can't be used; it must be a whole number, 1 or more;"),
        (["--seeds", "0"], "--seeds: '0' can't be used; it must be a whole number, 1 or more;"),
        (["--worth", "nan"], "--worth: 'nan' can't be used; it must be a finite number, 0 or more;"),
        (["--worth", "1,inf"], "--worth: 'inf' can't be used; it must be a finite number, 0 or more;"),
        (["--worth", "-1"], "--worth: '-1' can't be used; it must be a finite number, 0 or more;"),
        (["--capacity", "0"], "--capacity: '0' can't be used; it must be a finite number, 0.001 or more;"),
        (["--start", "7"], "--start: there is no start '7'; known are uniform, 0, 50, 100;"),
    ],
)
def test_a_wrong_option_is_answered_with_one_line_and_exit_code_2(
    options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["study", "packing", *options])
    out, err = capsys.readouterr()
    assert stopped.value.code == 2
    assert (out, err) == ("", f"restow: argument {complaint} see `restow study packing --help`\n")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("speeds", "line 1, column 1 is not JSON (expecting value); the file must be JSON"),
        ('[{"a": {"7": -1}}]', "[0].a.7 is -1; it must be a number of bytes/s from 0 to 1e+18"),
        ('[{"a": {"7": NaN}}]', "[0].a.7 is NaN; it must be a number of bytes/s from 0 to 1e+18"),
        ('[{"a": {"7": 1, "7": 2}}]', "[0].a.7 is given twice; it must be given once"),
    ],
)
def test_a_wrong_trace_is_answered_with_one_line_and_exit_code_2(
    content: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace.json"
    file.write_text(content)
    assert main(["study", "packing", "--trace", str(file), "--json"]) == 2
    assert capsys.readouterr() == ("", f"restow: {file}: {complaint}\n")


def test_a_missing_trace_is_answered_with_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "packing", "--trace", "nowhere.json"]) == 2
    assert capsys.readouterr() == ("", "restow: nowhere.json: can't be read (no such file or directory)\n")


@pytest.mark.slow
def test_the_picture_is_drawn_into_a_directory_that_is_made_for_it(tmp_path: Path) -> None:
    file = tmp_path / "new" / "pareto.png"
    assert main([*SMALL, "--plot", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")


def test_an_unknown_kind_of_picture_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pareto.gif"
    assert main([*SMALL, "--plot", str(file)]) == 2
    complaint = f"restow: {file}: can't draw into a '.gif' file; its name must end in .png or .svg\n"
    assert capsys.readouterr() == ("", complaint)


def run(*arguments: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=True, env=environment)


@pytest.mark.slow
def test_in_a_pipe_there_is_no_progress_bar_and_every_hash_seed_gives_the_same_output() -> None:
    one, other = (run(*SMALL, "--json", hash_seed=hash_seed) for hash_seed in ("1", "2"))
    assert one.stderr == other.stderr == ""
    assert one.stdout == other.stdout
    assert {row["packer"] for row in json.loads(one.stdout)["rows"]} > {"nf", "mbfp"}


def test_on_a_terminal_there_is_a_progress_bar_on_stderr() -> None:
    terminal, stderr = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    arguments = [*COMMAND, *SMALL, "--packer", "mwf", "--json"]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=stderr, check=True, env=environment)
    os.close(stderr)
    drawn = os.read(terminal, 100_000).decode()
    os.close(terminal)
    assert "packing" in drawn
    assert len(json.loads(done.stdout)["rows"]) == 2
