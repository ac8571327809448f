"""`restow bench consumer`: joined results without a broker, and a short run of the real contenders."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from restow.cli import main
from restow.cli.bench.consumer import exit_code
from restow.study.throughput import BASE, LOOP, RESTOW, TUNED, Case, Row, Speed, result, row_of
from restow.throughput.run import Outcome

KEYS = {
    *("contender", "cores", "record_bytes", "partitions", "topics", "tables", "brokers"),
    *("mb_per_s", "records_per_s", "cpu_s_per_gb", "memory_mb"),
}


def row(contender: str, mb_per_s: float, case: Case = BASE) -> Row:
    return row_of(contender, case, Speed(mb_per_s * 1000, 1.0, 2.0, 5), 0.9, 1e9)


@pytest.fixture
def earlier(tmp_path: Path) -> str:
    base, wide = tmp_path / "base.json", tmp_path / "wide.json"
    base.write_text(json.dumps(result([row(RESTOW, 41.0), row(TUNED, 20.0), row(LOOP, 82.0)], 41_567_890)))
    wide.write_text(json.dumps(result([row(RESTOW, 14.0, Case(partitions=144))], 14_000_000)))
    return f"{base},{wide}"


def test_joined_results_are_a_table_with_ratios_and_the_line_for_restow_toml(
    earlier: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "consumer", "--join", earlier]) == 0
    lines = [re.split(r" {2,}", line.strip()) for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0] == ["case", "contender", "MB/s", "records/s", "CPU s/GB", "memory MB", "restow is"]
    assert lines[2:] == [
        ["1 kB, 8 partitions", "restow", "41.0", "41,000", "22.0", "1,000"],
        ["streaming-tuned", "20.0", "20,000", "45.0", "1,000", "2.05 x"],
        ["loop", "82.0", "82,000", "11.0", "1,000", "0.50 x"],
        ["1 kB, 144 partitions", "restow", "14.0", "14,000", "64.3", "1,000"],
        ["[consumer] capacity_bytes_per_s = 41000000"],
    ]


def test_joined_results_are_json_and_a_plot(earlier: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "plots" / "throughput.svg"
    assert main(["bench", "consumer", "--join", earlier, "--json", "--plot", str(plot)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [each["contender"] for each in printed["rows"]] == [RESTOW, TUNED, LOOP, RESTOW]
    assert printed["capacity_bytes_per_s"] == 41_567_890
    assert "streaming-tuned" in plot.read_text()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--only", "partitions", "--contender", "streaming"), "none of the contenders takes part"),
        (("--join", "nowhere.json"), "nowhere.json: can't be read"),
        (("--quick", "--plot", "x.gif"), "must end in .png or .svg"),
    ],
)
def test_mistakes_are_refused_before_anything_is_started(
    options: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "consumer", *options]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--only", "speeds"), "there is no case 'speeds'; known are base, sizes"),
        (("--contender", "flink"), "there is no contender 'flink'"),
        (("--seconds", "0"), "'0' can't be used"),
        (("--warm-up", "-1"), "'-1' can't be used"),
    ],
)
def test_unknown_names_and_numbers_are_refused(
    options: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "consumer", *options])
    assert reason in capsys.readouterr().err


def test_the_exit_code_is_1_if_restow_failed_and_0_if_a_peer_did() -> None:
    assert exit_code([Outcome(RESTOW, BASE, None)]) == 1
    assert exit_code([Outcome(LOOP, BASE, None)]) == 0
    assert exit_code([]) == 0


@pytest.mark.kafka
@pytest.mark.spark
def test_the_real_contenders_are_measured_and_restow_s_rows_are_checked(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "restow", "bench", "consumer", "--json", "--seconds", "2"]
    ran = subprocess.run(
        [*command, "--only", "base", "--contender", "restow,loop,bare"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout)
    present = [RESTOW, LOOP, "bare"] if importlib.util.find_spec("polars") else [RESTOW, "bare"]
    assert [each["contender"] for each in printed["rows"]] == present
    assert list(printed) == ["rows", "capacity_bytes_per_s"]
    for each in printed["rows"]:
        assert each.keys() == KEYS
        assert {
            name: each[name] for name in ("cores", "record_bytes", "partitions", "topics", "tables", "brokers")
        } == {
            "cores": 1,
            "record_bytes": 1000,
            "partitions": 8,
            "topics": 1,
            "tables": 1,
            "brokers": 1,
        }
        assert min(each[name] for name in ("mb_per_s", "records_per_s", "cpu_s_per_gb", "memory_mb")) > 0
    ours = printed["rows"][0]
    # Kafka's log has a little more than the values.
    assert ours["mb_per_s"] < printed["capacity_bytes_per_s"] / 1e6 < 1.1 * ours["mb_per_s"]
    assert "time of restow's cycles: write" in ran.stderr
