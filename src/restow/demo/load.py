"""The demonstration's records: two topics, some partitions much faster than others, at the load asked for.

Every record has an id, counted per topic, so that the audit finds lost and doubled ones.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from restow.model import TopicPartition

TOPICS: Final = ("orders", "clicks")
WEIGHTS: Final = (5, 3, 2, 1)
"""Of a topic's partitions: the first gets five times as much as the last."""
PARTITIONS: Final = len(WEIGHTS)
CAPACITY_BYTES_PER_S: Final = 40_000.0
"""The capacity set for a consumer: low, so that three of them fit two cores. It is not a measurement of Spark."""
LOG_OVERHEAD_BYTES: Final = 20
"""About what Kafka's log adds to a record under load: its own header, and its share of the batch's."""
COUNTRIES, CURRENCIES = ("de", "se", " gb", "us "), ("EUR", "SEK", "GBP", "USD")
PAGES, AGENTS = ("/shoes/42", "/hats", "/", "/sale/today"), ("Mozilla/5.0 (X11; Linux)", "Mobile Safari", "Android 16")


@dataclass
class Load:
    """Makes the records that are due."""

    seed: int = 1
    produced: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))
    _due_bytes: dict[TopicPartition, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def records(self, capacities: float, passed_s: float) -> Iterator[tuple[TopicPartition, bytes]]:
        """Records of the last `passed_s` seconds, at a load of `capacities` consumers."""
        share_bytes = capacities * CAPACITY_BYTES_PER_S * passed_s / (sum(WEIGHTS) * len(TOPICS))
        for topic in TOPICS:
            for number, weight in enumerate(WEIGHTS):
                partition = TopicPartition(topic, number)
                due_bytes = self._due_bytes.get(partition, 0.0) + share_bytes * weight
                while due_bytes > 0:
                    record = self._record(topic)
                    due_bytes -= len(record) + LOG_OVERHEAD_BYTES
                    yield partition, record
                self._due_bytes[partition] = due_bytes

    def _record(self, topic: str) -> bytes:
        number = self.produced[topic]
        self.produced[topic] += 1
        choose = self._random.choice
        record: dict[str, object] = {"id": f"{topic}-{number}", "customer": f" customer {self._random.randrange(500)} "}
        if topic == "orders":
            record |= {
                "country": choose(COUNTRIES),
                "status": "placed",
                "amount": round(self._random.expovariate(1 / 80), 2),
                "currency": choose(CURRENCIES),
            }
        else:
            record |= {"page": choose(PAGES), "agent": choose(AGENTS)}
        return json.dumps(record).encode()
