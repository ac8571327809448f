"""Publishes to partition 0 of a topic and waits for it: the monitor's measurements, and the records of commands.

A record that is not acknowledged in time is dropped instead of sent late: the next measurement replaces it, and the
person who gave the command reads that it failed.
"""

from collections.abc import Iterable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException, Message

from restow.errors import RestowError
from restow.kafka.clients import make_producer
from restow.kafka.errors import NoAnswer, RequestRefused, cause, explained
from restow.settings import Kafka


class Publisher:
    def __init__(self, kafka: Kafka, topic: str, deliver_within_s: float) -> None:
        self._kafka, self._topic, self._within_s = kafka, topic, deliver_within_s
        self._producer = make_producer(
            kafka,
            {
                "compression.type": "zstd",
                "delivery.timeout.ms": round(deliver_within_s * 1000),
                "linger.ms": 0,
            },
        )

    def publish(self, value: bytes, headers: Mapping[str, str], key: bytes | None = None) -> int:
        """Returns the record's offset once the brokers acknowledged it. Raises one of the errors in errors.py."""
        return self._publish([(headers, value)], key)[0]

    def publish_all(self, records: Iterable[tuple[Mapping[str, str], bytes]]) -> None:
        """Publishes headers and values in this order, and returns once the brokers acknowledged all of them. Raises one
        of the errors in errors.py."""
        self._publish(tuple(records))

    def _publish(self, records: Sequence[tuple[Mapping[str, str], bytes]], key: bytes | None = None) -> list[int]:
        deliveries: list[tuple[KafkaError | None, int]] = []
        largest = max(len(value) for _, value in records)

        def delivered(error: KafkaError | None, record: Message) -> None:
            deliveries.append((error, record.offset() or 0))

        try:
            for headers, value in records:
                self._producer.produce(
                    self._topic,
                    value,
                    key=key,
                    partition=0,
                    headers=[(name, content.encode()) for name, content in headers.items()],
                    on_delivery=delivered,
                )
        except KafkaException as exception:
            self._producer.purge()
            raise self._explained(cause(exception), largest) from None
        self._producer.flush(self._within_s + 1.0)
        if len(deliveries) < len(records):
            self._producer.purge()
            raise NoAnswer(f"can't publish to {self._topic}: {self._kafka.bootstrap} doesn't answer")
        for error, _ in deliveries:
            if error is not None:
                raise self._explained(error, largest)
        return [offset for _, offset in deliveries]

    def _explained(self, error: KafkaError, size: int) -> RestowError:
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return RequestRefused(
                f"can't publish to {self._topic}: a record of {size:,} bytes is too large; raise max.message.bytes "
                "of the topic"
            )
        return explained(error, f"publish to {self._topic}", f"Write on the topic {self._topic}", self._kafka.bootstrap)
