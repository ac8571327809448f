"""`restow simulate`: what it prints, what it draws, and how it answers mistakes."""

import json
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest
from tests.support.simulator import mutants

from restow.cli import main
from restow.study.comparison.policies import POLICIES

SHORT = ("simulate", "--hours", "0.1", "--partitions", "30", "--workload", "bursts")
KEYS = [
    *("seed", "consumer_hours", "consumers_mean", "consumers_max", "moves", "pause_p50_s", "pause_p99_s"),
    *("latency_p50_s", "latency_p99_s", "overloaded_consumer_s", "backlog_max_bytes", "violations"),
]


def test_json_is_one_object_and_the_same_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--seed", "3", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert list(document) == KEYS
    assert (document["seed"], document["violations"], err) == (3, [], "")
    assert document["consumer_hours"] == pytest.approx(document["consumers_mean"] * 0.1, rel=0.01)
    assert 0 < document["latency_p50_s"] <= document["latency_p99_s"]
    assert main([*SHORT, "--seed", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == document


def test_without_json_the_run_is_shown_over_time_and_as_a_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(list(SHORT)) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[1].split() == [
        *("minutes", "load", "MB/s", "consumers", "moves", "overloaded", "backlog", "MB", "latency", "s"),
    ]
    assert "seed 1: 30 partitions for 0.1 h, bursts, no faults" in lines
    assert [line.split()[-1] for line in lines if line.startswith(("faults", "violations"))] == ["0", "0"]


def test_a_trace_is_played_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.json"
    file.write_text(json.dumps([{"orders": {"0": 200_000, "1": 300_000}}] * 8))
    assert main(["simulate", "--workload", str(file), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["consumers_max"], document["consumer_hours"]) == (1, pytest.approx(8 * 30 / 3600, rel=0.1))


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "run.svg"
    assert main([*SHORT, "--plot", str(file), "--json"]) == 0
    assert file.read_text().startswith("<?xml")


def test_a_violation_is_printed_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mutants.a_start_does_not_wait_for_the_stop(monkeypatch)
    assert main(["simulate", "--seed", "1", "--faults", "many", "--json"]) == 1
    out, err = capsys.readouterr()
    violations = json.loads(out)["violations"]
    assert violations
    lines = err.splitlines()
    assert lines[:-1] == [f"restow: violation of {violation}" for violation in violations]
    assert lines[-1] == "restow: to repeat it: restow simulate --seed 1 --faults many"


@pytest.mark.slow
def test_a_search_runs_all_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--seed", "11", "--seeds", "4", "--faults", "some", "--hours", "0.2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"seeds": [11, 14], "runs": 4, "violations": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--workload", "dayly"),
            "restow: --workload: there is no workload or file 'dayly'; known are daily, bursts, skew, growth",
        ),
        (("--faults", "all"), "there is no level of faults 'all'; known are none, some, many"),
        (("--hours", "0"), "'0' can't be used; it must be a finite number, above 0"),
        (("--plot", "x.png", "--seeds", "3"), "restow: --plot draws one run; leave out --seeds, or --plot"),
    ],
)
def test_a_mistake_is_answered_with_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["simulate", *arguments])
    except SystemExit as error:
        code = int(str(error.code))
    out, err = capsys.readouterr()
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert message in err


# Comparisons and sweeps.


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in a thread: starting processes would take longer than they do."""
    monkeypatch.setattr("restow.cli.simulate._workers", lambda jobs: ThreadPool(jobs or 1))


@pytest.fixture
def small_trace(tmp_path: Path) -> Path:
    """Ten minutes of four partitions, one of which becomes three times as fast."""
    file = tmp_path / "trace.json"
    steps = [{"orders": {str(n): 300_000 if step < 10 or n else 600_000 for n in range(4)}} for step in range(20)]
    file.write_text(json.dumps(steps))
    return file


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_comparison_has_a_row_for_every_policy_and_a_plot(
    small_trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "compared.png"
    options = ("--compare", "--quick", "--workload", str(small_trace), "--plot", str(plot))
    assert main(["simulate", *options, "--json"]) == 0
    out, err = capsys.readouterr()
    rows = json.loads(out)["rows"]
    assert [row["policy"] for row in rows] == [policy.name for policy in POLICIES]
    keys = {"policy", "workload", "consumer_hours", "moves", "latency_p99_s", "overloaded_consumer_s"}
    assert all(keys == row.keys() and row["workload"] == "trace" for row in rows)
    assert err == ""
    assert plot.stat().st_size > 5000


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_sweep_has_a_row_for_every_value_and_says_what_it_ran(
    small_trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "swept.svg"
    options = ("--quick", "--workload", str(small_trace), "--plot", str(plot), "--set", "worth=2")
    assert main(["simulate", "--sweep", "look_every_s=10,60", "--seed", "7", "--jobs", "1", *options]) == 0
    out = capsys.readouterr().out
    assert "mean of seeds 107;" in out
    lines = [line.split() for line in out.splitlines()]
    assert [line[0] for line in lines if len(line) == 5 and line[0] in ("10", "60")] == ["10", "60"] * 2
    assert plot.exists()


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["--compare", "--sweep", "worth=1"], "--compare and --sweep are two studies; leave one out"),
        (["--compare", "--faults", "many"], "--compare and --sweep have neither faults nor a picture"),
        (["--compare", "--set", "worth=1"], "--set goes with --sweep"),
        (["--compare", "--times", "begin_s=3"], "there is no time 'begin_s'; known are start_s"),
        (["--compare", "--workload", "nowhere"], "there is no workload or file 'nowhere'; known are daily"),
        (["--sweep", "worth=1,-1"], "worth"),
        (["--sweep", "colour=red"], "there is no setting 'colour' that scaling depends on"),
        (["--sweep", "worth"], "'worth' is not a setting; write NAME=VALUE"),
    ],
)
def test_a_study_s_mistakes_are_answered_before_it_runs(
    options: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = main(["simulate", *options])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert answer in capsys.readouterr().err
