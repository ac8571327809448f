"""`restow backtest`: the load of an event log under other settings."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, Driver

from restow.cli.backtest import differences
from restow.cli.main import main
from restow.controller.state import Rules
from restow.settings import Controller
from restow.study.comparison.backtest import BacktestRow, changed

MINUTES = 8


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two consumers, each three quarters full, for some minutes."""
    driver = Driver().takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=37, a_1=37, a_2=37, a_3=37)
    driver.waits(MINUTES * 60)
    file = tmp_path_factory.mktemp("log") / "events.jsonl"
    file.write_text("".join(driver.log))
    return file


def test_the_group_as_it_was_is_beside_the_same_settings_and_others(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roomy = ("trigger=0.6", "evict_to=0.5", "fill_to=0.5", "drain_to=0.4")
    options = [word for each in roomy for word in ("--set", each)]
    assert main(["backtest", str(log), *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["partitions"] == 4
    assert found["hours"] == pytest.approx(MINUTES / 60, abs=0.01)
    was, same, other = found["rows"]
    assert (was["way"], same["way"]) == ("as it was", "the same settings")
    assert other["way"].startswith("trigger 0.6, ")
    assert was["consumer_hours"] == pytest.approx(same["consumer_hours"], rel=0.02)
    assert other["consumer_hours"] == pytest.approx(2 * same["consumer_hours"], rel=0.1), "one partition each"
    assert (was["overloaded_consumer_s"], same["overloaded_consumer_s"]) == (0.0, 0.0)


def test_a_preset_brings_all_of_its_settings_and_others_count_before_it() -> None:
    rules = Rules(Controller(worth=7.0, most_consumers=5))
    controller, _ = changed(rules, {"preset": "lean", "drain_to": "0.6"})
    assert controller == replace(Controller.of_preset("lean", drain_to=0.6), most_consumers=5)


def test_without_a_setting_the_log_s_own_are_tried(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backtest", str(log)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("4 partitions for 8 min ")
    assert "a consumer reads 100 bytes/s" in out
    assert "neither --set nor --preset is given" in err


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["--set", "worth"], "'worth' is not a setting; write NAME=VALUE, like worth=3"),
        (["--set", "worth=-1"], "worth"),
        (["--set", "colour=red"], "there is no setting 'colour' that scaling depends on"),
    ],
)
def test_a_wrong_setting_is_refused_before_the_log_is_read(
    options: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = main(["backtest", "nowhere", *options])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert answer in capsys.readouterr().err


def test_a_log_that_is_too_short_or_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backtest", str(tmp_path / "nowhere")]) == 2
    assert "can't be read (no such file or directory)" in capsys.readouterr().err
    short = tmp_path / "events.jsonl"
    short.write_text("".join(Driver().takes_over({1: (A0, A1)}).log))
    assert main(["backtest", str(short)]) == 1
    assert "the log has measurements of less than 120 s" in capsys.readouterr().err


def test_costs_and_savings_are_said_in_words() -> None:
    same, other = BacktestRow("same", 10.0, 20, 5.0, 0.0), BacktestRow("worth 3", 9.5, 40, 5.0, 30.0)
    assert list(differences([same, same, other])) == [
        "worth 3 would have cost 20 moves, 30 overloaded consumer-seconds.",
        "worth 3 would have spared 0.5 consumer-hours.",
    ]
    assert list(differences([same, same, same])) == ["same would have changed nothing."]
