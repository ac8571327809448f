"""`restow study monitor --simulated`: what it prints, what it draws, and how it answers mistakes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from restow.cli import main
from restow.kafka.admin import Admin
from restow.settings import Kafka

SIMULATED = ("study", "monitor", "--simulated", "--seeds", "2")
KEYS = [
    "scenario",
    "window_convergence_s",
    "filtered_convergence_s",
    "window_mean_error",
    "filtered_mean_error",
    "window_noise",
    "filtered_noise",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["step", "random", "ramp", "burst"])
def test_json_is_one_object_and_nothing_else(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SIMULATED, "--scenario", name, "--json"]) == 0
    out, err = capsys.readouterr()
    row = json.loads(out)
    assert list(row) == KEYS
    assert (row["scenario"], err) == (name, "")
    assert row["filtered_mean_error"] < row["window_mean_error"]


def test_a_trace_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.json"
    file.write_text('[{"orders": {"0": 100000}}, {"orders": {"0": 300000}}]')
    assert main([*SIMULATED, "--scenario", "replay", str(file), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["scenario"] == "replay"
    assert row["filtered_convergence_s"] <= 6 < row["window_convergence_s"]


def test_without_json_a_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "monitor", "--simulated", "--seed", "4", "--scenario", "random", "--duration", "90"]) == 0
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert [line[0] for line in lines if len(line) in (3, 4) and "─" not in line[0]] == [
        "random",
        "convergence",
        "mean",
        "noise",
    ]
    assert ["simulated,", "90", "s,", "seed", "4"] in lines
    assert err == ""


def test_the_picture_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pictures" / "monitor.png"
    assert main([*SIMULATED, "--duration", "60", "--plot", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert "convergence" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--scenario", "stairs"],
            "--scenario: there is no scenario 'stairs'; known are step, random, ramp, burst, replay",
        ),
        (["--scenario", "replay"], "--scenario: 'replay' can't be used; it must be replay and the file of a trace"),
        (["--scenario", "step", "a.json"], "--scenario: 'step a.json' can't be used; it must be step alone"),
        (["--scenario", "replay", "none.json"], "none.json: can't be read (no such file or directory)"),
        (["--plot", "x.pdf"], "x.pdf: can't draw into a '.pdf' file; its name must end in .png or .svg"),
    ],
)
def test_a_mistake_is_answered_with_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SIMULATED, *arguments]) == 2
    assert capsys.readouterr() == ("", f"restow: {message}\n")


def test_live_a_real_producer_writes_and_the_monitor_measures_it(
    kafka: Kafka,
    admin: Admin,
    capsys: pytest.CaptureFixture[str],
    eventually: Callable[[Callable[[], object]], None],
) -> None:
    live = ("study", "monitor", "--bootstrap", kafka.bootstrap, "--duration", "10", "--sample-s", "0.5", "--json")
    assert main([*live]) == 0
    out, err = capsys.readouterr()
    row = json.loads(out)
    assert (list(row), row["scenario"], err) == (KEYS, "step", "")
    # How near it comes is the study's own affair, and the machine's; who measured nothing would be wrong by 1.
    assert row["window_mean_error"] < 0.5
    eventually(lambda: not [name for name in admin.cluster().leaders if name.startswith("restow-study-")])
