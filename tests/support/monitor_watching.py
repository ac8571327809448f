"""Watches partitions with the real sampler and meter: writes records of 1,000 bytes, samples, and checks
every reading. Whatever happens to the log, the bytes per record must be those of one record with its overhead.
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
"""Bounds of a record's bytes in the log, with its own overhead and its share of the batch's."""

PUBLISHED_WITHIN_S = 60.0
LOOKS = 200
"""An upper limit that no test reaches."""

SMALL_SEGMENTS = {"segment.bytes": str(1 << 20)}


@dataclass
class Watch:
    """Writes, samples, and checks every reading."""

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
        """Samples once and checks the invariants. Returns what would be published of each partition."""
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
        """Writes and samples until `happened` holds for two consecutive samples. Returns the speeds at the second."""
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
    # A leader in the metadata may still have to create its logs; until then it returns no offsets.
    deadline_s = time.monotonic() + PUBLISHED_WITHIN_S
    while not gives_offsets(admin, [TopicPartition(name, number) for number in range(partitions)]):
        assert time.monotonic() < deadline_s
    return TopicPartition(name, 0)
