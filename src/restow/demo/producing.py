"""Writes the demonstration's load to Kafka, each record once: the audit would blame restow for any other count."""

import time
from collections import Counter
from typing import Final

from restow.demo.load import Load
from restow.errors import RestowError
from restow.kafka.clients import make_producer
from restow.model import TopicPartition
from restow.settings import Kafka

DELIVERED_WITHIN_S: Final = 60.0
"""Time for the client to deliver what it holds."""


class LoadProducer:
    def __init__(self, kafka: Kafka) -> None:
        self._producer = make_producer(kafka, {"linger.ms": 20, "enable.idempotence": True})
        self._load = Load()
        self._last_s: float | None = None
        self._ends = Counter[TopicPartition]()
        self._refusals: list[str] = []

    @property
    def produced(self) -> dict[str, int]:
        """Number of records by topic."""
        return dict(self._load.produced)

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """End offset of each partition: the number of its records, since there is no other producer."""
        return dict(self._ends)

    @property
    def total(self) -> int:
        return sum(self._load.produced.values())

    def produce(self, capacities: float) -> None:
        """Produces what is due since the last call, at this load. The first call produces nothing."""
        now_s = time.monotonic()
        since_s, self._last_s = self._last_s, now_s
        for partition, record in self._load.records(capacities, now_s - (now_s if since_s is None else since_s)):
            self._ends[partition] += 1
            self._producer.produce(partition.topic, record, partition=partition.partition, on_delivery=self._delivered)
        self._producer.poll(0)
        self._check()

    def finish(self) -> None:
        """Returns when Kafka has acknowledged every record."""
        left = self._producer.flush(DELIVERED_WITHIN_S)
        self._check()
        if left:
            raise RestowError(f"Kafka did not acknowledge {left:,} records within {DELIVERED_WITHIN_S:.0f} s")

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self._refusals.append(str(error))

    def _check(self) -> None:
        if self._refusals:
            raise RestowError(f"Kafka refused a record: {self._refusals[0]}")
