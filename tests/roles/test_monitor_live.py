"""The monitor on a real Kafka, whatever happens to its logs, its topics and its brokers."""

import gc
import logging
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count as counted
from itertools import cycle

import pytest
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from tests.support.monitor_watching import FRAMED, PUBLISHED_WITHIN_S, SMALL_SEGMENTS, Watch, created

from restow.kafka.admin import Admin
from restow.kafka.clients import make_admin_client, make_consumer, make_producer
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.topics import wait_until_shown
from restow.model import TopicPartition
from restow.monitor.compaction import LEARNT_FROM
from restow.monitor.sample import Sample
from restow.protocol.measurement import Measurement, PartitionSpeed
from restow.protocol.measurement_parts import decode
from restow.roles.monitor import Monitor
from restow.settings import Group, Kafka, Settings
from restow.settings import Monitor as MonitorSettings

pytestmark = pytest.mark.kafka


def test_an_idle_partition_is_0_and_not_missing(kafka: Kafka, admin: Admin, prefix: str) -> None:
    busy = created(admin, f"{prefix}-a", partitions=3)
    watch = Watch.of(kafka, admin, busy.topic)
    watch.look()
    watch.write({busy: 50})
    speeds = watch.look()
    assert list(speeds) == [TopicPartition(busy.topic, number) for number in range(3)]
    assert speeds[busy].records_per_s > 0
    assert list(speeds.values())[1:] == [PartitionSpeed(0.0, 0.0, 0.0, 0, 0, False)] * 2


def test_retention_deletes_segments(kafka: Kafka, admin: Admin, prefix: str) -> None:
    partition = created(admin, prefix, settings={**SMALL_SEGMENTS, "retention.bytes": str(1 << 20)})
    watch = Watch.of(kafka, admin, prefix)
    for _ in range(3):
        watch.write({partition: 100})
        watch.look()

    def deleted(before: Sample, after: Sample) -> bool:
        return bool(after.start_offset[0] > before.start_offset[0])

    for _ in range(2):
        assert watch.write_until(deleted, {partition: 100})[partition].estimated
    for _ in range(3):  # the deletion may show in the size one look later
        watch.write({partition: 100})
        watch.look()


COMPACTED_LATER = {**SMALL_SEGMENTS, "cleanup.policy": "compact", "min.compaction.lag.ms": "3600000"}
COMPACTED_AT_ONCE = {"min.compaction.lag.ms": "0", "min.cleanable.dirty.ratio": "0.01"}


def watched_until_known(kafka: Kafka, admin: Admin, name: str, records: int) -> tuple[Watch, TopicPartition]:
    """A topic whose compaction begins when a watch knows what its records take: from then on it is checked."""
    partition = created(admin, name, settings=COMPACTED_LATER)
    watch = Watch.of(kafka, admin, name)
    for _ in range(LEARNT_FROM + 2):
        watch.write({partition: records}, "key-{:06d}".format)
        watch.look()
    alter(kafka, name, COMPACTED_AT_ONCE)
    return watch, partition


def alter(kafka: Kafka, topic: str, settings: Mapping[str, str]) -> None:
    entries = [ConfigEntry(name, to, incremental_operation=AlterConfigOpType.SET) for name, to in settings.items()]
    client = make_admin_client(kafka)
    asked = client.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)])
    [done] = asked.values()
    done.result()


def test_a_compacted_log_shrinks(kafka: Kafka, admin: Admin, prefix: str) -> None:
    watch, partition = watched_until_known(kafka, admin, prefix, 200)

    def shrunk(before: Sample, after: Sample) -> bool:
        return bool(after.size_bytes[0] < before.size_bytes[0] and after.start_offset[0] == before.start_offset[0])

    assert watch.write_until(shrunk, {partition: 200}, "key-{:06d}".format)[partition].estimated


class SomeAgain:
    """Of every thousand records some have keys that come again, more or fewer of them: compaction removes those. It may
    take several batches at a time, but never removes the same three times in a row, which would look like smaller
    records: no three runs of shares that follow each other have the same sum."""

    def __init__(self) -> None:
        self._new, self._shares, self._again = counted(), cycle([0, 40, 120, 280, 600]), 0

    def __call__(self, index: int) -> str:
        if index == 0:
            self._again = next(self._shares)
        return f"key-{index:06d}" if index < self._again else f"one-{next(self._new):06d}"


