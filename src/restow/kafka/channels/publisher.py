"""Sends one record at a time to one topic and waits, for a limited time, until the brokers have it.

The monitor publishes its measurements with it: a record that isn't in the topic soon is better not sent at all, because
the next one is newer. So what was not delivered in time is dropped, never sent late.
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
        """Returns when the brokers have it. Raises what `errors.py` has when they don't take it."""
        outcome: list[KafkaError | None] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            outcome.append(error)

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
        if not outcome:
            self._producer.purge()
            raise NoAnswer(f"can't publish to {self._topic}: {self._kafka.bootstrap} doesn't answer")
        if outcome[0] is not None:
            raise self._explained(outcome[0], len(value))

    def _explained(self, error: KafkaError, size: int) -> RestowError:
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return RequestRefused(
                f"can't publish to {self._topic}: a record of {size:,} bytes is too large; raise max.message.bytes "
                "of the topic"
            )
        return explained(error, f"publish to {self._topic}", f"Write on the topic {self._topic}", self._kafka.bootstrap)
