"""Reads committed records for the light consumer, from given partitions and offsets.

One client reads all partitions, without joining a group. It prefetches about one cycle's bytes, so that a partition
with a long backlog delays the others by no more than that.
"""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from restow.kafka.clients import make_consumer
from restow.kafka.errors import UNKNOWN_TOPIC
from restow.model import TopicPartition
from restow.protocol.messages.reports import Gap
from restow.settings import Kafka

log = logging.getLogger(__name__)

FETCHED_AT_ONCE: Final = range(64 << 10, (1 << 20) + 1)
"""The least and the most bytes of one partition in one fetch. The least keeps small cycles from many requests."""
FETCHED_AHEAD: Final = 1000
"""Records of a partition that are prefetched."""

IDLE_FETCH_MS: Final = 100
"""How long a fetch of partitions without new records lasts: a partition that moves here joins the next one."""
LEARN_WITHIN_S: Final = 2.0
FULL_FOR_MS: Final = 10
"""How long a full prefetch queue holds back further fetches. librdkafka's default of one second would delay partitions
with little data."""


class Record(NamedTuple):
    """A record as the light consumer's table stores it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None

    @property
    def size(self) -> int:
        return len(self.key or b"") + len(self.value or b"")


class RecordReader:
    def __init__(self, kafka: Kafka, group: str, ahead_bytes: int) -> None:
        self._next: dict[TopicPartition, int] = {}
        self._skipped: dict[TopicPartition, Gap] = {}
        self._gaps: list[Gap] = []
        self._ended: set[TopicPartition] = set()
        at_once = min(max(ahead_bytes // 8, FETCHED_AT_ONCE.start), FETCHED_AT_ONCE.stop - 1)
        self._client = make_consumer(
            kafka,
            {
                "group.id": group,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "queued.min.messages": FETCHED_AHEAD,
                "queued.max.messages.kbytes": max(ahead_bytes, 2 * at_once) >> 10,
                "fetch.message.max.bytes": at_once,
                "fetch.queue.backoff.ms": FULL_FOR_MS,
                "fetch.wait.max.ms": IDLE_FETCH_MS,
            },
        )

    def learn(self, topics: Iterable[str]) -> None:
        """Loads the metadata of topics that are assigned next and were not read before: otherwise librdkafka asks for
        them only when its timer of a second runs out, and the first fetch waits for that. If the brokers don't answer,
        it is left to that timer."""
        read = {partition.topic for partition in self._next}
        for topic in sorted(set(topics) - read):
            with suppress(KafkaException):
                self._client.list_topics(topic, timeout=LEARN_WITHIN_S)

    def read_from(self, positions: Mapping[TopicPartition, int]) -> None:
        """Reads exactly these partitions from now on. Keeps prefetched records of a partition that continues."""
        positions = {partition: self._after_gap(partition, at) for partition, at in positions.items()}
        gone = [partition for partition, at in self._next.items() if positions.get(partition) != at]
        new = [partition for partition, at in positions.items() if self._next.get(partition) != at]
        if gone:
            self._client.incremental_unassign([KafkaTopicPartition(*partition) for partition in sorted(gone)])
        for partition in gone:
            del self._next[partition]
            self._ended.discard(partition)
        if new:
            self._client.incremental_assign(
                [KafkaTopicPartition(*partition, positions[partition]) for partition in sorted(new)]
            )
        self._next |= {partition: positions[partition] for partition in new}

    def take(self, most: int, within_s: float) -> tuple[list[Record], bool]:
        """Returns up to `most` records, as many as arrive in time, and whether there may be more. End-of-partition
        events and errors count towards `most`."""
        taken, messages = [], self._client.consume(most, timeout=within_s)
        for message in messages:
            partition = TopicPartition(str(message.topic()), int(message.partition() or 0))
            if partition not in self._next:
                continue
            error, offset = message.error(), int(message.offset() or 0)
            if error is not None:
                self._note(partition, error)
            elif offset >= self._next[partition]:
                self._next[partition] = offset + 1
                self._ended.discard(partition)
                taken.append(record_of(partition, offset, message))
        return taken, len(messages) == most

    def lag(self, partition: TopicPartition, position: int) -> int:
        """The records from the position to the end of the log, by the last fetch."""
        position = self._after_gap(partition, position)
        if partition in self._ended and self._next.get(partition) == position:
            return 0  # only transaction markers are left
        _, end = self._client.get_watermark_offsets(KafkaTopicPartition(*partition), cached=True)
        return max(0, end - position)

    def gaps(self) -> tuple[Gap, ...]:
        """Returns the gaps found since the last call: records that were deleted before they were read."""
        found, self._gaps = tuple(self._gaps), []
        return found

    def close(self) -> None:
        self._client.close()

    def _note(self, partition: TopicPartition, error: KafkaError) -> None:
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            self._ended.add(partition)
        elif code == KafkaError._AUTO_OFFSET_RESET:
            self._out_of_range(partition)
        elif not error.retriable() and code not in UNKNOWN_TOPIC:
            log.warning("%s can't be read: %s; retrying", partition, error.str())

    def _out_of_range(self, partition: TopicPartition) -> None:
        """Skips a gap. A log that ends before the position is not read at all: its topic was probably recreated, which
        an operator has to judge."""
        position = self._next[partition]
        try:
            first, end = self._client.get_watermark_offsets(KafkaTopicPartition(*partition), timeout=5.0)
        except KafkaException:
            first = end = position
        if position < first:
            self._skipped[partition] = gap = Gap(partition, position, first)
            self._gaps.append(gap)
            log.warning(str(gap))
            self._client.incremental_unassign([KafkaTopicPartition(*partition)])
            self._client.incremental_assign([KafkaTopicPartition(*partition, first)])
            self._next[partition] = first
        else:
            log.error("%s ends at %d, before its position %d; was its topic recreated?", partition, end, position)

    def _after_gap(self, partition: TopicPartition, position: int) -> int:
        """Where reading continues. A stored position stays before a gap until a record after the gap is stored."""
        gap = self._skipped.get(partition)
        return gap.next if gap and gap.first <= position < gap.next else position


def record_of(partition: TopicPartition, offset: int, message: Message) -> Record:
    kind, timestamp = message.timestamp()
    return Record(
        *partition,
        offset,
        None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
        message.key(),
        message.value(),
    )


def total_size(records: Iterable[Record]) -> int:
    return sum(record.size for record in records)
