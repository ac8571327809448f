"""The controller's process, without brokers."""

from pathlib import Path

import pytest

from restow.controller.journal import Journal
from restow.health import Health
from restow.platform.processes.platform import LocalProcesses
from restow.roles.controller import ControllerProcess, StopRequested
from restow.settings import Group, Kafka, Settings


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
