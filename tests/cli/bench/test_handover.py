"""`restow bench handover`: earlier results without a broker, and a short run of real groups."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from restow.cli import main
from restow.cli.bench.handover import exit_code
from restow.handover.run import Outcome
from restow.study.handover import KIP_848, LIGHT, RANGE, SPARK, Row, result

EARLIER = [Row(SPARK, "join", 9, 0.12, 0.29, 0, 9.8, 0, 0), Row(RANGE, "kill", 16, 5.8, 6.8, 1, 6.9, 200, 0)]


def test_earlier_results_are_a_table_json_and_a_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, plot = tmp_path / "earlier.json", tmp_path / "handover.svg"
    file.write_text(json.dumps(result(EARLIER)))
    assert main(["bench", "handover", "--join", str(file)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[-2:] == [
        ["restow-spark", "join", "9", "0.12", "0.29", "0", "9.8", "0", "0"],
        ["range", "kill", "16", "5.80", "6.80", "1", "6.9", "200", "0"],
    ]
    assert main(["bench", "handover", "--join", str(file), "--json", "--plot", str(plot)]) == 0
    assert json.loads(capsys.readouterr().out) == result(EARLIER)
    assert "restow-spark" in plot.read_text()


def test_the_exit_code_is_1_if_restow_lost_or_doubled_a_record_or_failed() -> None:
    assert exit_code([], EARLIER) == 0
    assert exit_code([], [Row(LIGHT, "kill", 9, 0.1, 0.2, 0, 1.0, 0, 1)]) == 1
    assert exit_code([], [Row(LIGHT, "kill", 9, 0.1, 0.2, 0, 1.0, 1, 0)]) == 1
    assert exit_code([Outcome(LIGHT, None)], EARLIER) == 1
    assert exit_code([Outcome(RANGE, None)], EARLIER) == 0


@pytest.mark.parametrize("options", [("--only", "flink"), ("--change", "pause"), ("--rounds", "0")])
def test_unknown_names_and_numbers_are_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["bench", "handover", *options])


@pytest.mark.kafka
def test_real_groups_lose_a_member_and_restow_neither_loses_nor_doubles_a_record(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "restow", "bench", "handover", "--json", "--quick", "--change", "kill"]
    ran = subprocess.run(
        [*command, "--only", f"{LIGHT},{KIP_848}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    ours, peer = json.loads(ran.stdout)["rows"]
    assert (ours["contender"], peer["contender"]) == (LIGHT, KIP_848)
    assert min(ours["moved"], peer["moved"]) > 0
    assert (ours["duplicates"], ours["lost"], peer["lost"]) == (0, 0, 0)
    assert 0 <= ours["pause_p50_s"] <= ours["pause_p99_s"]
    assert ours["in_effect_s"] > 0
