"""The soak's load: records with ids, evenly over the partitions of each topic, however many there are."""

import time
from collections import Counter
from typing import Final

from restow.errors import RestowError
from restow.kafka.clients import make_producer
from restow.model import TopicPartition
from restow.settings import Kafka

TOPICS: Final = ("clicks", "orders")
PARTITIONS: Final = 6
"""Of each topic, at first."""
PER_S: Final = 120
"""Records of each topic."""
RECORD_BYTES: Final = 300
CAPACITY_BYTES_PER_S: Final = len(TOPICS) * PER_S * (RECORD_BYTES + 75) / 1.6
"""Of a consumer: the load is one for two consumers."""
DELIVERED_WITHIN_S: Final = 120.0


class SoakLoad:
    def __init__(self, kafka: Kafka) -> None:
        # Brokers are killed: what a dead one had acknowledged is in its log, and the rest is sent again.
        own = {"linger.ms": 20, "enable.idempotence": True, "delivery.timeout.ms": 600_000}
        self._producer = make_producer(kafka, own)
        self._partitions = dict.fromkeys(TOPICS, PARTITIONS)
        self.produced = Counter[str]()
        self.ends = Counter[TopicPartition]()
        """The records of each partition, which has no other producer."""
        self._owed = 0.0
        self._last_s = time.monotonic()
        self._refusals: list[str] = []

    def grow(self, topic: str) -> int:
        """The topic has one more partition. Returns their number."""
        self._producer.list_topics(
            topic, timeout=DELIVERED_WITHIN_S
        )  # it can't send to partitions that it doesn't know
        self._partitions[topic] += 1
        return self._partitions[topic]

    def produce(self) -> None:
        """What is due since the last call; at most what is due in two seconds, however long that was ago."""
        now_s = time.monotonic()
        self._owed += min(2.0, now_s - self._last_s) * PER_S
        self._last_s = now_s
        while self._owed >= 1.0:
            self._owed -= 1.0
            for topic in TOPICS:
                self._one(topic)
        self._producer.poll(0)
        if self._refusals:
            raise RestowError(f"the load was refused: {self._refusals[0]}")

    def finish(self) -> None:
        """Returns when Kafka has acknowledged every record."""
        left = self._producer.flush(DELIVERED_WITHIN_S)
        if left or self._refusals:
            raise RestowError(f"Kafka did not take {left} records: {self._refusals[:1]}")

    def _one(self, topic: str) -> None:
        number = self.produced[topic]
        partition = TopicPartition(topic, number % self._partitions[topic])
        value = f"{topic}-{number} ".ljust(RECORD_BYTES, "x").encode()
        self._producer.produce(topic, value, partition=partition.partition, on_delivery=self._delivered)
        self.produced[topic] += 1
        self.ends[partition] += 1

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self._refusals.append(str(error))
