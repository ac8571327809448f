"""A whole group on a real broker: a real controller and real consumers. The test publishes the speeds."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import ClassVar

from confluent_kafka import Producer

from restow.controller.event_log import Step
from restow.controller.events import Event
from restow.controller.history import History
from restow.controller.log_reader import Entry, EntryReader, Origin, entries
from restow.controller.segments import SegmentLines, segments_in
from restow.kafka.admin import Admin
from restow.kafka.channels.publisher import Publisher
from restow.kafka.clients import make_producer
from restow.kafka.topics import ensure_topics, wait_until_shown
from restow.model import SortedMapping, TopicPartition
from restow.platform.processes.ending import end_group
from restow.protocol.measurement import Measurement, PartitionSpeed, encode, headers_of
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.records import encode as encode_message
from restow.protocol.records import key_of
from restow.settings import Kafka, Topics

Eventually = Callable[..., None]

LONGEST_COMMAND = 100_000
SETTINGS = """
[kafka]
bootstrap = "{bootstrap}"
[topics]
prefix = "{prefix}"
most_consumers = 2
[group]
name = "{group}"
platform = "{platform}"
[consumer]
{consumer}
capacity_bytes_per_s = {capacity}
report_every_s = 0.5
cycle_s = 0.2
grace_s = {grace_s}
[controller]
look_every_s = 1
close_after_s = 0
cool_down_after_opening_s = 0
cool_down_after_closing_s = 0
list_every_s = 2
answer_within_s = {answer_within_s}
most_tries = 2
silent_after_s = {silent_after_s}
ready_within_s = {ready_within_s}
stale_after_s = 30
[consume."^{prefix}-in-.*"]
table = "{table}"
{where}
"""


class Group(ABC):
    """A group with its own topics, settings, counted records and speeds. Subclasses define where it runs."""

    platform: ClassVar[str]
    consumer: ClassVar[str]
    """Additional settings of `[consumer]`."""
    capacity: ClassVar[float] = 1000.0
    grace_s: ClassVar[float] = 10.0
    patience_s: ClassVar[float] = 60.0
    """How long a group may take to settle."""

    def __init__(self, kafka: Kafka, admin: Admin, prefix: str, directory: Path, eventually: Eventually) -> None:
        self.kafka, self.admin, self.prefix, self.directory = kafka, admin, prefix, directory
        self.eventually = eventually
        self.name = f"g-{uuid.uuid4().hex[:8]}"
        self.table = directory / "table.db"
        self.config = directory / "restow.toml"
        self.produced: set[str] = set()
        self._producer: Producer = make_producer(kafka)
        self._speeds: Mapping[TopicPartition, float] = {}
        self._measures = threading.Event()
        self._monitor = threading.Thread(target=self._publish)

    def begin(self) -> None:
        self.write_settings()
        ensure_topics(self.admin, Topics(self.prefix, most_consumers=2))
        self._monitor.start()

    def end(self) -> None:
        self._measures.set()
        self._monitor.join()
        self.end_all()
        assert self.running() == {}

    @abstractmethod
    def where(self) -> str:
        """The settings of the platform in restow.toml."""

    @abstractmethod
    def log(self) -> Path:
        """The event log of all controllers, a directory."""

    @abstractmethod
    def segments(self, controller: int = -1) -> list[Path]:
        """The segments of a controller, by its number; by default the newest one's."""

    @abstractmethod
    def controller_output(self, controller: int = -1) -> str:
        """What a controller printed."""

    @abstractmethod
    def consumer_logs(self) -> Iterable[Path]:
        """The log files of consumers."""

    @abstractmethod
    def volume(self, consumer: int) -> Path:
        """The consumer's directory, on this machine."""

    @abstractmethod
    def end_all(self) -> None:
        """Kills controllers and consumers, whatever state they are in."""

    def write_settings(
        self, silent_after_s: float = 20, ready_within_s: float = 30, answer_within_s: float = 4
    ) -> None:
        self.config.write_text(
            SETTINGS.format(
                bootstrap=self.kafka.bootstrap,
                prefix=self.prefix,
                group=self.name,
                platform=self.platform,
                consumer=self.consumer,
                capacity=self.capacity,
                grace_s=self.grace_s,
                table=self.written(self.table),
                where=self.where(),
                silent_after_s=silent_after_s,
                ready_within_s=ready_within_s,
                answer_within_s=answer_within_s,
            )
        )

    def written(self, table: Path) -> str:
        """The table in restow.toml."""
        return str(table)

    def topic(self, name: str, partitions: int) -> tuple[TopicPartition, ...]:
        full = f"{self.prefix}-in-{name}"
        self.admin.create_topic(full, partitions)
        wait_until_shown(self.admin, {full: partitions})
        return tuple(TopicPartition(full, number) for number in range(partitions))

    def produce(self, partitions: tuple[TopicPartition, ...], each: int = 20) -> None:
        for partition in partitions:
            for _ in range(each):
                name = uuid.uuid4().hex
                self.produced.add(name)
                self._producer.produce(partition.topic, name.encode(), partition=partition.partition)
        assert self._producer.flush(30) == 0

    def measure(self, shares: Mapping[TopicPartition, float]) -> None:
        """Publishes these speeds from now on, as shares of a consumer's capacity."""
        self._speeds = {partition: share * self.capacity for partition, share in shares.items()}

    def update(self, update: ServiceUpdate) -> None:
        headers, value = encode_message(update, "test", self.name)
        topic = f"{self.prefix}-service"
        self._producer.produce(topic, value, key=key_of(update), partition=0, headers=list(headers))
        assert self._producer.flush(30) == 0

    def stage(self, controller: int = -1) -> str | None:
        """The stage of a controller, by its event log."""
        logged = self._logged(controller)
        return str(logged[-1].plain["stage"]) if logged else None

    def saved(self) -> dict[int, dict[TopicPartition, int]]:
        """The partitions in the checkpoint of each running consumer."""
        found = {}
        for consumer in self.running():
            state = self.volume(consumer) / "state.json"
            plain = json.loads(state.read_text())["saved"]["positions"] if state.exists() else {}
            found[consumer] = {
                TopicPartition(topic, int(number)): offset
                for topic, numbers in plain.items()
                for number, offset in numbers.items()
            }
        return found

    def running(self) -> dict[int, int]:
        """The group's consumer processes: number -> process id. In the container of a light consumer an older process
        is its parent."""
        found: dict[int, int] = {}
        name = f"{self.name}-consumer-".encode()
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                try:
                    words = _command_line(entry.name).split(b"\0")
                except OSError:
                    continue
                numbers = [word[len(name) :] for word in words if word.startswith(name) and b"/" not in word]
                if numbers and b"consumer" in words:
                    consumer, process = int(numbers[0]), int(entry.name)
                    found[consumer] = max(process, found.get(consumer, 0))
        return dict(sorted(found.items()))

    def variable(self, consumer: int, name: str) -> str | None:
        """A variable of the consumer's process; None if the variable or the process is missing."""
        try:
            environ = Path(f"/proc/{self.running()[consumer]}/environ").read_bytes().split(b"\0")
        except (KeyError, OSError):
            return None
        values = [entry.partition(b"=")[2] for entry in environ if entry.startswith(f"{name}=".encode())]
        return values[0].decode() if values else None

    def log_text(self) -> str:
        return "".join(line for file in self.all_segments() for line in SegmentLines(file).read_new())

    def steps(self, controller: int = -1) -> int:
        """How many events a controller has logged so far."""
        return len(self._logged(controller))

    def replayed(self) -> list[Step]:
        """The steps of the newest controller so far."""
        return [step for step in History(self.segments()).steps() if isinstance(step, Step)]

    def events(self, kind: str) -> list[Event]:
        """What happened to the newest controller so far, where that kind of thing is mentioned. Quicker than to replay
        it all."""
        return [entry.event for entry in self._logged() if f'"{kind}"' in json.dumps(entry.plain["event"])]

    def all_segments(self) -> list[Path]:
        log = self.log()
        return [segment.path for segment in segments_in(log)] if log.exists() else []

    def _logged(self, controller: int = -1) -> list[Entry]:
        """What is in a controller's log, but for a line that is just being written."""
        return [entry for file in self.segments(controller) for entry in entries(SegmentLines(file).read_new())]

    def is_settled(self, partitions: tuple[TopicPartition, ...], consumers: int) -> bool:
        """Whether this many consumers run, hold each partition once, and the controller is in Sentinel."""
        saved = self.saved()
        if not all(saved.values()):
            return False  # a consumer without partitions is about to start some, or to be deleted
        held = [partition for positions in saved.values() for partition in positions]
        return len(self.running()) == consumers and sorted(held) == sorted(partitions) and self.stage() == "Sentinel"

    def settle(self, partitions: tuple[TopicPartition, ...], consumers: int) -> None:
        try:
            self.eventually(lambda: self.is_settled(partitions, consumers), within_s=self.patience_s)
        except AssertionError:
            raise AssertionError(
                f"stage {self.stage()}, running {self.running()}, saved {self.saved()}\n"
                f"{self.controller_output()[-6000:]}\n"
                + "\n".join(f"--- {file}\n{file.read_text()[-1500:]}" for file in self.consumer_logs())
            ) from None

    def stored(self) -> list[str]:
        if not self.table.exists():
            return []
        with sqlite3.connect(f"file:{self.table}?mode=ro", uri=True, timeout=10) as database:
            return [bytes(value).decode() for (value,) in database.execute("SELECT value FROM records")]

    def audit(self) -> None:
        """Asserts that every produced record is stored exactly once, and that the event log of all controllers, however
        they ended, is replayed to the same effects."""
        self.eventually(lambda: len(self.stored()) >= len(self.produced), within_s=self.patience_s)
        stored = self.stored()
        assert len(stored) == len(set(stored)), "stored twice"
        assert set(stored) == self.produced
        for found in History(self.all_segments()).steps():
            assert found.agrees if isinstance(found, Step) else not found.is_wrong, found

    def _publish(self) -> None:
        publisher = Publisher(self.kafka, f"{self.prefix}-monitor", 5)
        while not self._measures.wait(0.25):
            if not self._speeds:
                continue
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            speeds = {
                partition: PartitionSpeed(speed, speed, 1.0, 0, 0, estimated=False)
                for partition, speed in self._speeds.items()
            }
            value = encode(Measurement(now, 1.0, SortedMapping(speeds)))
            publisher.publish(value, headers_of("test", self.name))


