"""Lines on long waits."""

import logging
import sys
import time
from contextlib import suppress

import pytest

from restow import waiting as module
from restow.waiting import waiting


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.1)
    monkeypatch.setattr(module, "AGAIN_S", 0.15)
    monkeypatch.setattr(module, "REDRAW_S", 0.05)
    caplog.set_level(logging.INFO, "restow")


def test_a_short_wait_leaves_no_trace(caplog: pytest.LogCaptureFixture) -> None:
    with waiting("Spark to start"):
        pass
    assert caplog.messages == []


def test_a_long_wait_says_what_it_is_for_while_it_lasts(caplog: pytest.LogCaptureFixture) -> None:
    with waiting("Spark to start"):
        time.sleep(0.5)
        assert caplog.messages[:2] == ["waiting for Spark to start", "still waiting for Spark to start, for 0 s now"]
    assert caplog.messages[-1].endswith(" s for Spark to start")
    assert caplog.messages[-1].startswith("waited ")


def test_seconds_are_drawn_on_a_terminal_only(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with waiting("Kafka"):
        time.sleep(0.3)
    assert "\r" not in capsys.readouterr().err
    caplog.clear()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with waiting("Kafka"):
        time.sleep(0.3)
    assert "  0 s\r" in capsys.readouterr().err
    assert caplog.messages == ["waiting for Kafka", "waited 0 s for Kafka"]


def test_the_wait_is_over_when_its_work_fails(caplog: pytest.LogCaptureFixture) -> None:
    with suppress(ValueError), waiting("Kafka"):
        time.sleep(0.2)
        raise ValueError
    assert caplog.messages[-1] == "waited 0 s for Kafka"
