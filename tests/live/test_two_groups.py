"""Two groups with default settings share a cluster: neither disturbs the other, and a third can't use their topics."""

import os
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.settings import Kafka

Eventually = Callable[..., None]

SETTINGS = """
[kafka]
bootstrap = "{bootstrap}"
[group]
name = "{name}"
[consumer]
pipeline = "light"
[consume."^{prefix}-.*"]
table = "{table}"
{more}
"""
TROUBLE = ("ERROR", "Traceback")
"""Not WARNING: on a busy machine a role may have to wait for another, and says so."""


class Neighbour:
    """A group as a user starts it. Its pattern would match restow's own topics of every group in the test."""

    def __init__(self, kafka: Kafka, directory: Path, prefix: str, name: str, more: str = "") -> None:
        self.name, self.directory = name, directory / name
        self.directory.mkdir()
        self.table = self.directory / "table.db"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        text = SETTINGS.format(bootstrap=kafka.bootstrap, name=name, prefix=prefix, table=self.table, more=more)
        (self.directory / "restow.toml").write_text(text)

    def start(self, role: str) -> "subprocess.Popen[bytes]":
        with (self.directory / f"{role}.txt").open("wb") as output:
            self._processes[role] = process = subprocess.Popen(
                [sys.executable, "-m", "restow", role],
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        return process

    def output_of(self, role: str) -> str:
        return (self.directory / f"{role}.txt").read_text()

    def logs(self) -> str:
        return "\n".join(file.read_text() for file in (self.directory / "restow-data").rglob("consumer.log"))

    @property
    def is_running(self) -> bool:
        return all(process.poll() is None for process in self._processes.values())

    def stored(self) -> "Counter[tuple[str, str]]":
        """How often each record is stored, by topic and value."""
        if not self.table.exists():
            return Counter()
        with sqlite3.connect(f"file:{self.table}?mode=ro", uri=True, timeout=10) as database:
            try:
                rows: list[tuple[Any, Any]] = database.execute("SELECT topic, value FROM records").fetchall()
            except sqlite3.OperationalError:  # the table is being created
                return Counter()
        return Counter((str(topic), bytes(value).decode()) for topic, value in rows)

    def end(self) -> None:
        command = [sys.executable, "-m", "restow", "down"]
        subprocess.run(command, cwd=self.directory, check=False, capture_output=True)
        for process in self._processes.values():
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
            process.wait(60)


@pytest.fixture
def neighbour(kafka: Kafka, tmp_path: Path, prefix: str) -> Iterator[Callable[..., Neighbour]]:
    made: list[Neighbour] = []

    def make(name: str, more: str = "") -> Neighbour:
        made.append(Neighbour(kafka, tmp_path, prefix, f"{prefix}-{name}", more))
        return made[-1]

    yield make
    for each in made:
        each.end()


def test_two_groups_share_a_cluster_and_a_third_can_t_share_their_topics(
    kafka: Kafka, admin: Admin, prefix: str, neighbour: Callable[..., Neighbour], eventually: Eventually
) -> None:
    topic, producer, produced = f"{prefix}-orders", make_producer(kafka), Counter[tuple[str, str]]()
    admin.create_topic(topic, 4)
    wait_until_shown(admin, {topic: 4})

    def produce(each: int = 20) -> None:
        for partition in range(4):
            for _ in range(each):
                value = uuid.uuid4().hex
                produced[topic, value] += 1
                producer.produce(topic, value.encode(), partition=partition)
        assert producer.flush(30) == 0

    produce()
    groups = [neighbour("lake"), neighbour("sea")]
    for group in groups:
        group.start("monitor")
        group.start("controller")
    for group in groups:
        eventually(lambda group=group: group.stored() == produced or not group.is_running)
    clashing = neighbour("pond", f'[topics]\nprefix = "{groups[0].name}"')
    refused = clashing.start("controller")
    produce()
    for group in groups:
        eventually(lambda group=group: group.stored() == produced or not group.is_running)
    assert refused.wait(120) == 2
    line = clashing.output_of("controller").splitlines()[-1]
    assert f'[topics] prefix is "{groups[0].name}", but group {groups[0].name} uses these topics (' in line
    assert line.endswith(f'); write [topics] prefix = "{clashing.name}", or end them first')
    produce()
    for group in groups:
        eventually(lambda group=group: group.stored() == produced or not group.is_running)
        assert group.is_running, (group.output_of("controller"), group.output_of("monitor"))
        said = f"{group.output_of('controller')}{group.output_of('monitor')}{group.logs()}"
        assert [word for word in TROUBLE if word in said] == [], said
        assert not [other for other in (*groups, clashing) if other is not group and other.name in said]
