"""For live tests of consumers: real consumer processes of one group, and a Group that plays their controller."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import TopicPartition as Place
from tests.support.paths import TRANSFORMS

from restow.kafka.admin import Admin
from restow.kafka.clients import make_consumer, make_producer
from restow.kafka.topics import ensure_topics, wait_until_shown
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.channels import CONTROLLER, decode_on
from restow.protocol.field_types import RECOVER, Offsets, StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.protocol.messages.controller_events import ControllerStarted
from restow.protocol.messages.unions import Command, FromConsumer
from restow.protocol.records import encode
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka, Topics

Eventually = Callable[..., None]
T = TypeVar("T", bound=FromConsumer)

SETTINGS = """
[kafka]
bootstrap = "{bootstrap}"
[topics]
prefix = "{prefix}"
most_consumers = 3
[group]
name = "{prefix}"
[consumer]
pipeline = "{pipeline}"
report_every_s = 0.5
cycle_s = 0.3
cycle_bytes = 20_000
{more}
"""


@dataclass
class Group:
    kafka: Kafka
    admin: Admin
    prefix: str
    directory: Path
    eventually: Eventually
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    messages: list[tuple[int, FromConsumer]] = field(default_factory=list)
    """The messages on partition 0, each with its offset."""
    sequence: int = 0
    epoch: int = -1
    program: tuple[str, ...] = ("-m", "restow")
    """The Python arguments that run restow."""

    def __post_init__(self) -> None:
        self.topics = Topics(prefix=self.prefix, most_consumers=3)
        ensure_topics(self.admin, self.topics)
        self.data = f"{self.prefix}-data"
        self.admin.create_topic(self.data, 3)
        wait_until_shown(self.admin, {self.data: 3})
        self.config = self.directory / "restow.toml"
        self.tmp = self.directory / "tmp"
        self.tmp.mkdir()
        for module in TRANSFORMS.glob("*.py"):
            shutil.copy(module, self.directory)
        self.configure()
        self.table = self.directory / "table.db"
        self.service = TopicService(table=str(self.table))
        self._data = make_producer(self.kafka, {"acks": "all", "linger.ms": 0})
        self._written: dict[int, int] = {}
        self._commander = make_producer(self.kafka, {"transactional.id": self.prefix})
        self._commander.init_transactions(10)
        self._ear = make_consumer(self.kafka, {"group.id": f"{self.prefix}-ear", "isolation.level": "read_committed"})
        self._ear.assign([Place(self.topics.controller, 0, 0)])
        self.take_over()

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(10)
        self._ear.close()
        left = [entry.name for entry in self.tmp.iterdir()]
        assert left == [], "temporary files of consumers belong into their own directories, which they sweep"

    # Consumers.

    def configure(self, more: str = "", pipeline: str = "light") -> None:
        """`more` settings of the consumers that are started from now on."""
        place = {"bootstrap": self.kafka.bootstrap, "prefix": self.prefix}
        self.config.write_text(SETTINGS.format(**place, pipeline=pipeline, more=more))

    def volume(self, number: int) -> Path:
        return self.directory / f"volume-{number}"

    def log(self, number: int) -> str:
        return (self.directory / f"{number}.log").read_text()

    def start(self, number: int) -> "subprocess.Popen[bytes]":
        command = [sys.executable, *self.program, "consumer", "--config", str(self.config)]
        name = f"{self.prefix}-consumer-{number}"
        environment = {**os.environ, "TMPDIR": str(self.tmp), **self.environment(number)}
        with (self.directory / f"{number}.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "--name", name, "--volume", str(self.volume(number))],
                stdout=log,
                stderr=log,
                env=environment,
            )
        self.processes.append(process)
        return process

    def environment(self, number: int) -> dict[str, str]:  # noqa: ARG002  subclasses add to it
        return {}

    def ready(self, number: int) -> tuple["subprocess.Popen[bytes]", int]:
        """Starts the consumer and waits until it is ready. Returns the process and its incarnation."""
        before = len(self.messages)
        process = self.start(number)
        self.hears(ConsumerReady, number, after=before)
        return process, self.incarnation(number)

    def incarnation(self, number: int) -> int:
        return max(
            offset
            for offset, message in self.messages
            if isinstance(message, ConsumerReady) and message.consumer == number
        )

    def lose_volume(self, number: int) -> None:
        """Again and again, until it is gone: the JVM of a killed process still removes its own files there."""

        def is_gone() -> bool:
            shutil.rmtree(self.volume(number), ignore_errors=True)
            return not self.volume(number).exists()

        self.eventually(is_gone)

    # The controller.

    def take_over(self) -> None:
        """As a controller does when it starts."""
        offsets: list[int] = []
        headers, value = encode(ControllerStarted("test"), "test", self.prefix)
        self._commander.begin_transaction()
        self._commander.produce(
            self.topics.controller,
            value,
            partition=0,
            headers=list(headers),
            on_delivery=lambda _, record: offsets.append(record.offset() or 0),
        )
        self._commander.commit_transaction(10)
        [self.epoch] = offsets
        self.sequence = 0

    def send(self, number: int, message: Command | StateQuery) -> None:
        headers, value = encode(message, "test", self.prefix)
        topic = self.topics.query if isinstance(message, StateQuery) else self.topics.controller
        self.send_bytes(number, value, topic, dict(headers))

    def send_bytes(self, number: int, value: bytes, topic: str, headers: Mapping[str, bytes] | None = None) -> None:
        self._commander.begin_transaction()
        self._commander.produce(topic, value, partition=number, headers=list((headers or {}).items()))
        self._commander.commit_transaction(10)

    def start_command(
        self, number: int, starts: Mapping[int, StartFrom], service: TopicService | None = None
    ) -> StartConsumingCommand:
        self.sequence += 1
        return StartConsumingCommand(
            self.epoch,
            self.sequence,
            self.incarnation(number),
            SortedMapping({self.data: service or self.service}),
            SortedMapping({TopicPartition(self.data, partition): at for partition, at in starts.items()}),
        )

    def starts(self, number: int, *partitions: int, at: StartFrom = RECOVER) -> Command:
        command = self.start_command(number, dict.fromkeys(partitions, at))
        self.send(number, command)
        return command

    def stops(self, number: int, *partitions: int) -> Command:
        self.sequence += 1
        names = tuple(TopicPartition(self.data, partition) for partition in partitions)
        command = StopConsumingCommand(self.epoch, self.sequence, self.incarnation(number), names)
        self.send(number, command)
        return command

    # Messages of consumers.

    def listen(self) -> None:
        for record in self._ear.consume(100, timeout=0.02):
            assert record.error() is None
            headers: Any = record.headers()
            topic, offset = self.topics.controller, int(record.offset() or 0)
            message = decode_on(CONTROLLER, topic, 0, offset, headers, record.value(), group=self.prefix)
            if isinstance(message, FromConsumer):
                self.messages.append((offset, message))

    def hears(self, kind: type[T], number: int, after: int = 0, of: Callable[[T], object] = bool) -> T:
        """Waits for the first such message of this consumer after the first `after` messages."""
        found: list[T] = []

        def heard() -> bool:
            self.listen()
            for _, message in self.messages[after:]:
                if isinstance(message, kind) and message.consumer == ConsumerId(number) and of(message):
                    found.append(message)
                    return True
            return False

        self.eventually(heard)
        return found[0]

    def answer_to(self, kind: type[T], number: int, command: Command) -> T:
        return self.hears(kind, number, of=lambda message: getattr(message, "sequence", None) == command.sequence)

    # The data.

    def write(self, count: int, *partitions: int) -> None:
        failures: list[object] = []
        for partition in partitions:
            for _ in range(count):
                number = self._written[partition] = self._written.get(partition, 0) + 1
                self._data.produce(
                    self.data,
                    f"{number:0100}".encode(),
                    partition=partition,
                    on_delivery=lambda error, _: failures.append(error) if error else None,
                )
        assert self._data.flush(30) == 0
        assert failures == []

    def stored(self, table: Path | None = None) -> dict[int, list[int]]:
        """The offsets of each partition in the table, sorted, with duplicates."""
        file = table or self.table
        if not file.exists():
            return {}
        database = sqlite3.connect(file, timeout=10)
        try:
            rows = database.execute('SELECT partition, "offset" FROM records ORDER BY 1, 2').fetchall()
        except sqlite3.OperationalError:  # its first consumer is creating it
            return {}
        finally:
            database.close()
        offsets: dict[int, list[int]] = {}
        for partition, offset in rows:
            offsets.setdefault(partition, []).append(offset)
        return offsets

    def all_stored(self) -> bool:
        """Whether every written record is stored; asserts that none is missing or stored twice."""
        stored = self.stored()
        if sum(map(len, stored.values())) < sum(self._written.values()):
            return False
        assert stored == {partition: list(range(count)) for partition, count in sorted(self._written.items())}
        return True

    def partition(self, number: int) -> TopicPartition:
        return TopicPartition(self.data, number)

    def offsets(self, at: Mapping[int, int]) -> Offsets:
        return SortedMapping({self.partition(number): offset for number, offset in at.items()})


def terminate(process: "subprocess.Popen[bytes]") -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(20)
