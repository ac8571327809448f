"""Every role is started before its brokers: it waits for them, says so, is alive and not ready, and then works."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from tests.conftest import Eventually

from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.embedded.ports import choose_ports
from restow.settings import Kafka

pytestmark = pytest.mark.kafka

SETTINGS = """
[kafka]
bootstrap = "127.0.0.1:{port}"
[group]
name = "early"
[topics]
most_consumers = 1
[consumer]
pipeline = "light"
[consume.orders]
table = "{directory}/orders.db"
[processes]
directory = "{directory}/processes"
"""
ALIVE_WITHIN_S = 60.0
"""The shortest that a liveness probe may be set to."""


@dataclass
class Roles:
    """Processes of restow, each with a directory for its probes."""

    directory: Path
    started: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, role: str, *arguments: str) -> "subprocess.Popen[bytes]":
        signs = self.directory / f"{role}-signs"
        signs.mkdir()
        config = str(self.directory / "restow.toml")
        with self.output(role).open("wb") as output:
            self.started[role] = subprocess.Popen(
                [sys.executable, "-m", "restow", role, "--config", config, *arguments],
                env={**os.environ, "RESTOW_SIGNS": str(signs)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        return self.started[role]

    def output(self, role: str) -> Path:
        return self.directory / f"{role}.txt"

    def has_said(self, role: str, words: str) -> bool:
        return words in self.output(role).read_text()

    def is_ready(self, role: str) -> bool:
        return (self.directory / f"{role}-signs" / "ready").exists()

    def is_alive(self, role: str) -> bool:
        return time.time() - (self.directory / f"{role}-signs" / "alive").stat().st_mtime < ALIVE_WITHIN_S

    def end(self) -> None:
        for process in self.started.values():
            if process.poll() is None:
                process.kill()
            process.wait(60)


@pytest.fixture
def roles(tmp_path: Path) -> Iterator[Callable[[int], Roles]]:
    made = Roles(tmp_path)

    def at(port: int) -> Roles:
        (tmp_path / "restow.toml").write_text(SETTINGS.format(port=port, directory=tmp_path))
        return made

    yield at
    made.end()


def test_roles_that_start_before_their_brokers_wait_for_them_and_then_work(
    roles: Callable[[int], Roles], eventually: Eventually
) -> None:
    [port] = choose_ports(1)
    early = roles(port)
    early.start("monitor")
    early.start("controller")
    early.start("consumer", "--name", "early-consumer-1", "--volume", str(early.directory / "volume"))
    away = f"127.0.0.1:{port} doesn't answer (Connect to ipv4#127.0.0.1:{port} failed: Connection refused)"
    for role in early.started:
        eventually(partial(early.has_said, role, away))
        assert early.is_alive(role)
        assert not early.is_ready(role)
    with EmbeddedKafka(port=port) as broker, Admin(Kafka(broker.bootstrap)) as admin:
        admin.create_topic("orders", 1)  # a monitor is ready when it has published a speed
        for role, process in early.started.items():
            eventually(partial(early.is_ready, role))
            text = early.output(role).read_text()
            assert text.count(away) == 1
            assert "the brokers answer again" in text
            process.send_signal(signal.SIGTERM)
        assert [process.wait(60) for process in early.started.values()] == [0, 0, 0]


def test_a_stop_signal_ends_a_controller_that_waits_for_brokers(
    roles: Callable[[int], Roles], eventually: Eventually
) -> None:
    early = roles(1)
    controller = early.start("controller")
    eventually(partial(early.has_said, "controller", "doesn't answer"))
    controller.send_signal(signal.SIGTERM)
    assert controller.wait(60) == 0
    assert early.has_said("controller", "ended while the brokers didn't answer")
