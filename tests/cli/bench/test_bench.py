"""`restow bench packing`: what it prints, what it measures, and how it answers mistakes."""

import json
import re
import subprocess

import pytest
from tests.support.paths import ROOT

from restow.cli import main
from restow.study.decision_time import Row, decisions, growth_exponent, measure

SMALL = ("bench", "packing", "--partitions", "5,50", "--packer", "restow,bfd")


def test_json_is_one_object_of_rows_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--json"]) == 0
    out, err = capsys.readouterr()
    printed = json.loads(out)
    assert list(printed) == ["rows"]
    assert [list(row) for row in printed["rows"]] == 4 * [["packer", "partitions", "median_ms"]]
    assert [(row["packer"], row["partitions"]) for row in printed["rows"]] == [
        ("restow", 5),
        ("restow", 50),
        ("bfd", 5),
        ("bfd", 50),
    ]
    assert all(0 < row["median_ms"] < 10_000 for row in printed["rows"])
    assert err == ""


def test_the_table_has_a_line_for_each_packer_and_the_time_of_loading(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "packing", "--partitions", "10,1000,2000", "--packer", "mwf,bfd"]) == 0
    header, _, mwf, bfd, ready = (line.strip() for line in capsys.readouterr().out.splitlines() if line.strip())
    assert header.split() == ["packer", "10", "1,000", "2,000", "growth"]
    for line, packer in ((mwf, "mwf"), (bfd, "bfd")):
        assert re.fullmatch(rf"{packer}( +-?\d+\.\d\d){{4}}", line)
    assert re.fullmatch(r"medians in ms; loading restow's compiled code took \d+\.\d\d s, once per process", ready)


def test_one_size_has_no_growth(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "packing", "--partitions", "10", "--packer", "bfd"]) == 0
    assert re.search(r"^ ?bfd +\d+\.\d\d *$", capsys.readouterr().out, re.MULTILINE)


def test_growth_is_the_slope_of_the_logarithms_of_large_groups() -> None:
    quadratic = [Row("bfd", size, 1e-6 * size**2) for size in (1_000, 2_000, 50_000)]
    assert growth_exponent([Row("bfd", 10, 9.0), *quadratic]) == pytest.approx(2)
    assert growth_exponent([Row("bfd", 10, 9.0), quadratic[0]]) is None


def test_larger_groups_are_timed_for_fewer_decisions_but_never_for_one_alone() -> None:
    assert [decisions(size) for size in (200, 2_000, 20_000, 100_000, 1_000_000)] == [21, 21, 10, 3, 3]


def test_progress_advances_after_every_run() -> None:
    calls: list[None] = []
    measure(["bfd", "ff"], [1, 2, 3], lambda: calls.append(None))
    assert len(calls) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--partitions", "0"], "argument --partitions: '0' can't be used; it must be a whole number, 1 or more"),
        (["--packer", "tetris"], "argument --packer: there is no packer 'tetris'; known are nf, ff, "),
    ],
)
def test_a_mistake_is_answered_with_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["bench", "packing", *arguments])
    assert exit_.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"restow: {message}")


@pytest.mark.slow
def test_the_script_is_the_command() -> None:
    script = ROOT / "bench" / "packing"
    command = [str(script), "--partitions", "3", "--packer", "ff", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    [row] = json.loads(done.stdout)["rows"]
    assert (row["packer"], row["partitions"]) == ("ff", 3)
