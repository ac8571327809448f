"""The mean size of records, by reading some. For brokers that don't return the sizes of logs, as on managed clusters.

The sampler uses it. Sizes are uncompressed, as a consumer receives them. If producers compress, a speed computed with
them is higher than the log's growth, and so may be the number of consumers.
"""

import math
import time
from collections.abc import Mapping
from statistics import fmean
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from restow.errors import RestowError
from restow.kafka.clients import make_consumer
from restow.kafka.errors import explained
from restow.model import TopicPartition
from restow.settings import Kafka

PARTITIONS_AT_ONCE: Final = 50
RECORDS: Final = 20
"""How many of a partition's newest records are read."""
AGAIN_AFTER_S: Final = 30.0
WITHIN_S: Final = 2.0
"""A sample waits for this. Partitions that did not answer by then are read again with a later sample."""
LISTEN_S: Final = 0.1
HEAD_BYTES: Final = 12
"""A record's header in the log: lengths, timestamp, and its share of the batch header."""
WEIGHT: Final = 0.5
"""The weight of a new mean against the old one."""
CLIENT: Final = {
    "group.id": "restow-monitor",  # librdkafka demands one; nothing is committed, and no group is joined
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_uncommitted",
    "auto.offset.reset": "earliest",
    "fetch.message.max.bytes": 64 << 10,
    "queued.min.messages": RECORDS,
}


Sizes = dict[TopicPartition, list[int]]
Answers = tuple[dict[TopicPartition, float], RestowError | None]
"""The bytes of a record by partition, and the first error of a topic that could not be read."""


class _Reading(NamedTuple):
    time_s: float
    end_offset: int


class RecordSizes:
    """Connects on the first request."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._client: Any = None
        self._readings: dict[TopicPartition, _Reading] = {}
        self._bytes: dict[TopicPartition, float] = {}
        self._errors: dict[str, RestowError] = {}
        """By topic, from the last reading of it."""

    def of(self, ranges: Mapping[TopicPartition, range]) -> Answers:
        """The mean bytes of a record of each partition, else of its topic. Partitions of unread topics are left out."""
        due = self._due(ranges)
        if due:
            self._update({partition: ranges[partition] for partition in due})
        known = {partition: self._bytes[partition] for partition in ranges if partition in self._bytes}
        of_topics = _means_by_topic(known)
        found = {
            partition: known.get(partition, of_topics[partition.topic])
            for partition in ranges
            if partition.topic in of_topics
        }
        return found, next(iter(self._errors.values()), None)

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _due(self, ranges: Mapping[TopicPartition, range]) -> list[TopicPartition]:
        """Partitions with records that were never read, or were last read some time ago and have new ones since."""
        now_s, never = time.monotonic(), _Reading(-math.inf, -1)
        readings = {partition: self._readings.get(partition, never) for partition, offsets in ranges.items() if offsets}
        due = [
            partition
            for partition, reading in readings.items()
            if reading.time_s <= now_s - AGAIN_AFTER_S and reading.end_offset != ranges[partition].stop
        ]
        return sorted(due, key=lambda partition: readings[partition].time_s)[:PARTITIONS_AT_ONCE]

    def _update(self, ranges: Mapping[TopicPartition, range]) -> None:
        self._readings |= {partition: _Reading(time.monotonic(), offsets.stop) for partition, offsets in ranges.items()}
        if self._client is None:
            self._client = make_consumer(self._kafka, CLIENT)
        self._client.assign(
            [KafkaTopicPartition(*partition, offsets[-RECORDS:].start) for partition, offsets in ranges.items()]
        )
        read_topics = {partition.topic for partition in ranges}
        sizes, errors = self._read(ranges)
        self._client.unassign()
        others = {topic: error for topic, error in self._errors.items() if topic not in read_topics}
        self._errors = others | errors
        for partition, found in sizes.items():
            mean = fmean(found)
            before = self._bytes.get(partition, mean)
            self._bytes[partition] = before + WEIGHT * (mean - before)

    def _read(self, ranges: Mapping[TopicPartition, range]) -> tuple[Sizes, dict[str, RestowError]]:
        sizes: Sizes = {}
        errors: dict[str, RestowError] = {}
        left, deadline_s = set(ranges), time.monotonic() + WITHIN_S
        while left and (wait_s := deadline_s - time.monotonic()) > 0:
            for message in self._client.consume(RECORDS, timeout=min(wait_s, LISTEN_S)):
                partition, error = TopicPartition(message.topic(), message.partition()), message.error()
                if partition not in left:
                    continue  # beyond the offsets asked for
                if error is None:
                    sizes.setdefault(partition, []).append(_size(message))
                elif error.code() != KafkaError._PARTITION_EOF:
                    errors[partition.topic] = self._explained(partition.topic, error)
                if error is not None or message.offset() >= ranges[partition].stop - 1:
                    left.discard(partition)
        return sizes, errors

    def _explained(self, topic: str, error: KafkaError) -> RestowError:
        doing, right = f"read records of {topic} to learn their size", f"Read on the topic {topic}"
        return explained(error, doing, right, self._kafka.bootstrap)


def _size(message: Message) -> int:
    headers: Any = message.headers() or ()
    parts = [message.key(), message.value(), *(part for header in headers for part in header)]
    return HEAD_BYTES + sum(len(part or "") for part in parts)


def _means_by_topic(known: Mapping[TopicPartition, float]) -> dict[str, float]:
    by_topic: dict[str, list[float]] = {}
    for partition, size in known.items():
        by_topic.setdefault(partition.topic, []).append(size)
    return {topic: fmean(sizes) for topic, sizes in by_topic.items()}
