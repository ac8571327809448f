"""Spark in processes: `restow consumer`, `restow consume`, `restow check`, and a Spark cluster."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.support.live_consumers import Group
from tests.support.spark.project import QUICK, Project, rows_of

from restow.kafka.admin import Admin
from restow.kafka.topics import wait_until_shown
from restow.protocol.messages.consumer_events import ConsumerReady, StartConsumingEvent, StopConsumingEvent
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka

pytestmark = pytest.mark.spark

Eventually = Callable[..., None]

SMALL_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A job of ten records gains nothing from the optimizing compiler and a collector with threads of its own."""


@pytest.fixture
def project(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path) -> Project:
    admin.create_topic(prefix, 2)
    wait_until_shown(admin, {prefix: 2})
    return Project(kafka, prefix, tmp_path)


def test_a_consumer_gets_ready_stores_its_partitions_and_ends_on_sigterm(
    kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually
) -> None:
    def within_two_minutes(condition: Callable[[], object]) -> None:
        eventually(condition, within_s=120.0)

    group = Group(kafka, admin, prefix, tmp_path, within_two_minutes)
    try:
        group.configure(f"[spark]\n{QUICK}\n", pipeline="spark")
        group.write(20, 0, 1)
        scratch = group.volume(1) / "scratch"
        left = [scratch / name for name in ("blockmgr-1", "spark-1", "artifacts-1", "tmp1")]
        for directory in left:
            directory.mkdir(parents=True)  # as a killed consumer leaves them
        process = group.start(1)
        ready = group.hears(ConsumerReady, 1)
        assert [directory for directory in left if directory.exists()] == []
        assert list(scratch.glob("blockmgr-*"))
        assert list(scratch.glob("spark-*"))
        assert (ready.clean, ready.partitions) == (True, ())
        table = tmp_path / "lake"
        command = group.start_command(1, {0: 5, 1: 0}, TopicService(table=str(table)))
        group.send(1, command)
        started = group.answer_to(StartConsumingEvent, 1, command)
        assert started.partitions == group.offsets({0: 5, 1: 0})
        expected = [(0, offset) for offset in range(5, 20)] + [(1, offset) for offset in range(20)]
        within_two_minutes(lambda: sorted(rows_of(table, "_partition, _offset")) == expected)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, group.log(1)
        stopped = group.hears(StopConsumingEvent, 1)
        assert stopped.partitions == group.offsets({0: 20, 1: 20})
        assert sorted(rows_of(table, "_partition, _offset")) == expected
    finally:
        group.close()


def test_consume_once_stores_the_backlog_and_check_reports_mistakes(project: Project) -> None:
    project.configure(
        f'[consume.{project.topic}]\ntable = "lake/doubled"\ntransform = "shop:doubled"\n'
        '[consume."^a-.*"]\ntransform = "shop:nothing"\n[consume."^b-.*"]\ntransform = "shop:counted"\n'
    )
    project.write(10)
    checked = project.restow("check")
    assert checked.returncode == 1
    lines = checked.stdout.splitlines()
    assert [line for line in lines if line.startswith("wrong")] == [
        (
            'wrong    [consume."^a-.*"] transform: the transform shop:nothing can\'t be imported: AttributeError: '
            "module 'shop' has no attribute 'nothing'"
        ),
        (
            'wrong    [consume."^b-.*"] transform: the transform shop:counted can\'t be used: its rows have no _topic, '
            "_partition, _offset, _timestamp, which can't be carried through a join or an aggregate; keep them (… "
            ".select(…, '_topic', '_partition', '_offset', '_timestamp')), or write lineage = false"
        ),
    ]
    table = project.directory / "lake" / "doubled"
    assert lines[-3:] == [
        f"right    [consume.{project.topic}] topic: {project.topic} has 2 partitions",
        (
            f"right    [consume.{project.topic}] transform: 10 records became 10 rows of number, copy, _topic, "
            "_partition, _offset, _timestamp"
        ),
        f"right    [consume.{project.topic}] table: {table} doesn't exist and will be created",
    ]
    assert not table.exists()
    assert checked.stderr.splitlines()[-1] == "restow: 2 wrong, 0 unknown"
    once = project.restow("consume", "--topics", project.topic, "--once", "--json")
    assert once.returncode == 0, once.stderr
    assert json.loads(once.stdout) == {"records": 10, "missed_records": 0, "whole": True}
    expected = [(number, copy) for number in range(0, 10, 2) for copy in ("a", "b")]
    assert sorted(rows_of(project.directory / "lake" / "doubled", "number, copy")) == expected


@dataclass
class Cluster:
    """A Spark master and a worker, as processes."""

    directory: Path
    eventually: Eventually
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start(self) -> str:
        self._spark("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0")
        master = self._found("master", r"Starting Spark master at (spark://\S+)")
        where = ("--host", "127.0.0.1", "--cores", "1", "--memory", "700m", "--work-dir", str(self.directory / "work"))
        self._spark("worker", "org.apache.spark.deploy.worker.Worker", *where, master)
        self._found("worker", r"Successfully registered with master (\S+)")
        return master

    def close(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
            process.wait(20)

    def _spark(self, name: str, *command: str) -> None:
        import pyspark  # noqa: PLC0415

        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_JAVA_OPTS": SMALL_JVM,
        }
        with (self.directory / f"{name}.log").open("wb") as log:
            run = [str(home / "bin" / "spark-class"), *command[:1], "--webui-port", "0", *command[1:]]
            self.processes.append(subprocess.Popen(run, stdout=log, stderr=log, env=environment))

    def _found(self, name: str, pattern: str) -> str:
        log = self.directory / f"{name}.log"
        self.eventually(lambda: re.search(pattern, log.read_text()), within_s=60.0)
        found = re.search(pattern, log.read_text())
        assert found is not None
        return found[1]


@pytest.fixture
def cluster(tmp_path: Path, eventually: Eventually) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, eventually)
    yield cluster
    cluster.close()


def test_the_same_pipeline_runs_on_a_spark_master_and_its_worker(project: Project, cluster: Cluster) -> None:
    master = cluster.start()
    spark = (
        f'master = "{master}"\nspark.executor.memory = "512m"\nspark.driver.host = "127.0.0.1"\n'
        f'spark.executor.extraJavaOptions = "{SMALL_JVM}"'
    )
    project.configure(f'[consume.{project.topic}]\ntable = "lake/doubled"\ntransform = "shop:doubled"\n', spark)
    project.write(10)
    once = project.restow("consume", "--topics", project.topic, "--once", "--json")
    assert once.returncode == 0, once.stderr
    assert json.loads(once.stdout)["records"] == 10
    expected = [(number, copy) for number in range(0, 10, 2) for copy in ("a", "b")]
    assert sorted(rows_of(project.directory / "lake" / "doubled", "number, copy")) == expected
    assert list((cluster.directory / "work").glob("app-*/0/stderr")), "the worker ran an executor"
