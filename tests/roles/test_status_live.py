"""Seconds behind and the margin to retention in the picture of a group without consumers, on a real broker.

A real monitor and a real controller; its consumers are processes that do nothing.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as Place

from restow.controller.journal import Journal
from restow.controller.learned import TopicCost
from restow.health import Health
from restow.kafka.admin import Admin
from restow.kafka.channels.status import StatusPublisher, StatusReader
from restow.kafka.clients import make_consumer, make_producer
from restow.kafka.topics import ensure_topics, wait_until_shown
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.picture.parts import Assembler, headers_of, whole
from restow.picture.picture import Lag, PartitionStatus, Picture
from restow.picture.retention import FLAG
from restow.platform.processes.ending import end_group
from restow.platform.processes.platform import LocalProcesses
from restow.protocol.consumer_settings import ConsumerSettings
from restow.roles.controller import ControllerProcess
from restow.roles.monitor import Monitor
from restow.settings import Kafka, Settings, read_settings

TEXT = """
[kafka]
bootstrap = "{bootstrap}"
[group]
name = "{group}"
[consumer]
pipeline = "light"
[consume."{group}-orders"]
table = "{directory}/orders.db"
"""
HOUR_S = 3600.0
AGE_S = 2400.0
COSTS = SortedMapping({"another-topic": TopicCost(1.5, 4e9)})
OLD, NEW, READ = 0, 1, 2
"""Partitions: with a record of 40 minutes ago, with a record that comes while the monitor runs, and without unread
ones."""


class Group:
    def __init__(self, settings: Settings, directory: Path) -> None:
        self.settings, self._directory = settings, directory
        self.topic = next(iter(settings.consume))

    @contextmanager
    def monitor(self) -> Iterator[None]:
        with Monitor(self.settings) as monitor, running(lambda over: monitor.run(over.wait, Health(None))):
            yield

    @contextmanager
    def controller(self) -> Iterator[None]:
        with Journal(self._directory / "events") as journal:
            platform = LocalProcesses(self.settings.group.name, self._directory, idle, 5.0)
            process = ControllerProcess(self.settings, platform, journal, Health(None))
            with running(lambda over: process.run(over.wait)):
                yield

    def produce(self, partition: int, time_s: float) -> None:
        producer = make_producer(self.settings.kafka)
        producer.produce(self.topic, b"an order", partition=partition, timestamp=round(time_s * 1000))
        assert producer.flush(60) == 0

    def commit(self, *offsets: int) -> None:
        """As a consumer would have that is gone."""
        client = make_consumer(self.settings.kafka, {"group.id": self.settings.group.name})
        client.commit(offsets=[Place(self.topic, *each) for each in enumerate(offsets)], asynchronous=False)
        client.close()

    def picture(self) -> Picture | None:
        with StatusReader(self.settings, Assembler) as reader:
            return reader.newest()

    def costs(self) -> SortedMapping[str, TopicCost] | None:
        picture = self.picture()
        return None if picture is None else picture.overview.costs

    def publish_costs(self, costs: SortedMapping[str, TopicCost]) -> None:
        """As if the last controller had learned them."""
        picture = self.picture()
        assert picture is not None
        publisher = StatusPublisher(self.settings, headers_of("a controller", self.settings.group.name))
        publisher.publish(whole(replace(picture, overview=replace(picture.overview, costs=costs)), 10**6))
        publisher.close()

    def status(self, partition: int) -> PartitionStatus | None:
        picture = self.picture()
        return None if picture is None else picture.partitions.get(TopicPartition(self.topic, partition))

    def lag(self, partition: int) -> Lag | None:
        status = self.status(partition)
        return None if status is None else status.lag


@contextmanager
def running(work: Callable[[threading.Event], None]) -> Iterator[None]:
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def idle(_: ConsumerId, __: Path, ___: ConsumerSettings) -> Sequence[str]:
    return (sys.executable, "-c", "import signal; signal.pause()")


def test_unread_records_are_aged_by_their_timestamps_or_by_the_monitors_history_also_after_a_restart(
    kafka: Kafka,
    admin: Admin,
    prefix: str,
    tmp_path: Path,
    eventually: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("restow.picture.publication.WHOLE_EVERY_S", 1.0)
    text = TEXT.format(bootstrap=kafka.bootstrap, group=prefix, directory=tmp_path)
    group = Group(read_settings(text, "restow.toml", {}), tmp_path)
    admin.create_topic(group.topic, 3, settings={"retention.ms": str(round(HOUR_S * 1000))})
    wait_until_shown(admin, {group.topic: 3})
    ensure_topics(admin, group.settings.topics)
    group.commit(0, 0, 0)
    begun_s = time.time()
    group.produce(OLD, begun_s - AGE_S)
    try:
        with group.monitor():
            with group.controller():
                eventually(lambda: (lag := group.lag(READ)) is not None and lag == Lag(0, 0.0))
                appended_s = time.time()
                group.produce(NEW, appended_s - AGE_S)  # its producer's clock is wrong, and that does not matter
                eventually(lambda: (lag := group.lag(NEW)) is not None and lag.records == 1)
                eventually(lambda: (lag := group.lag(OLD)) is not None and lag.seconds is not None)
                assert_aged(group, begun_s, appended_s)
                assert_flagged(group)
            first = group.picture()
            group.publish_costs(COSTS)
            eventually(lambda: group.costs() == COSTS)
            with group.controller():
                eventually(lambda: (now := group.picture()) is not None and is_newer(now, first))
                assert group.costs() == COSTS, "a new controller begins with what was learned"
                eventually(lambda: all((lag := group.lag(each)) and lag.seconds is not None for each in (OLD, NEW)))
                assert_aged(group, begun_s, appended_s)
                eventually(lambda: (status := group.status(OLD)) is not None and status.retention_margin_s is not None)
                assert_flagged(group)
    finally:
        end_group(prefix, tmp_path, 5.0, lambda _: None)


def assert_aged(group: Group, begun_s: float, appended_s: float) -> None:
    old, new, now_s = group.lag(OLD), group.lag(NEW), time.time()
    assert old is not None
    assert old.seconds is not None
    assert (old.records, old.source) == (1, "record timestamp")
    assert AGE_S <= old.seconds <= now_s - begun_s + AGE_S
    assert new is not None
    assert new.seconds is not None
    assert (new.records, new.source) == (1, "end offsets")
    assert new.seconds <= now_s - appended_s + 1, "to a second"


def assert_flagged(group: Group) -> None:
    picture = group.picture()
    assert picture is not None
    status = picture.partitions[TopicPartition(group.topic, OLD)]
    assert status.lag is not None
    assert status.lag.seconds is not None
    assert status.retention_margin_s is not None
    assert abs(HOUR_S - status.lag.seconds - status.retention_margin_s) <= 0.2
    assert f"{group.topic}-{OLD} in " in picture.overview.flags[FLAG].words
    assert f"{group.topic}-{NEW} in " not in picture.overview.flags[FLAG].words


def is_newer(now: Picture, first: Picture | None) -> bool:
    return first is not None and now.overview.epoch > first.overview.epoch
