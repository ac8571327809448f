"""A watch over partitions: it writes a known number of records of 1,000 bytes, looks, and checks every look. Whatever
happens to the log, bytes by records must come out at one record and what frames it, and the records exactly.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import Producer

from restow.errors import RestowError
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.sampler import Interest, Sampler
from restow.kafka.topics import wait_until_shown
from restow.model import TopicPartition
from restow.monitor.meter import Meter
from restow.monitor.sample import Sample
from restow.protocol.measurement import PartitionSpeed
from restow.settings import Kafka

RECORD = b"r" * 1000
FRAMED = (1000, 1100)
"""Bytes of a record in the log: some for the record's own head, some of the batch's."""

PUBLISHED_WITHIN_S = 60.0
LOOKS = 200
"""No case needs as many; they are the deadline."""

SMALL_SEGMENTS = {"segment.bytes": str(1 << 20)}


@dataclass
class Watch:
    """Writes, looks, and checks every look against what was written."""

    admin: Admin
    producer: Producer
    sampler: Sampler
    meter: Meter = field(default_factory=Meter)
    last: Sample | None = None

    @classmethod
    def of(cls, kafka: Kafka, admin: Admin, *topics: str) -> "Watch":
        return cls(admin, make_producer(kafka), Sampler(admin, Interest(topics)))

    def write(self, records: Mapping[TopicPartition, int], key_of: Callable[[int], str] = str) -> None:
        failures: list[object] = []
        for (topic, number), count in records.items():
            for index in range(count):
                self.producer.produce(
                    topic,
                    RECORD,
                    key=key_of(index),
                    partition=number,
                    on_delivery=lambda error, _: failures.append(error) if error else None,
                )
        assert self.producer.flush(30) == 0
        assert failures == []

    def look(self) -> dict[TopicPartition, PartitionSpeed]:
        """What is published of each partition, after the checks that hold at all times."""
        self.last = self.sampler.sample()
        measured = self.meter.take(self.last)
        if measured is None:
            return {}
        for bytes_per_s, filtered, records_per_s in zip(
            measured.bytes_per_s, measured.filtered_bytes_per_s, measured.records_per_s, strict=True
        ):
            assert FRAMED[0] * records_per_s <= bytes_per_s <= FRAMED[1] * records_per_s
            assert filtered >= 0
        return dict(measured.to_measurement("now").partitions)

    def write_until(
        self,
        happened: Callable[[Sample, Sample], bool],
        records: Mapping[TopicPartition, int],
        key_of: Callable[[int], str] = str,
    ) -> dict[TopicPartition, PartitionSpeed]:
        """Writes and looks until two looks in a row show it. The speeds at that look."""
        for _ in range(LOOKS):
            before = self.last
            self.write(records, key_of)
            speeds = self.look()
            if before is not None and self.last is not None and happened(before, self.last):
                return speeds
        raise AssertionError("it did not happen")

    def look_until(self, holds: Callable[[dict[TopicPartition, PartitionSpeed]], bool]) -> None:
        for _ in range(LOOKS):
            if holds(self.look()):
                return
        raise AssertionError("it did not happen")


def gives_offsets(admin: Admin, partitions: list[TopicPartition]) -> bool:
    try:
        return len(admin.end_offsets(partitions)) == len(partitions)
    except RestowError:
        return False


def created(admin: Admin, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> TopicPartition:
    admin.create_topic(name, partitions, settings=dict(settings or {}))
    wait_until_shown(admin, {name: partitions})
    # A leader that is shown may still have to make its logs; until then it gives no offsets.
    deadline_s = time.monotonic() + PUBLISHED_WITHIN_S
    while not gives_offsets(admin, [TopicPartition(name, number) for number in range(partitions)]):
        assert time.monotonic() < deadline_s
    return TopicPartition(name, 0)