def _command_line(process: str) -> bytes:
    """Tests that wait ask for those of all processes again and again: this takes a fifth of the CPU of pathlib."""
    descriptor = os.open(f"/proc/{process}/cmdline", os.O_RDONLY)
    try:
        return os.read(descriptor, LONGEST_COMMAND)
    finally:
        os.close(descriptor)


def origin_of(segment: Path) -> Origin | None:
    """None while its first line is being written."""
    reader = EntryReader()
    for line in islice(SegmentLines(segment).read_new(), 1):
        reader.read(line)
    return reader.header.origin if reader.header else None


class LiveGroup(Group):
    """Controllers and consumers are processes on this machine."""

    platform = "processes"
    consumer = 'pipeline = "light"'

    def __init__(self, kafka: Kafka, admin: Admin, prefix: str, directory: Path, eventually: Eventually) -> None:
        super().__init__(kafka, admin, prefix, directory, eventually)
        self.processes = directory / "processes"
        self._controllers: list[subprocess.Popen[bytes]] = []
        self.begin()

    def where(self) -> str:
        return f'[processes]\ndirectory = "{self.processes.name}"'

    def written(self, table: Path) -> str:
        """Relative to restow.toml. Controllers and consumers have another working directory."""
        return table.name

    def start_controller(self, *arguments: str, program: Path | None = None) -> "subprocess.Popen[bytes]":
        module = [str(program)] if program else ["-m", "restow"]
        number = len(self._controllers)
        command = [sys.executable, *module, "controller", "--config", str(self.config), "--log", str(self.log())]
        with (self.directory / f"controller-{number}.txt").open("wb") as output:
            process = subprocess.Popen([*command, *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self._controllers.append(process)
        return process

    def log(self) -> Path:
        return self.directory / "events"

    def segments(self, controller: int = -1) -> list[Path]:
        name = f"{socket.gethostname()}-{self._controllers[controller].pid}" if self._controllers else ""
        return [file for file in self.all_segments() if (origin := origin_of(file)) and origin.controller == name]

    def controller_output(self, controller: int = -1) -> str:
        number = controller if controller >= 0 else len(self._controllers) - 1
        return (self.directory / f"controller-{number}.txt").read_text()

    def consumer_logs(self) -> Iterable[Path]:
        return sorted(self.processes.rglob("*.log"))

    def volume(self, consumer: int) -> Path:
        return self.processes / f"{self.name}-consumer-{consumer}"

    def end_all(self) -> None:
        for controller in self._controllers:
            if controller.poll() is None:
                os.kill(controller.pid, signal.SIGKILL)
            controller.wait(30)
        end_group(self.name, self.processes, 10, lambda line: None)  # noqa: ARG005  no one reads the lines
