"""A group of real Spark consumers that tests kill, pause and replace, and an audit of what they stored."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
from confluent_kafka import TopicPartition as Place
from tests.support import paths
from tests.support.delta.lake import brought, on_disk, visible
from tests.support.live_consumers import Group

from restow.kafka.clients import make_consumer, make_producer
from restow.kafka.topics import wait_until_shown
from restow.model import SortedMapping, TopicPartition
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.protocol.messages.unions import Command
from restow.protocol.topic_service import TopicService

CRASHING = Path(__file__).with_name("crashing.py")
TRANSFORMS = paths.TRANSFORMS / "transforms_on_spark.py"
SPARK = '[spark]\n"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"\n'
"""A session that starts fast."""
GRACE_S = 30.0
"""The default. Consumers end within it, whatever they are doing."""


class SparkGroup(Group):
    """Its consumers crash at chosen points. Two topics go into one table, and every record has an id."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.program = (str(CRASHING),)
        self.configure(f"grace_s = {GRACE_S}\n{SPARK}", pipeline="spark")
        self.more = f"{self.prefix}-more"
        self.slow = TopicPartition(f"{self.prefix}-slow", 0)
        """Of a topic that is not read by default."""
        for topic in (self.more, self.slow.topic):
            self.admin.create_topic(topic, 1)
            wait_until_shown(self.admin, {topic: 1})
        self.lake = self.directory / "lake"
        self.service = TopicService(table=str(self.lake))
        self.partitions = (*map(self.partition, range(3)), TopicPartition(self.more, 0))
        self._producer = make_producer(self.kafka, {"acks": "all", "linger.ms": 0, "enable.idempotence": True})
        self.produced: dict[TopicPartition, list[str]] = {}
        (self.directory / "slowly.py").write_text(TRANSFORMS.read_text())

    def environment(self, number: int) -> dict[str, str]:
        return {"CRASH_FILE": str(self._crash_file(number)), "RESTOW_CORES": "1", "RESTOW_MEMORY_MB": "1024"}

    def _crash_file(self, number: int) -> Path:
        return self.directory / f"crash-{number}"

    # Consumers.

    def arm(self, number: int, point: str, sent: signal.Signals = signal.SIGKILL) -> None:
        """The consumer sends itself the signal when it next reaches the point."""
        new = self._crash_file(number).with_suffix(".new")
        new.write_text(f"{point} {sent.name}")
        new.replace(self._crash_file(number))

    def has_ended(self, process: "subprocess.Popen[bytes]", number: int) -> int:
        self.eventually(lambda: process.poll() is not None)
        assert not self._crash_file(number).exists(), "it ended before it reached the point"
        return process.returncode

    def is_stopped(self, process: "subprocess.Popen[bytes]") -> bool:
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state == "T"

    def is_planned(self, number: int) -> bool:
        """Whether a cycle of this consumer is running, or was when it was killed."""
        return bool(self.plan_of(number))

    def java_of(self, process: "subprocess.Popen[bytes]") -> list[int]:
        """The consumer's child processes: Spark's JVM, once it has started."""
        found: list[int] = []
        for file in Path(f"/proc/{process.pid}/task").glob("*/children"):
            with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
                found += (int(word) for word in file.read_text().split())
        return found

    def plan_of(self, number: int) -> str:
        """The plan of the running cycle; empty if none runs."""
        file = self.volume(number) / "plan.json"
        try:
            return file.read_text()
        except FileNotFoundError:
            return ""

    def start_all(self, number: int, *partitions: TopicPartition, service: TopicService | None = None) -> Command:
        """Commands the consumer to start these partitions at the table's positions."""
        self.sequence += 1
        wanted: dict[TopicPartition, StartFrom] = dict.fromkeys(partitions, RECOVER)
        services = {partition.topic: service or self.service for partition in partitions}
        head = (self.epoch, self.sequence, self.incarnation(number))
        command = StartConsumingCommand(*head, SortedMapping(services), SortedMapping(wanted))
        self.send(number, command)
        return command

    def as_ready(self, number: int) -> tuple[bool, tuple[TopicPartition, ...]]:
        """From its last ConsumerReady: whether the previous process ended cleanly, and the partitions that it
        resumes."""
        [ready] = [message for offset, message in self.messages if offset == self.incarnation(number)]
        assert isinstance(ready, ConsumerReady)
        return ready.clean, ready.partitions

    # The data.

    def produce(self, each: int, *partitions: TopicPartition) -> None:
        failures: list[object] = []
        for partition in partitions or self.partitions:
            ids = self.produced.setdefault(partition, [])
            for _ in range(each):
                ids.append(f"{partition}-{len(ids)}")
                self._producer.produce(
                    partition.topic,
                    ids[-1].encode(),
                    partition=partition.partition,
                    on_delivery=lambda error, _: failures.append(error) if error else None,
                )
        assert self._producer.flush(60) == 0
        assert failures == []

    def reached(self, *partitions: TopicPartition) -> dict[TopicPartition, int]:
        """The end offsets of these partitions."""
        return {partition: len(self.produced[partition]) for partition in partitions}

    def committed(self) -> dict[TopicPartition, int]:
        """The group's committed offsets."""
        client = make_consumer(self.kafka, {"group.id": self.prefix})
        places = client.committed([Place(*partition) for partition in self.partitions], 30)
        client.close()
        return {TopicPartition(place.topic, place.partition): place.offset for place in places if place.offset >= 0}

    # The table.

    def rows(self) -> dict[TopicPartition, list[tuple[int, str]]]:
        """Offset and id of all rows of each partition, in the order of commits and their files."""
        files = list(map(str, brought(self.lake)))
        if not files:
            return {}
        with duckdb.connect() as engine:
            query = "SELECT _topic, _partition, _offset, decode(value) FROM read_parquet($files)"
            rows = engine.execute(query, {"files": files}).fetchall()
        found: dict[TopicPartition, list[tuple[int, str]]] = {}
        for topic, partition, offset, name in rows:
            found.setdefault(TopicPartition(topic, partition), []).append((offset, name))
        return found

    def next_offsets(self) -> dict[TopicPartition, int]:
        """After the last row of each partition that has rows."""
        return {partition: rows[-1][0] + 1 for partition, rows in self.rows().items()}

    def count(self) -> int:
        return sum(map(len, self.rows().values()))

    def all_are_stored(self) -> bool:
        return self.count() >= sum(map(len, self.produced.values()))

    def audit(self) -> None:
        """Asserts that every record is stored once, in the order of its partition."""
        try:
            self.eventually(self.all_are_stored)
        except AssertionError:
            logs = "\n".join(path.read_text()[-3000:] for path in sorted(self.directory.glob("*.log")))
            counts = {p: (len(rows), len(self.produced.get(p, []))) for p, rows in sorted(self.rows().items())}
            raise AssertionError(f"stored and produced: {counts}\n{logs}") from None
        expected = {partition: list(enumerate(ids)) for partition, ids in self.produced.items()}
        assert self.rows() == expected
        assert [path.name for path in self.lake.rglob("_SUCCESS")] == []

    def left_behind(self) -> set[str]:
        """Files below the table's root that are not part of the table."""
        return on_disk(self.lake) - visible(self.lake)


def send(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    os.kill(process.pid, number)


def saved_state(group: Group, number: int) -> Mapping[str, Any]:
    saved: Mapping[str, Any] = json.loads((group.volume(number) / "state.json").read_text())["saved"]
    return saved