def test_a_compacted_log_grows_but_by_too_little(kafka: Kafka, admin: Admin, prefix: str) -> None:
    watch, partition = watched_until_known(kafka, admin, prefix, 1000)

    def hidden(before: Sample, after: Sample) -> bool:
        growth = after.size_bytes[0] - before.size_bytes[0]
        return bool(0 <= growth < 0.95 * FRAMED[0] * (after.end_offset[0] - before.end_offset[0]))

    keys = SomeAgain()
    for _ in range(3):
        assert watch.write_until(hidden, {partition: 1000}, keys)[partition].estimated


def test_partitions_are_added(kafka: Kafka, admin: Admin, prefix: str) -> None:
    first = created(admin, prefix)
    added = TopicPartition(prefix, 1)
    watch = Watch.of(kafka, admin, prefix)
    watch.look()
    watch.write({first: 10})
    assert list(watch.look()) == [first]
    admin.grow_topic(prefix, 2)
    wait_until_shown(admin, {prefix: 2})
    watch.look_until(lambda speeds: added in speeds)
    watch.producer = make_producer(kafka)  # the old one has not heard of the new partition yet
    watch.write({added: 30})
    speeds = watch.look()
    assert (speeds[added].end_offset, speeds[added].estimated) == (30, False)
    assert speeds[added].records_per_s > 0


def test_a_topic_starts_to_match_is_deleted_and_is_recreated(kafka: Kafka, admin: Admin, prefix: str) -> None:
    kept, passing = created(admin, f"{prefix}-kept"), TopicPartition(f"{prefix}-passing", 0)
    watch = Watch.of(kafka, admin, f"^{prefix}-.*")
    watch.look()
    assert list(watch.look()) == [kept]
    created(admin, passing.topic)
    watch.write({passing: 40})
    watch.look_until(lambda speeds: passing in speeds)
    watch.write({passing: 10})
    assert watch.look()[passing].end_offset == 50
    admin.delete_topic(passing.topic)
    watch.look_until(lambda speeds: list(speeds) == [kept])
    watch.look_until(lambda _: passing.topic not in admin.cluster().leaders)
    created(admin, passing.topic)
    watch.write({passing: 7})
    watch.look_until(lambda speeds: passing in speeds)
    again = watch.look()[passing]
    assert again == PartitionSpeed(0.0, 0.0, 0.0, 7, again.size_bytes, False)
    assert 7_000 < (again.size_bytes or 0) < 7_700


def test_a_topic_is_recreated_between_two_looks(
    kafka: Kafka, admin: Admin, prefix: str, eventually: Callable[[Callable[[], object]], None]
) -> None:
    partition = created(admin, prefix)
    watch = Watch.of(kafka, admin, prefix)
    watch.write({partition: 5})
    watch.look()
    admin.delete_topic(prefix)
    eventually(lambda: prefix not in admin.cluster().leaders)
    created(admin, prefix)
    watch.write({partition: 500})  # more than the old one had: its offsets do not tell
    watch.look_until(lambda speeds: partition in speeds)
    assert watch.look()[partition].records_per_s == 0


def test_a_missing_topic_is_logged_once_and_the_others_are_measured(
    kafka: Kafka, admin: Admin, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "restow")
    there = created(admin, f"{prefix}-there")
    watch = Watch.of(kafka, admin, there.topic, f"{prefix}-gone")
    watch.look()
    assert list(watch.look()) == [there]
    assert caplog.messages == [
        f"there is no topic {prefix}-gone, or the right Describe on it is missing; the others are measured",
    ]
    created(admin, f"{prefix}-gone")
    watch.look_until(lambda speeds: len(speeds) == 2)
    assert caplog.messages[1:] == [f"the topic {prefix}-gone can be read again"]


def open_sockets() -> list[socket.socket]:
    # isinstance would ask a weak proxy for its object, which may be gone.
    return [one for one in gc.get_objects() if issubclass(type(one), socket.socket) and one.fileno() >= 0]


