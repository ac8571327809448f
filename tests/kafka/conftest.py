"""Fixtures that write and read a topic."""

from collections.abc import Callable

import pytest

from restow.kafka.clients import make_consumer, make_producer
from restow.settings import Kafka


@pytest.fixture(scope="session")
def write() -> Callable[..., None]:
    def write(kafka: Kafka, topic: str, *values: str) -> None:
        producer = make_producer(kafka, {"acks": "all"})
        for value in values:
            producer.produce(topic, value, partition=0)
        assert producer.flush(30) == 0

    return write


@pytest.fixture(scope="session")
def read() -> Callable[[Kafka, str, int], list[str]]:
    def read(kafka: Kafka, topic: str, count: int) -> list[str]:
        consumer = make_consumer(kafka, {"group.id": f"of-{topic}", "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        try:
            return [(record.value() or b"").decode() for record in consumer.consume(count, timeout=30)]
        finally:
            consumer.close()

    return read
