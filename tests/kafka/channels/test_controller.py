"""The controller's channel on a real broker: fencing, what others read of its writes, and what it reads."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from restow.kafka.admin import Admin
from restow.kafka.channels.controller import Addressed, ControllerChannel, Read, Replaced
from restow.kafka.clients import make_consumer, make_producer
from restow.kafka.topics import ensure_topics
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.measurement import Measurement, PartitionSpeed, headers_of
from restow.protocol.measurement_parts import records_of
from restow.protocol.messages.commands import StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.protocol.messages.controller_events import (
    ControllerAlive,
    ControllerStarted,
    ControllerStopped,
    PlatformChangeIntended,
)
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message, OfController
from restow.protocol.platform_identity import PlatformIdentity
from restow.protocol.records import Undecodable, decode, encode, key_of
from restow.protocol.topic_service import TopicService
from restow.settings import Group, Kafka, Settings, Topics

ONE = ConsumerId(1)
HERE = PlatformIdentity("processes-1", "host-a:/srv/restow-data")
STOP = StopConsumingCommand(epoch=3, sequence=1, incarnation=7, partitions=(TopicPartition("orders", 0),))
READY = ConsumerReady(ONE, clean=True, partitions=(), definitions=SortedMapping(), versions=SortedMapping())


@pytest.fixture
def settings(kafka: Kafka, admin: Admin, prefix: str) -> Settings:
    settings = Settings(kafka, topics=Topics(prefix, most_consumers=3), group=Group(prefix))
    ensure_topics(admin, settings.topics)
    return settings


@pytest.fixture
def controller(settings: Settings) -> Iterator[Callable[[], ControllerChannel]]:
    made: list[ControllerChannel] = []

    def make() -> ControllerChannel:
        made.append(ControllerChannel(settings, f"controller-{len(made)}"))
        return made[-1]

    yield make
    for channel in made:
        channel.__exit__(None, None, None)


@pytest.fixture
def producer(kafka: Kafka) -> Producer:
    return make_producer(kafka)


def put(producer: Producer, topic: str, message: Message) -> None:
    headers, value = encode(message, "test", topic.rpartition("-")[0])
    producer.produce(topic, value, key=key_of(message), partition=0, headers=list(headers))
    producer.flush()


def put_bytes(producer: Producer, topic: str, value: bytes) -> None:
    producer.produce(topic, value, partition=0)
    producer.flush()


def committed(kafka: Kafka, topic: str, partition: int) -> list[Message | Undecodable]:
    """What a reader of committed records finds on a partition."""
    own = {"group.id": "reader", "enable.partition.eof": True, "isolation.level": "read_committed"}
    reader: Consumer = make_consumer(kafka, own)
    reader.assign([KafkaTopicPartition(topic, partition, 0)])
    found: list[Message | Undecodable] = []
    while True:
        record = reader.poll(10.0)
        assert record is not None, "the partition has no end"
        if record.error() is not None:
            reader.close()
            return found
        value = record.value()
        found.append(decode(topic, partition, record.offset() or 0, None, None if value is None else bytes(value)))


def heard(channel: ControllerChannel, eventually: Callable[[Callable[[], object]], None], count: int) -> list[Read]:
    found: list[Read] = []

    def enough() -> bool:
        found.extend(channel.read(0.1))
        return len(found) >= count

    eventually(enough)
    return found


def test_the_epoch_grows_with_every_controller(controller: Callable[[], ControllerChannel]) -> None:
    epochs = [controller().take_over() for _ in range(3)]
    assert epochs == sorted(set(epochs))


def test_a_read_ends_with_a_record_that_a_partition_may_wait_for_and_not_with_a_report(
    controller: Callable[[], ControllerChannel], settings: Settings, producer: Producer
) -> None:
    channel = controller()
    channel.take_over()
    put(producer, settings.topics.controller, READY)
    begun_s = time.monotonic()
    assert [each.message for each in channel.read(600.0)] == [READY]
    assert time.monotonic() < begun_s + 300.0
    report = ConsumerReport(ONE, 5, SortedMapping(), SortedMapping(), 0.0, 0.0, False, 0.0, 0.0)
    put(producer, settings.topics.controller, report)
    found: list[Read] = []
    took_s = 0.0
    while not found:
        begun_s = time.monotonic()
        found = list(channel.read(0.5))
        took_s = time.monotonic() - begun_s
    assert [each.message for each in found] == [report]
    assert took_s > 0.4, "others may come in this time"


def test_a_read_ends_when_it_is_interrupted(controller: Callable[[], ControllerChannel]) -> None:
    channel = controller()
    channel.take_over()
    asked = itertools.count()
    begun_s = time.monotonic()
    assert list(channel.read(600.0, lambda: next(asked) == 5)) == []
    assert time.monotonic() < begun_s + 300.0


def test_a_read_ends_with_a_whole_measurement_and_with_the_last_of_its_parts(
    controller: Callable[[], ControllerChannel], settings: Settings, producer: Producer
) -> None:
    channel = controller()
    channel.take_over()
    speed = PartitionSpeed(1.0, 1.0, 1.0, 1, None, False)
    rows = {TopicPartition("orders", number): speed for number in range(5)}
    measured = Measurement("2026-03-01T12:00:00.250Z", 30.0, SortedMapping(rows))
    headers = headers_of("monitor-1", settings.group.name)
    for largest_bytes, count in ((500_000, 1), (600, 5)):
        records = records_of(measured, "monitor-1/1", headers, largest_bytes)
        assert len(records) == count
        for own, value in records:
            producer.produce(settings.topics.monitor, value, partition=0, headers=list(own.items()))
        producer.flush()
        begun_s = time.monotonic()
        assert [each.message for each in channel.read(600.0)] == [measured]
        assert time.monotonic() < begun_s + 300.0


def test_a_message_reaches_its_consumers_partition(
    controller: Callable[[], ControllerChannel], settings: Settings
) -> None:
    channel = controller()
    channel.take_over()
    query = StateQuery(epoch=3, query=1)
    channel.send([Addressed(ONE, STOP), Addressed(ConsumerId(2), query)], PlatformChangeIntended(3, create=(ONE,)))
    assert committed(settings.kafka, settings.topics.controller, 1) == [STOP]
    assert committed(settings.kafka, settings.topics.controller, 2) == []
    assert committed(settings.kafka, settings.topics.query, 2) == [query]
    assert committed(settings.kafka, settings.topics.controller, 0)[-1] == PlatformChangeIntended(3, create=(ONE,))


def test_a_fenced_controller_can_send_nothing(controller: Callable[[], ControllerChannel], settings: Settings) -> None:
    older, newer = controller(), controller()
    older.take_over()
    newer.take_over()
    with pytest.raises(Replaced, match="another controller has taken over this group"):
        older.send([Addressed(ONE, STOP)], None)
    newer.send([Addressed(ONE, STOP)], None)
    assert committed(settings.kafka, settings.topics.controller, 1) == [STOP]


def test_one_that_only_watches_fences_nobody_and_hears_who_is_in_charge(
    controller: Callable[[], ControllerChannel],
    settings: Settings,
    producer: Producer,
    eventually: Callable[[Callable[[], object]], None],
) -> None:
    in_charge, standby = controller(), controller()
    started, alive = ControllerStarted("controller-0", HERE, "lock"), ControllerAlive(0, "controller-0", HERE, "lock")
    assert standby.watch(), "the partition is read from its beginning"
    eventually(lambda: standby.signs(0.1) == [] and standby.is_listening())
    in_charge.take_over(started)
    put(producer, settings.topics.controller, READY)
    in_charge.send((), alive)
    found: list[OfController] = []

    def heard_signs(count: int) -> bool:
        found.extend(standby.signs(0.1))
        return len(found) == count

    eventually(lambda: heard_signs(2))
    in_charge.send([Addressed(ONE, STOP)], None)
    assert in_charge.say_last(ControllerStopped(0, "controller-0"))
    eventually(lambda: heard_signs(3))
    assert found == [started, alive, ControllerStopped(0, "controller-0")]
    epoch = standby.take_over()
    assert not in_charge.say_last(ControllerStopped(0, "controller-0")), "it is fenced now"
    eventually(lambda: list(standby.read(0.1)) == [] and standby.is_listening())
    assert controller().watch()
    assert epoch > 0


def test_one_that_watches_looks_back_only_so_far(
    controller: Callable[[], ControllerChannel],
    settings: Settings,
    producer: Producer,
    eventually: Callable[[Callable[[], object]], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("restow.kafka.channels.controller.LOOK_BACK", 5)
    controller().take_over()
    for _ in range(10):
        put(producer, settings.topics.controller, READY)
    standby = controller()
    assert not standby.watch()
    eventually(lambda: standby.signs(0.1) == [] and standby.is_listening())


def test_it_reads_messages_after_its_epoch_and_the_whole_service_topic(
    controller: Callable[[], ControllerChannel],
    settings: Settings,
    producer: Producer,
    eventually: Callable[[Callable[[], object]], None],
) -> None:
    before = ServiceUpdate("add", "orders", TopicService())
    put(producer, settings.topics.controller, READY)
    put(producer, settings.topics.service, before)
    channel = controller()
    epoch = channel.take_over()
    assert [read.message for read in heard(channel, eventually, 1)] == [before]
    eventually(lambda: list(channel.read(0.1)) == [] and channel.has_read_services and channel.is_listening())
    put(producer, settings.topics.controller, READY)
    [read] = heard(channel, eventually, 1)
    assert read.message == READY
    assert read.offset > epoch
    eventually(lambda: list(channel.read(0.1)) == [] and channel.is_listening())


def test_a_channel_that_may_not_ask_the_brokers_knows_what_it_last_heard(
    controller: Callable[[], ControllerChannel], eventually: Callable[[Callable[[], object]], None]
) -> None:
    channel = controller()
    channel.take_over()
    assert not channel.is_listening(may_ask=False), "nothing was read or asked yet"
    eventually(lambda: list(channel.read(0.1)) == [] and channel.is_listening())
    assert channel.is_listening(may_ask=False)
    eventually(lambda: not channel.is_listening(may_ask=False))  # it hears nothing for two seconds
    assert channel.is_listening()


def test_a_partition_that_is_never_quiet_is_listened_to_while_it_is_read(
    controller: Callable[[], ControllerChannel],
    settings: Settings,
    producer: Producer,
    eventually: Callable[[Callable[[], object]], None],
) -> None:
    """As in a group of a hundred consumers, which report twenty times a second."""
    ended = threading.Event()

    def report() -> None:
        while not ended.wait(0.05):
            put(producer, settings.topics.controller, READY)

    channel, writer = controller(), threading.Thread(target=report)
    channel.take_over()
    writer.start()
    try:
        reads = (len(list(channel.read(0.1))) for _ in itertools.count())
        eventually(lambda: next(reads) and channel.is_listening())
        listened = [channel.is_listening() for _ in range(50) if next(reads)]
        assert listened.count(True) >= 0.8 * len(listened)  # unless the machine itself pauses for seconds
        eventually(lambda: not channel.is_listening())  # a controller that reads nothing falls behind
        eventually(lambda: next(reads) and channel.is_listening())
    finally:
        ended.set()
        writer.join()


def test_an_undecodable_record_is_returned_as_such(
    controller: Callable[[], ControllerChannel],
    settings: Settings,
    producer: Producer,
    eventually: Callable[[Callable[[], object]], None],
) -> None:
    channel = controller()
    channel.take_over()
    eventually(lambda: list(channel.read(0.1)) == [] and channel.is_listening())
    put_bytes(producer, settings.topics.controller, b"\xff")
    put(producer, settings.topics.controller, READY)
    nonsense, ready = (read.message for read in heard(channel, eventually, 2))
    assert isinstance(nonsense, Undecodable)
    assert ready == READY


def test_measurements_are_read_from_the_present_end(
    controller: Callable[[], ControllerChannel],
    settings: Settings,
    producer: Producer,
    eventually: Callable[[Callable[[], object]], None],
) -> None:
    def measured(second: int) -> bytes:
        return b'{"version":1,"time":"2026-03-01T12:00:0%d.000Z","window_s":1,"topics":{}}' % second

    put_bytes(producer, settings.topics.monitor, measured(1))
    channel = controller()
    channel.take_over()
    eventually(lambda: list(channel.read(0.1)) == [] and channel.is_listening())
    put_bytes(producer, settings.topics.monitor, measured(2))
    [read] = heard(channel, eventually, 1)
    assert isinstance(read.message, Measurement)
    assert read.message.time == "2026-03-01T12:00:02.000Z"
