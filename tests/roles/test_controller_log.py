"""The controller's log lines: those of one round, and that no speeds arrive."""

import logging
import time
from pathlib import Path

import pytest

from restow.controller.effects import Noted
from restow.controller.events import SpeedsMeasured
from restow.controller.journal import Journal
from restow.health import Health
from restow.model import Speeds
from restow.platform.processes.platform import LocalProcesses
from restow.roles.controller import SPEEDS_WITHIN_S, ControllerProcess, StopRequested, _log
from restow.settings import Group, Kafka, Settings


def refusal(consumer: int, topic: str) -> Noted:
    return Noted("failure", f"consumer {consumer}", f"refused 4 partitions: there is no table of {topic}")


def test_what_one_consumer_refuses_in_a_round_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "restow")
    _log([refusal(1, "a"), refusal(1, "b"), Noted("flag", "refused a", "there is no table of a"), refusal(2, "a")])
    assert caplog.messages == [
        "consumer 1: refused 4 partitions: there is no table of a; refused 4 partitions: there is no table of b",
        "refused a: there is no table of a",
        "consumer 2: refused 4 partitions: there is no table of a",
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_a_long_list_is_cut_and_repeats_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "restow")
    _log([refusal(1, topic) for topic in "aabcdef"])
    [line] = caplog.messages
    assert line.startswith("consumer 1: refused 4 partitions: there is no table of a; ")
    assert line.endswith("there is no table of c; and 3 more like these")


def test_missing_speeds_are_reported_once_and_so_is_their_arrival(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "restow")
    platform = LocalProcesses("shop", tmp_path, lambda *_: ("true",), grace_s=1.0)
    settings = Settings(Kafka("127.0.0.1:1"), Group("lake"))
    with Journal(tmp_path / "events") as journal:
        process = ControllerProcess(settings, platform, journal, Health(None))
        process._speeds_due_s = time.monotonic() + SPEEDS_WITHIN_S
        process._look_for_speeds([])
        assert caplog.messages == []
        process._speeds_due_s = time.monotonic()
        process._look_for_speeds([])
        process._look_for_speeds([])
        topic = settings.topics.monitor
        missing = f"no speeds on {topic} for 5 s, and without them nothing is assigned; does `restow monitor` run?"
        assert caplog.messages == [missing]
        process._look_for_speeds([SpeedsMeasured("2026-03-01T12:00:00.250Z", Speeds({}))])
        process._look_for_speeds([])
        assert caplog.messages == [missing, f"speeds arrive on {topic}"]


def test_a_controller_that_waits_for_brokers_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restow.kafka.channels.controller.ANSWER_WITHIN_S", 0.1)
    platform = LocalProcesses("shop", tmp_path, lambda *_: ("true",), grace_s=1.0)
    with Journal(tmp_path / "events.jsonl") as journal:
        process = ControllerProcess(Settings(Kafka("127.0.0.1:1"), Group("shop")), platform, journal, Health(None))
        asked = iter([False, False, True])
        process._should_stop = lambda _: next(asked)
        with process._channel, pytest.raises(StopRequested):
            process._channel.learn_partitions()  # retried until the brokers answer
        assert next(asked, None) is None
