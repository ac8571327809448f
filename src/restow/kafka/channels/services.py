"""Reads the service topic for the monitor, from its beginning: which topics the group consumes.

The monitor starts to measure added topics and stops measuring removed ones. The controller reads the same topic through
its own channel.
"""

import logging
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING
from confluent_kafka import TopicPartition as KafkaTopicPartition

from restow.kafka.clients import make_consumer
from restow.protocol.channels import SERVICE, decode_on
from restow.protocol.messages import ServiceUpdate
from restow.protocol.records import SkippedRecords, Undecodable
from restow.settings import Settings

log = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 500


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
