"""Reads data for the light consumer: committed records of the partitions it is told, from the offsets it is told.

One client for all partitions, assigned by hand. What it fetches ahead is limited to about a cycle, so that a partition
with a long backlog doesn't keep the others waiting for longer than that.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Place

from restow.kafka.clients import make_consumer
from restow.kafka.errors import UNKNOWN
from restow.model import TopicPartition
from restow.protocol.messages import Gap
from restow.settings import Kafka

FETCHED_AT_ONCE: Final = range(64 << 10, (1 << 20) + 1)
"""Bytes of one partition in one answer of a broker; at least so much that small cycles don't mean many requests."""
FETCHED_AHEAD: Final = 1000
"""Records of a partition that are fetched ahead of their use."""

FULL_FOR_MS: Final = 10
"""When as much is fetched ahead as may be, no partition is asked for until this has passed. The usual second would keep
those waiting that have little."""


class Record(NamedTuple):
    """As it is stored: the columns of the light consumer's table."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None

    @property
    def size(self) -> int:
        return len(self.key or b"") + len(self.value or b"")


class Reader:
    def __init__(self, kafka: Kafka, group: str, ahead_bytes: int, say: Callable[[str], None]) -> None:
        self._say = say
        self._next: dict[TopicPartition, int] = {}
        self._passed: dict[TopicPartition, Gap] = {}
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
            },
        )

    def read_from(self, positions: Mapping[TopicPartition, int]) -> None:
        """These partitions from now on, and no others. What is fetched ahead of one that goes on is kept."""
        positions = {partition: self._after_gap(partition, at) for partition, at in positions.items()}
        gone = [partition for partition, at in self._next.items() if positions.get(partition) != at]
        new = [partition for partition, at in positions.items() if self._next.get(partition) != at]
        if gone:
            self._client.incremental_unassign([Place(*partition) for partition in sorted(gone)])
        for partition in gone:
            del self._next[partition]
            self._ended.discard(partition)
        if new:
            self._client.incremental_assign([Place(*partition, positions[partition]) for partition in sorted(new)])
        self._next |= {partition: positions[partition] for partition in new}

    def take(self, most: int, within_s: float) -> tuple[list[Record], bool]:
        """So many at most; fewer, or none, when there are no more within this time. And whether there may be more: news
        of ends and errors count as records do."""
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
                taken.append(_record(partition, offset, message))
        return taken, len(messages) == most

    def lag(self, partition: TopicPartition, position: int) -> int:
        """Records from the position to the end, as far as the brokers have told."""
        position = self._after_gap(partition, position)
        if partition in self._ended and self._next.get(partition) == position:
            return 0  # what is left there are marks of transactions
        _, end = self._client.get_watermark_offsets(Place(*partition), cached=True)
        return max(0, end - position)

    def gaps(self) -> tuple[Gap, ...]:
        """What was deleted before it was read, each told once."""
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
        elif not error.retriable() and code not in UNKNOWN:
            self._say(f"{partition} can't be read: {error.str()}; tries go on")

    def _out_of_range(self, partition: TopicPartition) -> None:
        """What was deleted before it was read can't be read. A log that ends before our position is not read at all:
        its topic was made anew, and only a person knows what that means."""
        position = self._next[partition]
        try:
            first, end = self._client.get_watermark_offsets(Place(*partition), timeout=5.0)
        except KafkaException:
            first = end = position
        if position < first:
            self._passed[partition] = gap = Gap(partition, position, first)
            self._gaps.append(gap)
            self._say(str(gap))
            self._client.incremental_unassign([Place(*partition)])
            self._client.incremental_assign([Place(*partition, first)])
            self._next[partition] = first
        else:
            self._say(f"{partition} ends at {end}, before {position}, where it is to be read; was its topic made anew?")

    def _after_gap(self, partition: TopicPartition, position: int) -> int:
        """Nothing is stored of a gap, so that a position stays before it until there is a record after it."""
        gap = self._passed.get(partition)
        return gap.next if gap and gap.first <= position < gap.next else position


def _record(partition: TopicPartition, offset: int, message: Message) -> Record:
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
