"""`restow up` with a light group that `restow init` wrote, on a real broker: it works, survives the loss of a role, and
ends as it says."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Eventually

from restow.cli.main import main
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.embedded.ports import choose_ports
from restow.kafka.topics import wait_until_shown
from restow.platform.processes.ending import end_group
from restow.platform.processes.linux import Process, is_alive
from restow.platform.processes.roles import Role, running_roles
from restow.platform.processes.supervisors import Supervisors
from restow.settings import Kafka

ROLES = {"up", "monitor", "controller", "page"}
MORE = """
[topics]
most_consumers = 2
"""


class Upped:
    """A group that `restow up` runs, in a directory of its own, which is never the working directory."""

    def __init__(
        self, kafka: Kafka, admin: Admin, directory: Path, eventually: Eventually, port: int, form: str = "text"
    ) -> None:
        self.name, self.topic = f"up-{uuid.uuid4().hex[:8]}", f"orders-{uuid.uuid4().hex[:8]}"
        self.directory, self.elsewhere = directory / self.name, directory / "elsewhere"
        self.directory.mkdir()
        self.elsewhere.mkdir(exist_ok=True)
        self.config, self.processes = self.directory / "restow.toml", self.directory / "restow-data"
        self.output = self.directory / "output.txt"
        self._kafka, self._eventually, self._produced = kafka, eventually, 0
        self._started: list[subprocess.Popen[bytes]] = []
        admin.create_topic(self.topic, 2)
        wait_until_shown(admin, {self.topic: 2})
        wrote = main(
            [
                *("init", "--light", "--bootstrap", kafka.bootstrap, "--group", self.name, "--topics", self.topic),
                *("--dir", str(self.directory), "--for", "0.1s"),
            ]
        )
        assert wrote == 0
        self._change(r"# port = \d+", f"port = {port}")
        self._change(r'# format = "text"', f'format = "{form}"')
        self._change(r'(pipeline = "light")', r"\1\ncycle_s = 0.2")
        self.config.write_text(self.config.read_text() + MORE)

    def _change(self, before: str, after: str) -> None:
        text, changes = re.subn(before, after, self.config.read_text())
        assert changes == 1
        self.config.write_text(text)

    def command(self, command: str, *options: str) -> list[str]:
        return [sys.executable, "-m", "restow", command, "--config", str(self.config), *options]

    def start(self) -> "subprocess.Popen[bytes]":
        with self.output.open("ab") as output:
            started = subprocess.Popen(
                self.command("up"), cwd=self.elsewhere, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self._started.append(started)
        return started

    def run(self, command: str, *options: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(command, *options),
            cwd=self.elsewhere,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def end(self) -> None:
        end_group(self.name, self.processes, 10.0, print)
        for started in self._started:
            started.kill()
            started.wait(60)

    def said(self) -> str:
        return self.output.read_text()

    def roles(self) -> dict[str, Role]:
        return {role.name: role for role in running_roles(self.name, self.processes)}

    def consumers(self) -> int:
        return len(Supervisors(self.name, self.processes).consumers())

    def flows(self) -> None:
        """Every record that is produced reaches the table."""
        producer = make_producer(self._kafka)
        for number in range(20):
            producer.produce(self.topic, str(self._produced + number).encode(), partition=number % 2)
        assert producer.flush(60) == 0
        self._produced += 20
        self._eventually(lambda: self._stored() == list(range(self._produced)))

    def _stored(self) -> list[int]:
        try:
            with sqlite3.connect(
                f"file:{self.directory / f'tables/{self.topic}.db'}?mode=ro", uri=True, timeout=10
            ) as database:
                return sorted(int(value) for (value,) in database.execute("SELECT value FROM records"))
        except sqlite3.OperationalError:  # it doesn't exist yet
            return []


@pytest.fixture
def port() -> int:
    return choose_ports(1)[0]


@pytest.fixture
def upped(kafka: Kafka, admin: Admin, tmp_path: Path, eventually: Eventually, port: int) -> Iterator[Upped]:
    group = Upped(kafka, admin, tmp_path, eventually, port)
    yield group
    group.end()


@pytest.fixture
def neighbour(kafka: Kafka, admin: Admin, tmp_path: Path, eventually: Eventually, port: int) -> Iterator[Upped]:
    """Of the same port."""
    group = Upped(kafka, admin, tmp_path, eventually, port, form="json")
    yield group
    group.end()


def test_a_group_is_up_until_ctrl_c_and_its_consumers_until_down(upped: Upped, eventually: Eventually) -> None:
    up = upped.start()
    upped.flows()
    before = upped.roles()
    assert before.keys() == ROLES
    assert before["up"].process.pid == up.pid

    second = upped.run("up")
    assert second.returncode == 1
    assert second.stderr == (
        f"restow: group {upped.name} is up already: process {up.pid} runs its monitor, controller and page. "
        f"`restow status --config {upped.config}` shows it; `restow down --config {upped.config}` ends it, with "
        "its consumers\n"
    )

    [address] = re.findall(rf"the page of group {upped.name}: (http://127\.0\.0\.1:\d+/)", upped.said())
    with urllib.request.urlopen(f"{address}api/picture", timeout=60) as answer:
        assert json.load(answer)["picture"]["overview"]["group"] == upped.name

    os.kill(before["monitor"].process.pid, signal.SIGKILL)
    monitor = before.pop("monitor")
    eventually(lambda: upped.roles().get("monitor", monitor) != monitor)
    assert "the monitor was killed by SIGKILL; starting it again in 0.5 s" in upped.said()
    assert before.items() <= upped.roles().items()

    up.send_signal(signal.SIGINT)
    assert up.wait(60) == 0
    assert upped.roles() == {}
    last = upped.said().splitlines()[-1]
    assert last.partition("  the ")[2] == (
        "monitor, controller and page have ended; 1 consumer goes on reading without a controller: "
        f"`restow down --config {upped.config}` ends it, `restow up --config {upped.config}` continues with it"
    )
    upped.flows()  # without a controller
    assert upped.consumers() == 1
    assert upped.run("down").stdout == f"ended {upped.name}-consumer-1\n"
    assert upped.consumers() == 0


def test_detached_it_logs_to_a_file_and_down_ends_roles_before_consumers(upped: Upped) -> None:
    detached = upped.run("up", "--detach")
    assert detached.returncode == 0, detached.stderr
    status, down = (f"restow {command} --config {upped.config}" for command in ("status", "down"))
    roles, log = upped.roles(), upped.processes / f"{upped.name}-up" / "up.log"
    assert roles.keys() == ROLES
    assert detached.stdout.splitlines() == [
        f"group {upped.name} is up: process {roles['up'].process.pid} runs its monitor, controller and page",
        f"its log is {log}",
        f"`{status}` shows the group; `{down}` ends it, with its consumers",
    ]
    assert os.getsid(roles["up"].process.pid) == roles["up"].process.pid
    upped.flows()
    assert upped.run("up", "--detach").returncode == 1
    words = re.findall(r"^\S+Z INFO +(\S+)", log.read_text(), re.MULTILINE)
    assert set(words) >= ROLES
    assert upped.run("down").stdout.splitlines() == [
        f"ended restow up (process {roles['up'].process.pid})",
        f"ended {roles['controller']}",
        f"ended {roles['monitor']}",
        f"ended {roles['page']}",
        f"ended {upped.name}-consumer-1",
    ]
    assert "starting it again" not in log.read_text()


def test_the_roles_of_a_killed_up_end_and_the_next_one_takes_over(
    upped: Upped, neighbour: Upped, port: int, eventually: Eventually
) -> None:
    up = upped.start()
    eventually(lambda: upped.roles().keys() == ROLES)
    before = upped.roles()
    children = json.loads((upped.processes / "run" / upped.name / "up.json").read_text())["processes"]
    up.kill()
    assert up.wait(60) == -signal.SIGKILL
    up = upped.start()
    upped.flows()
    assert not any(is_alive(role.process) for role in before.values())
    assert not any(is_alive(Process(*child)) for child in children)
    other = neighbour.start()
    eventually(lambda: neighbour.roles().keys() == before.keys())  # its page has found a port of its own
    other.terminate()
    assert other.wait(60) == 0
    lines = [json.loads(line) for line in neighbour.said().splitlines()]
    assert {line["role"] for line in lines} == ROLES
    assert any(f"port {port} of 127.0.0.1 is in use" in line["message"] for line in lines)
    assert upped.roles().keys() == before.keys()
    up.terminate()
    assert up.wait(60) == 0


def test_a_role_that_runs_on_its_own_keeps_it_from_starting(upped: Upped, eventually: Eventually) -> None:
    with subprocess.Popen(upped.command("monitor"), stderr=subprocess.DEVNULL) as monitor:
        eventually(lambda: upped.roles().keys() == {"monitor"})
        refused = upped.run("up")
        assert refused.returncode == 1
        assert refused.stderr == (
            f"restow: group {upped.name} has a monitor (process {monitor.pid}) here already, started without `restow "
            f"up`; end it first: `kill {monitor.pid}`, or `restow down --config {upped.config}`, which ends the "
            "consumers too\n"
        )
        monitor.terminate()
        assert monitor.wait(60) == 0
