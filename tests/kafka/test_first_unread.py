"""The first record at a position, on a real broker."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.first_unread import FirstUnreadRecords
from restow.kafka.topics import wait_until_shown
from restow.model import FirstUnread, TopicPartition
from restow.settings import Kafka

LONG_AGO_S = 1_700_000_000.0


@pytest.fixture
def records(kafka: Kafka) -> Iterator[FirstUnreadRecords]:
    found = FirstUnreadRecords(kafka, "lookups")
    yield found
    found.close()


def made(admin: Admin, name: str, partitions: int = 1) -> list[TopicPartition]:
    admin.create_topic(name, partitions, settings={"retention.ms": "-1"})  # else Kafka deletes records of long ago
    wait_until_shown(admin, {name: partitions})
    return [TopicPartition(name, number) for number in range(partitions)]


def produce(producer: Producer, partition: TopicPartition, *times_s: float) -> None:
    for time_s in times_s:
        producer.produce(partition.topic, b"x", partition=partition.partition, timestamp=round(time_s * 1000))
        assert producer.flush(60) == 0, "each in a batch of its own"


def test_each_partitions_record_at_the_position_and_its_end(
    kafka: Kafka, admin: Admin, prefix: str, records: FirstUnreadRecords
) -> None:
    old, young, empty = made(admin, f"{prefix}-a", 3)
    producer = make_producer(kafka)
    produce(producer, old, LONG_AGO_S, LONG_AGO_S + 1, LONG_AGO_S + 2)
    future_s = round(time.time()) + 1800.0
    produce(producer, young, future_s)
    found, errors = records.at({old: 1, young: 0, empty: 0}, lambda: False)
    assert errors == {}
    assert found[old] == FirstUnread(1, LONG_AGO_S + 1)
    assert found[young] == FirstUnread(0, future_s)
    assert found[empty] == FirstUnread(0, is_end=True)
    found, _ = records.at({old: 3}, lambda: False)
    assert found == {old: FirstUnread(3, is_end=True)}


def test_more_partitions_than_are_read_at_once(
    kafka: Kafka, admin: Admin, prefix: str, records: FirstUnreadRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("restow.kafka.first_unread.PARTITIONS_AT_ONCE", 2)
    partitions, producer = made(admin, f"{prefix}-a", 5), make_producer(kafka)
    for number, partition in enumerate(partitions):
        produce(producer, partition, LONG_AGO_S + number)
    found, _ = records.at(dict.fromkeys(partitions, 0), lambda: False)
    assert found == {each: FirstUnread(0, LONG_AGO_S + each.partition) for each in partitions}


def test_deleted_and_aborted_records_are_passed_over(
    kafka: Kafka, admin: Admin, prefix: str, records: FirstUnreadRecords
) -> None:
    [partition] = made(admin, f"{prefix}-a")
    producer = make_producer(kafka, {"transactional.id": prefix})
    producer.init_transactions(60)
    producer.begin_transaction()
    produce(producer, partition, LONG_AGO_S)
    producer.abort_transaction(60)
    producer.begin_transaction()
    produce(producer, partition, LONG_AGO_S + 5)
    producer.commit_transaction(60)
    found, _ = records.at({partition: 0}, lambda: False)
    assert found == {partition: FirstUnread(2, LONG_AGO_S + 5)}, "behind the aborted record and its marker"
    found, _ = records.at({partition: 3}, lambda: False)
    assert found == {partition: FirstUnread(4, is_end=True)}, "only the marker is left"


def test_a_topic_that_is_not_there_costs_no_other_its_answer(
    kafka: Kafka, admin: Admin, prefix: str, records: FirstUnreadRecords
) -> None:
    [partition] = made(admin, f"{prefix}-a")
    produce(make_producer(kafka), partition, LONG_AGO_S)
    found, _ = records.at({partition: 0, TopicPartition(f"{prefix}-nowhere", 0): 0}, lambda: False)
    assert found == {partition: FirstUnread(0, LONG_AGO_S)}
