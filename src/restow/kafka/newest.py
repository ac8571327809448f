"""The newest records of topics, for `restow check`: which offsets they have, and the records themselves."""

import time
from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as KafkaTopicPartition

from restow.kafka.clients import make_consumer
from restow.kafka.errors import NoAnswer, explained
from restow.kafka.offsets import LogOffsets
from restow.kafka.reading import Record, record_of
from restow.model import TopicPartition
from restow.settings import Kafka

RECORDS_OF_A_PARTITION: Final = 20
PARTITIONS_OF_A_TOPIC: Final = 10
READ_WITHIN_S: Final = 15.0
SLICE_S: Final = 0.2


def newest_offsets(kafka: Kafka, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, range]:
    """The offsets of the newest records of some of these partitions. Raises RestowError."""
    log_offsets, wanted = LogOffsets(kafka), sorted(partitions)[:PARTITIONS_OF_A_TOPIC]
    firsts, first_error = log_offsets.first(wanted)
    ends, end_error = log_offsets.last_stable(wanted)
    if error := first_error or end_error:
        raise error
    return {p: range(max(firsts[p], ends[p] - RECORDS_OF_A_PARTITION), ends[p]) for p in wanted}


def records_at(kafka: Kafka, group: str, offsets: Mapping[TopicPartition, range]) -> dict[TopicPartition, list[Record]]:
    """Reads the committed records at these offsets. Raises RestowError, and NoAnswer after READ_WITHIN_S."""
    found: dict[TopicPartition, list[Record]] = {partition: [] for partition, wanted in offsets.items() if wanted}
    left, deadline_s = set(found), time.monotonic() + READ_WITHIN_S
    own = {"group.id": group, "enable.auto.commit": False, "enable.partition.eof": True}
    client = make_consumer(kafka, {**own, "isolation.level": "read_committed", "auto.offset.reset": "earliest"})
    try:
        client.assign([KafkaTopicPartition(*partition, offsets[partition].start) for partition in sorted(left)])
        while left:
            if time.monotonic() > deadline_s:
                raise NoAnswer(f"can't read {min(left)}: no answer within {READ_WITHIN_S:.0f} s")
            for message in client.consume(RECORDS_OF_A_PARTITION, timeout=SLICE_S):
                partition = TopicPartition(str(message.topic()), int(message.partition() or 0))
                error, offset = message.error(), int(message.offset() or 0)
                if error is not None and error.code() != KafkaError._PARTITION_EOF and not error.retriable():
                    raise explained(error, f"read {partition}", f"Read on the topic {partition.topic}", kafka.bootstrap)
                if error is None and offset in offsets[partition]:
                    found[partition].append(record_of(partition, offset, message))
                is_end = error is not None and error.code() == KafkaError._PARTITION_EOF
                if is_end or (error is None and offset >= offsets[partition].stop - 1):
                    left.discard(partition)
    finally:
        client.close()
    return found
