"""The service topic: the monitor reads from its beginning which topics the group consumes, and commands write to it.

The monitor starts to measure added topics and stops measuring removed ones. The controller reads the same topic through
its own channel.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition

from restow.kafka.channels.publisher import Publisher
from restow.kafka.clients import make_consumer, make_reader
from restow.kafka.errors import NoAnswer, cause, ends_reading, explained
from restow.protocol.channels import SERVICE, decode_on
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import OnService
from restow.protocol.records import SkippedRecords, Undecodable, encode, key_of
from restow.settings import Settings

log = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 500
WRITTEN_WITHIN_S: Final = 10.0
ANSWER_WITHIN_S: Final = 10.0
READ_FOR_S: Final = 0.1


class Services:
    def __init__(self, settings: Settings) -> None:
        self._topic, self._group = settings.topics.service, settings.group.name
        self._skipped = SkippedRecords()
        own = {"group.id": self._group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        self._reader = make_consumer(settings.kafka, own)
        self._reader.assign([KafkaTopicPartition(self._topic, 0, OFFSET_BEGINNING)])

    def close(self) -> None:
        self._reader.close()

    def poll(self) -> list[ServiceUpdate]:
        """Returns the updates that have arrived, in order, without waiting."""
        return [update for record in self._reader.consume(MOST_AT_ONCE, timeout=0) for update in self._updates(record)]

    def _updates(self, record: Any) -> list[ServiceUpdate]:
        if record.error() is not None:
            return []  # librdkafka retries by itself
        offset, headers, value, key = record.offset(), record.headers(), record.value(), record.key()
        message = decode_on(SERVICE, self._topic, 0, offset, headers, value, key, group=self._group)
        if isinstance(message, Undecodable) and self._skipped.is_new(message):
            log.warning(str(message))
        return [message] if isinstance(message, ServiceUpdate) else []


def write_service(settings: Settings, message: OnService, sender: str, within_s: float = WRITTEN_WITHIN_S) -> int:
    """Writes a record and returns its offset, once the brokers acknowledged it. Raises one of the errors in
    kafka/errors.py; NotAllowed names the right that is missing."""
    headers, value = encode(message, sender, settings.group.name)
    publisher = Publisher(settings.kafka, settings.topics.service, within_s)
    return publisher.publish(value, {name: text.decode() for name, text in headers}, key_of(message))


def read_services(settings: Settings) -> dict[str, OnService]:
    """The newest record of each key, up to the topic's present end. Raises one of the errors in kafka/errors.py:
    NoSuchTopic before a monitor or a controller of the group has run."""
    topic, group = settings.topics.service, settings.group.name
    found: dict[str, OnService] = {}
    with closing(make_reader(settings.kafka, group)) as client:
        try:
            for record in _up_to_the_end(client, KafkaTopicPartition(topic, 0), settings.kafka.bootstrap):
                offset, headers, key = record.offset(), record.headers(), record.key()
                message = decode_on(SERVICE, topic, 0, offset, headers, record.value(), key, group=group)
                if isinstance(message, OnService):
                    found[(key_of(message) or b"").decode()] = message
        except KafkaException as exception:
            doing, right = f"read {topic}", f"Read on the topic {topic}"
            raise explained(cause(exception), doing, right, settings.kafka.bootstrap) from None
    return found


def _up_to_the_end(client: Consumer, place: KafkaTopicPartition, bootstrap: str) -> Iterator[Any]:
    first, end = client.get_watermark_offsets(place, timeout=ANSWER_WITHIN_S)
    client.assign([KafkaTopicPartition(place.topic, place.partition, first)])
    at, heard_s = first, time.monotonic()
    while at < end:
        for record in client.consume(MOST_AT_ONCE, timeout=READ_FOR_S):
            error = record.error()
            if error is not None and ends_reading(error):
                raise KafkaException(error)
            if error is None:
                at, heard_s = (record.offset() or 0) + 1, time.monotonic()
                yield record
        [position] = client.position([place])
        at = max(at, position.offset)  # behind the last record, if compaction has removed those after it
        if time.monotonic() - heard_s > ANSWER_WITHIN_S:
            raise NoAnswer(f"can't read {place.topic}: {bootstrap} doesn't answer")
