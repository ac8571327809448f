"""Fills topics with records, as fast as one producer can, so that contenders are at full load for their whole run."""

from collections.abc import Callable
from typing import Final

from restow.errors import RestowError
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.model import TopicPartition
from restow.settings import Kafka
from restow.study.throughput import Case
from restow.throughput.records import numbered, value

PRODUCER: Final = {
    "linger.ms": 20,
    "batch.size": 900_000,
    "acks": 1,
    "compression.type": "none",  # so that a byte read is a byte of a record
    "queue.buffering.max.kbytes": 262_144,
    "queue.buffering.max.messages": 1_000_000,
    "delivery.report.only.error": True,  # a call for each of millions of records takes longer than sending it
}
DELIVER_WITHIN_S: Final = 120.0
POLL_EVERY: Final = 1000


def partitions_of(case: Case) -> list[TopicPartition]:
    """In the order of their records' numbers."""
    return [TopicPartition(topic, number) for topic, count in case.by_topic.items() for number in range(count)]


def create(kafka: Kafka, case: Case) -> None:
    with Admin(kafka) as admin:
        for topic, partitions in case.by_topic.items():
            admin.create_topic(topic, partitions, 1)
        wait_until_shown(admin, case.by_topic)


def fill(kafka: Kafka, case: Case, records: int, progress: Callable[[int], None]) -> None:
    """Writes the records, each partition's turn after the other. Calls `progress` with the number written."""
    failed: list[str] = []
    producer = make_producer(kafka, PRODUCER)

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(str(error))

    partitions = partitions_of(case)
    for number, index, in_partition in numbered(len(partitions)):
        if number >= records:
            break
        topic, partition = partitions[index]
        record = value(number, in_partition, case.record_bytes)
        while True:
            try:
                producer.produce(topic, record, partition=partition, on_delivery=delivered)
                break
            except BufferError:  # the queue is full
                producer.poll(0.1)
        if number % POLL_EVERY == 0:
            producer.poll(0)
            progress(number)
    left = producer.flush(DELIVER_WITHIN_S)
    if failed or left:
        reason = failed[0] if failed else f"{left} were not delivered within {DELIVER_WITHIN_S:g} s"
        raise RestowError(f"the topics can't be filled: {reason}")


def log_bytes(kafka: Kafka, case: Case) -> int:
    """The size of the topics on all brokers, each of which has its own partitions."""
    with Admin(kafka) as admin:
        nodes = admin.cluster().nodes
        return sum(sum(admin.log_sizes(node, list(case.by_topic)).values()) for node in nodes)
