"""How large a record is, learnt by reading some: for brokers that tell no log's size, as those that others run may not.

The sampler asks. These are the bytes that a consumer gets. Where producers compress, a log grows by fewer: a speed that
is reckoned with them is rather too high, and so is the number of consumers.
"""

import math
import time
from collections.abc import Mapping
from statistics import fmean
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, Message
from confluent_kafka import TopicPartition as Place

from restow.errors import RestowError
from restow.kafka.clients import make_consumer
from restow.kafka.errors import explained
from restow.model import TopicPartition
from restow.settings import Kafka

PARTITIONS_AT_ONCE: Final = 50
RECORDS: Final = 20
"""The newest ones of a partition."""
AGAIN_AFTER_S: Final = 30.0
WITHIN_S: Final = 2.0
"""Nothing is measured meanwhile. What has not come by then is tried again with the next look at that partition."""
LISTEN_S: Final = 0.1
HEAD_BYTES: Final = 12
"""Of a record in the log: lengths, times, and its part of the batch's head."""
WEIGHT: Final = 0.5
"""Of a new look against those before."""
CLIENT: Final = {
    "group.id": "restow-monitor",  # librdkafka asks for one; nothing is committed, and no group is joined
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_uncommitted",
    "auto.offset.reset": "earliest",
    "fetch.message.max.bytes": 64 << 10,
    "queued.min.messages": RECORDS,
}


Sizes = dict[TopicPartition, list[int]]
Answers = tuple[dict[TopicPartition, float], RestowError | None]
"""Bytes of a record, and why the last look at some topic was refused."""


class _Look(NamedTuple):
    time_s: float
    end_offset: int


class RecordSizes:
    """Connects when it is first asked."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._client: Any = None
        self._looks: dict[TopicPartition, _Look] = {}
        self._bytes: dict[TopicPartition, float] = {}
        self._troubles: dict[str, RestowError] = {}
        """Of topics, as of the last look at each."""

    def of(self, extents: Mapping[TopicPartition, range]) -> Answers:
        """Of the partitions with these offsets: as read there, or the mean of the topic. Unknown ones are left out."""
        due = self._due(extents)
        if due:
            self._look({partition: extents[partition] for partition in due})
        known = {partition: self._bytes[partition] for partition in extents if partition in self._bytes}
        of_topics = _means_by_topic(known)
        found = {
            partition: known.get(partition, of_topics[partition.topic])
            for partition in extents
            if partition.topic in of_topics
        }
        return found, next(iter(self._troubles.values()), None)

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _due(self, extents: Mapping[TopicPartition, range]) -> list[TopicPartition]:
        """Those with records of which none was read, and those with new ones since the last look some time ago."""
        now_s, never = time.monotonic(), _Look(-math.inf, -1)
        looks = {partition: self._looks.get(partition, never) for partition, extent in extents.items() if extent}
        due = [
            partition
            for partition, look in looks.items()
            if look.time_s <= now_s - AGAIN_AFTER_S and look.end_offset != extents[partition].stop
        ]
        return sorted(due, key=lambda partition: looks[partition].time_s)[:PARTITIONS_AT_ONCE]

    def _look(self, extents: Mapping[TopicPartition, range]) -> None:
        self._looks |= {partition: _Look(time.monotonic(), extent.stop) for partition, extent in extents.items()}
        if self._client is None:
            self._client = make_consumer(self._kafka, CLIENT)
        self._client.assign([Place(*partition, extent[-RECORDS:].start) for partition, extent in extents.items()])
        looked_at = {partition.topic for partition in extents}
        sizes, troubles = self._read(extents)
        self._client.unassign()
        others = {topic: trouble for topic, trouble in self._troubles.items() if topic not in looked_at}
        self._troubles = others | troubles
        for partition, found in sizes.items():
            mean = fmean(found)
            before = self._bytes.get(partition, mean)
            self._bytes[partition] = before + WEIGHT * (mean - before)

    def _read(self, extents: Mapping[TopicPartition, range]) -> tuple[Sizes, dict[str, RestowError]]:
        sizes: Sizes = {}
        troubles: dict[str, RestowError] = {}
        left, deadline_s = set(extents), time.monotonic() + WITHIN_S
        while left and (wait_s := deadline_s - time.monotonic()) > 0:
            for message in self._client.consume(RECORDS, timeout=min(wait_s, LISTEN_S)):
                partition, error = TopicPartition(message.topic(), message.partition()), message.error()
                if partition not in left:
                    continue  # newer than we asked for, or about the group that we are in by name only
                if error is None:
                    sizes.setdefault(partition, []).append(_size(message))
                elif error.code() != KafkaError._PARTITION_EOF:
                    troubles[partition.topic] = self._explained(partition.topic, error)
                if error is not None or message.offset() >= extents[partition].stop - 1:
                    left.discard(partition)
        return sizes, troubles

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
