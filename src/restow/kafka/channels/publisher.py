"""Publishes the monitor's measurements to <prefix>-monitor, partition 0, one record at a time.

A record that is not acknowledged in time is dropped instead of sent late, because the next measurement replaces it.
"""

from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException, Message

from restow.errors import RestowError
from restow.kafka.clients import make_producer
from restow.kafka.errors import NoAnswer, RequestRefused, cause, explained
from restow.kafka.topics import LARGEST_RECORD_BYTES
from restow.settings import Kafka


class Publisher:
    def __init__(self, kafka: Kafka, topic: str, deliver_within_s: float) -> None:
        self._kafka, self._topic, self._within_s = kafka, topic, deliver_within_s
        self._producer = make_producer(
            kafka,
            {
                "compression.type": "zstd",
                "message.max.bytes": LARGEST_RECORD_BYTES,
                "delivery.timeout.ms": round(deliver_within_s * 1000),
                "linger.ms": 0,
            },
        )

    def publish(self, value: bytes, headers: Mapping[str, str]) -> None:
        """Returns once the brokers acknowledged the record. Raises one of the errors in errors.py."""
        deliveries: list[KafkaError | None] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            deliveries.append(error)

        try:
            self._producer.produce(
                self._topic,
                value,
                headers=[(name, content.encode()) for name, content in headers.items()],
                on_delivery=delivered,
            )
        except KafkaException as exception:
            raise self._explained(cause(exception), len(value)) from None
        self._producer.flush(self._within_s + 1.0)
        if not deliveries:
            self._producer.purge()
            raise NoAnswer(f"can't publish to {self._topic}: {self._kafka.bootstrap} doesn't answer")
        if deliveries[0] is not None:
            raise self._explained(deliveries[0], len(value))

    def _explained(self, error: KafkaError, size: int) -> RestowError:
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return RequestRefused(
                f"can't publish to {self._topic}: a record of {size:,} bytes is too large; raise max.message.bytes "
                "of the topic"
            )
        return explained(error, f"publish to {self._topic}", f"Write on the topic {self._topic}", self._kafka.bootstrap)
