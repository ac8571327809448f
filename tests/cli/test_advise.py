"""`restow advise`: what it prints and draws, and what it answers to mistakes. tests/roles/test_monitor_rights_live.py
runs it against a broker."""

import json
from pathlib import Path

import pytest
from tests.advice.test_advice import SKEWED, advised, watched

from restow.cli.advise import _show, as_json, bar
from restow.cli.main import main
from restow.study.advice_plot import picture
from restow.study.plots import save


def test_the_screen_has_the_members_and_the_ways(capsys: pytest.CaptureFixture[str]) -> None:
    advice = advised(watched(SKEWED, [[0, 1, 2], [3, 4, 5], []]), capacity=400_000)
    _show(advice, "broker:9092")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "payments on broker:9092, watched for 20 s"
    assert "  load      6 partitions of 1 topic, written at 540.0 kB/s, 540 records/s" in lines
    [busiest] = [line.split() for line in lines if line.strip().startswith("app-0…")]
    assert busiest[1:7] == ["10.0.0.1", "3", "480.0", "kB", "480.0", "kB"]
    assert busiest[-2:] == ["████████████████████", "120%"]
    [idle] = [line.split() for line in lines if line.strip().startswith("app-2…")]
    assert idle[-1] == "idle"
    [ours] = [line.split() for line in lines if line.strip().startswith("restow  ")]
    assert ours[:4] == ["restow", "2", "0", "0"]


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0.0, "░" * 20 + "   0%"), (0.5, "█" * 10 + "░" * 10 + "  50%"), (1.3, "█" * 20 + " 130%")],
)
def test_a_bar_is_full_at_the_capacity(share: float, drawn: str) -> None:
    assert bar(share) == drawn


def test_the_json_has_what_its_help_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(advised(watched(SKEWED, [[0, 1, 2], [3, 4, 5]]), capacity=400_000))
    json.dumps(found, allow_nan=False)
    with pytest.raises(SystemExit):
        main(["advise", "--help"])
    help_text = capsys.readouterr().out
    assert [key for key in found if f'"{key}"' not in help_text] == []


@pytest.mark.slow
@pytest.mark.parametrize("members", [[], [[0, 1, 2], [3, 4, 5]]])
def test_the_picture_is_drawn_with_and_without_members(members: list[list[int]], tmp_path: Path) -> None:
    file = tmp_path / "group.png"
    save(picture(advised(watched(SKEWED, members), capacity=400_000)), file)
    assert file.stat().st_size > 5000


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ([], "there is no ./restow.toml that says where Kafka is; name the brokers: --bootstrap HOST:PORT"),
        (["--property", "security.protocol=SSL"], "--property goes with --bootstrap"),
        (["--bootstrap", "b:1", "--property", "sasl.password=x"], "write 'sasl.password=${SASL_PASSWORD}'"),
        (["--bootstrap", "b:1", "--plot", "group.pdf"], "its name must end in .png or .svg"),
        (["--bootstrap", "b:1", "--for", "10"], "'10' is not a duration; write 90s, 4m or 1h"),
    ],
)
def test_a_mistake_is_answered_with_what_would_be_right(
    options: list[str],
    answer: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code: object = main(["advise", "--group", "payments", *options])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert answer in capsys.readouterr().err