@pytest.fixture
def sockets_left_open() -> Iterator[None]:
    """Closes the sockets that kafka-python left to the garbage collector after a broker did not answer: pytest would
    report them in whichever test runs when they are collected."""
    before = open_sockets()
    yield
    for one in open_sockets():
        if one not in before:
            one.close()


@pytest.fixture(scope="module")
def three() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(3) as cluster:
        yield cluster


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one may be collected before the end
@pytest.mark.usefixtures("sockets_left_open")
def test_with_three_copies_the_leader_moves_and_a_broker_restarts(three: EmbeddedKafka, prefix: str) -> None:
    kafka = Kafka(three.bootstrap)
    with Admin(kafka) as admin:
        admin.create_topic(prefix, 1, replication_factor=3, settings={"min.insync.replicas": "1"})
        wait_until_shown(admin, {prefix: 1})
        partition = TopicPartition(prefix, 0)
        watch = Watch.of(kafka, admin, prefix)
        for _ in range(3):
            watch.write({partition: 100})
            watch.look()
        [leader] = admin.cluster().leaders[prefix]

        def moved(before: Sample, after: Sample) -> bool:
            return bool(before.leader[0] == leader != after.leader[0])

        three.stop_node(leader)
        assert watch.write_until(moved, {partition: 100})[partition].estimated
        three.start_node(leader)
        for _ in range(5):
            watch.write({partition: 100})
            watch.look()
        assert watch.look()[partition].end_offset % 100 == 0


def monitor_settings(kafka: Kafka, prefix: str, *topics: str) -> Settings:
    return Settings(kafka, Group(prefix), monitor=MonitorSettings(topics=topics, publish_every_s=0.001))


def newest_record(kafka: Kafka, topic: str) -> tuple[Measurement, dict[str, bytes]]:
    consumer = make_consumer(kafka, {"group.id": "test", "enable.auto.commit": False})
    try:
        _, end = consumer.get_watermark_offsets(Place(topic, 0), timeout=30)
        consumer.assign([Place(topic, 0, end - 1)])
        message = consumer.poll(30)
        assert message is not None
        value = message.value()
        assert value is not None
        headers = message.headers()
        assert isinstance(headers, list)
        measured = decode(value)
        assert isinstance(measured, Measurement)
        return measured, {name: content for name, content in headers if isinstance(content, bytes)}
    finally:
        consumer.close()


def published(monitor: Monitor) -> Measurement:
    """The first measurement with a speed: while a leader gives no answer, its partitions are left out."""
    deadline_s = time.monotonic() + PUBLISHED_WITHIN_S
    while time.monotonic() < deadline_s:
        found = monitor.sample()
        if found and found.partitions:
            return found
    raise AssertionError("no speed was published")


def test_a_measurement_is_published_to_the_monitor_topic_which_is_created_if_missing(
    kafka: Kafka, admin: Admin, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    partition = created(admin, f"{prefix}-orders")
    with Monitor(monitor_settings(kafka, prefix, partition.topic)) as monitor:
        found = published(monitor)
    record, headers = newest_record(kafka, f"{prefix}-monitor")
    assert record == found
    assert list(record.partitions) == [partition]
    assert (headers["type"], headers["version"], headers["sender"][:8]) == (b"Measurement", b"1", b"monitor-")
    assert caplog.messages == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one may be collected before the end
@pytest.mark.usefixtures("sockets_left_open")
def test_an_outage_is_logged_once_retried_with_backoff_and_publishing_resumes(
    prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "restow.roles")
    with EmbeddedKafka() as own:
        kafka = Kafka(own.bootstrap)
        with Admin(kafka) as admin:
            partition = created(admin, f"{prefix}-orders")
        with Monitor(monitor_settings(kafka, prefix, partition.topic)) as monitor:
            published(monitor)
            own.stop_node(1)
            pauses = [monitor.pause_s for _ in range(3) if monitor.sample() is None]
            assert len(caplog.messages) == 1
            assert caplog.messages[0].endswith("; no speeds are published until a retry succeeds")
            assert pauses == sorted(set(pauses))
            own.start_node(1)
            found = published(monitor)
            assert list(found.partitions) == [partition]
            assert caplog.messages[1:] == ["the brokers answer again; speeds are being published"]
