"""Reads the first record at or after given positions, to learn its timestamp.

`roles/lookups.py` uses it for partitions that are further behind than the monitor's history goes. It reads committed
records, as consumers do, and one of each partition: Kafka sends whole batches, so that few partitions are read at once.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from restow.errors import RestowError
from restow.kafka.clients import make_consumer
from restow.kafka.errors import ends_reading, explained
from restow.model import FirstUnread, TopicPartition
from restow.settings import Kafka

PARTITIONS_AT_ONCE: Final = 50
WITHIN_S: Final = 3.0
"""Of each group of partitions. Those that did not answer by then are asked for again later."""
LISTEN_S: Final = 0.1
AT_ONCE: Final = 100

Found = tuple[dict[TopicPartition, FirstUnread], dict[str, RestowError]]
"""The first record of each partition that answered, and the errors by topic."""


class FirstUnreadRecords:
    """Connects on the first request."""

    def __init__(self, kafka: Kafka, group: str) -> None:
        """`group` only names the client: nothing is committed, and no group is joined."""
        self._kafka = kafka
        self._own = {
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",  # what was deleted is no longer unread
            "allow.auto.create.topics": False,
            "fetch.message.max.bytes": 16 << 10,
            "queued.min.messages": 1,
        }
        self._client: Any = None

    def at(self, positions: Mapping[TopicPartition, int], should_stop: Callable[[], bool]) -> Found:
        """Never raises: what can't be read is left out."""
        found: dict[TopicPartition, FirstUnread] = {}
        errors: dict[str, RestowError] = {}
        partitions = sorted(positions)
        for start in range(0, len(partitions), PARTITIONS_AT_ONCE):
            some = [each for each in partitions[start : start + PARTITIONS_AT_ONCE] if each.topic not in errors]
            if some and not should_stop():
                self._read({partition: positions[partition] for partition in some}, found, errors, should_stop)
        return found, errors

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _read(
        self,
        positions: Mapping[TopicPartition, int],
        found: dict[TopicPartition, FirstUnread],
        errors: dict[str, RestowError],
        should_stop: Callable[[], bool],
    ) -> None:
        if self._client is None:
            self._client = make_consumer(self._kafka, self._own)
        self._client.assign([KafkaTopicPartition(*partition, at) for partition, at in positions.items()])
        left, deadline_s = set(positions), time.monotonic() + WITHIN_S
        while left and time.monotonic() < deadline_s and not should_stop():
            for message in self._client.consume(AT_ONCE, timeout=LISTEN_S):
                partition = TopicPartition(str(message.topic()), int(message.partition() or 0))
                answer = self._answer(partition.topic, message)
                if isinstance(answer, RestowError):  # of the whole topic: Kafka's client names no partition then
                    errors[partition.topic] = answer
                    left = {each for each in left if each.topic != partition.topic}
                elif answer is not None and partition in left:
                    found[partition] = answer
                    left.discard(partition)
                    self._stop(partition)
        self._client.unassign()

    def _answer(self, topic: str, message: Message) -> FirstUnread | RestowError | None:
        """Returns None for an error that passes: the client tries again by itself."""
        error = message.error()
        if error is None:
            return FirstUnread(int(message.offset() or 0), _timestamp_s(message))
        if error.code() == KafkaError._PARTITION_EOF:
            return FirstUnread(int(message.offset() or 0), is_end=True)
        if not ends_reading(error):
            return None
        doing, right = f"read the timestamps of {topic}", f"Read on the topic {topic}"
        return explained(error, doing, right, self._kafka.bootstrap)

    def _stop(self, partition: TopicPartition) -> None:
        """Fetches no more of it."""
        self._client.incremental_unassign([KafkaTopicPartition(*partition)])


def _timestamp_s(message: Message) -> float | None:
    kind, timestamp_ms = message.timestamp()
    return None if kind == TIMESTAMP_NOT_AVAILABLE or timestamp_ms < 0 else timestamp_ms / 1000
