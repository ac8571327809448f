"""The monitor measures what the group consumes, also what is added and removed while it runs."""

from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.model import SortedMapping
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.records import encode, key_of
from restow.protocol.topic_service import TopicService
from restow.roles.monitor import Monitor
from restow.settings import Group, Kafka, Settings, Topics
from restow.settings import Monitor as MonitorSettings

Eventually = Callable[[Callable[[], object]], None]


def put(producer: Producer, topic: str, update: ServiceUpdate) -> None:
    headers, value = encode(update, "anna@host-a", topic.rpartition("-")[0])
    producer.produce(topic, value, key=key_of(update), partition=0, headers=list(headers))
    assert producer.flush(30) == 0


def test_topics_are_measured_from_when_they_are_added_until_they_are_removed(
    kafka: Kafka, admin: Admin, prefix: str, eventually: Eventually, caplog: pytest.LogCaptureFixture
) -> None:
    own, added, always = (f"{prefix}-{name}" for name in ("own", "added", "always"))
    for topic in (own, added, always):
        admin.create_topic(topic, 1)
    wait_until_shown(admin, {own: 1, added: 1, always: 1})
    settings = Settings(
        kafka,
        Group(prefix),
        Topics(most_consumers=1),
        MonitorSettings((always,), sample_every_s=0.05, publish_every_s=0.05),
        consume=SortedMapping({f"^{prefix}-own.*": TopicService()}),
    )
    producer = make_producer(kafka)
    with Monitor(settings) as monitor:

        def measured() -> set[str]:
            published = monitor.sample()
            return {partition.topic for partition in published.partitions} if published else set()

        eventually(lambda: measured() == {own, always})
        put(producer, settings.topics.service, ServiceUpdate("add", added, TopicService()))
        eventually(lambda: measured() == {own, added, always})
        for topic in (own, added, always):
            put(producer, settings.topics.service, ServiceUpdate("remove", topic))
        eventually(lambda: measured() == {always})
        producer.produce(settings.topics.service, None, key=own.encode(), partition=0)
        eventually(lambda: measured() == {own, always})
        producer.produce(settings.topics.service, b"nonsense", key=b"orders", partition=0)
        producer.flush()
        eventually(lambda: measured() == {own, always} and len(caplog.messages) == 1)
    assert caplog.messages[0].startswith(f"{settings.topics.service}-0 at offset 5 was skipped: ")
