"""Produces the demonstration's load, each record once: what Kafka has twice, or never, would look like our fault."""

import time
from collections import Counter
from typing import Final

from restow.demo.load import Load
from restow.errors import RestowError
from restow.kafka.clients import make_producer
from restow.model import TopicPartition
from restow.settings import Kafka

TAKEN_WITHIN_S: Final = 60.0
"""After the last record was handed to Kafka's client."""


class LoadProducer:
    def __init__(self, kafka: Kafka) -> None:
        self._producer = make_producer(kafka, {"linger.ms": 20, "enable.idempotence": True})
        self._load = Load()
        self._last_s: float | None = None
        self._ends = Counter[TopicPartition]()
        self._refusals: list[str] = []

    @property
    def produced(self) -> dict[str, int]:
        """By topic."""
        return dict(self._load.produced)

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """How many of them each partition has; nobody else writes there, so that its log ends at this offset."""
        return dict(self._ends)

    @property
    def total(self) -> int:
        return sum(self._load.produced.values())

    def produce(self, capacities: float) -> None:
        """What is due since it was last called, under this load. Nothing the first time."""
        now_s = time.monotonic()
        since_s, self._last_s = self._last_s, now_s
        for partition, record in self._load.records(capacities, now_s - (now_s if since_s is None else since_s)):
            self._ends[partition] += 1
            self._producer.produce(partition.topic, record, partition=partition.partition, on_delivery=self._delivered)
        self._producer.poll(0)
        self._check()

    def finish(self) -> None:
        """Returns when Kafka has all of it."""
        left = self._producer.flush(TAKEN_WITHIN_S)
        self._check()
        if left:
            raise RestowError(f"Kafka did not take {left:,} records within {TAKEN_WITHIN_S:.0f} s")

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self._refusals.append(str(error))

    def _check(self) -> None:
        if self._refusals:
            raise RestowError(f"Kafka did not take a record: {self._refusals[0]}")
