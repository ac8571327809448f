"""Makes Kafka clients from the settings. Every property in `[kafka]` reaches every client.

librdkafka's own messages go to the logger `restow.kafka.librdkafka` when the client is polled, always as DEBUG: it
reports every failed attempt to connect, while restow reports an outage once.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from restow.errors import InvalidInput
from restow.kafka.errors import cause
from restow.settings import Kafka

Client = TypeVar("Client", Producer, Consumer, AdminClient)
Own = Mapping[str, Any]

librdkafka = logging.getLogger(f"{__package__}.librdkafka")
librdkafka.addHandler(logging.NullHandler())


def _as_debug(record: logging.LogRecord) -> bool:
    record.levelno, record.levelname = logging.DEBUG, logging.getLevelName(logging.DEBUG)
    # "This property is ignored by this consumer instance" is expected: every client gets every property.
    return librdkafka.isEnabledFor(logging.DEBUG) and not record.getMessage().startswith("CONFWARN")


librdkafka.addFilter(_as_debug)


def make_producer(kafka: Kafka, own: Own | None = None) -> Producer:
    return _make(Producer, kafka, own)


def make_consumer(kafka: Kafka, own: Own | None = None) -> Consumer:
    """`own` needs a "group.id" even if the consumer joins no group: librdkafka demands one."""
    return _make(Consumer, kafka, own)


def make_reader(kafka: Kafka, name: str, own: Own | None = None) -> Consumer:
    """A consumer that is assigned its partitions, from offsets of its choice, and joins no group: the name is there
    because librdkafka demands one, and looks for its coordinator."""
    mine = {"enable.auto.commit": False, "auto.offset.reset": "earliest", "allow.auto.create.topics": False}
    return make_consumer(kafka, {"group.id": name, **mine, **(own or {})})


def make_admin_client(kafka: Kafka, on_error: Callable[[KafkaError], None] | None = None) -> AdminClient:
    return _make(AdminClient, kafka, {"error_cb": on_error} if on_error else None)


def properties_of(kafka: Kafka, own: Own | None = None) -> dict[str, Any]:
    """The user's properties, overridden by restow's own: those it needs to be correct."""
    return {**kafka.properties, "bootstrap.servers": kafka.bootstrap, **(own or {})}


def _make(client: Callable[..., Client], kafka: Kafka, own: Own | None) -> Client:
    try:
        return client(properties_of(kafka, own), logger=librdkafka)
    except KafkaException as exception:
        words = kafka.properties.redact(cause(exception).str())
        raise InvalidInput(f"[kafka] can't be used: {words}") from None
