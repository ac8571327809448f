"""What the demonstration produces: two topics, some partitions much faster than others, little, much, and little again.

Every record has an id of its own, counted by topic, so that the audit can tell what is lost or doubled.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from restow.model import TopicPartition

TOPICS = ("orders", "clicks")
PARTITIONS = 4
WEIGHTS = (5, 3, 2, 1)
"""Of a topic's partitions: the first has five times as much as the last."""
CAPACITY_BYTES_PER_S = 40_000.0
QUIET, BUSY = 0.5, 2.2
"""Loads, in capacities of a consumer: for one of them, and for three."""
BUSY_FROM, BUSY_UNTIL, PRODUCE_UNTIL = 0.2, 0.65, 0.9
"""Shares of the run. The rest is for what is still to be stored."""
RECORD_BYTES = 210
"""About, in Kafka's log."""
COUNTRIES, CURRENCIES = ("de", "se", " gb", "us "), ("EUR", "SEK", "GBP", "USD")
PAGES, AGENTS = ("/shoes/42", "/hats", "/", "/sale/today"), ("Mozilla/5.0 (X11; Linux)", "Mobile Safari", "Android 16")


def load_at(share: float) -> float:
    """In capacities, at this share of the run."""
    if share >= PRODUCE_UNTIL:
        return 0.0
    return BUSY if BUSY_FROM <= share < BUSY_UNTIL else QUIET


@dataclass
class Load:
    """What is due so far and was not produced yet."""

    seed: int = 1
    produced: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))
    _due: dict[TopicPartition, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def records(self, share: float, passed_s: float) -> Iterator[tuple[TopicPartition, bytes]]:
        """Those of the last `passed_s` seconds."""
        records = load_at(share) * CAPACITY_BYTES_PER_S * passed_s / RECORD_BYTES
        total = sum(WEIGHTS) * len(TOPICS)
        for topic in TOPICS:
            for number, weight in enumerate(WEIGHTS):
                partition = TopicPartition(topic, number)
                self._due[partition] = self._due.get(partition, 0.0) + records * weight / total
                while self._due[partition] >= 1:
                    self._due[partition] -= 1
                    yield partition, self._record(topic)

    def _record(self, topic: str) -> bytes:
        number = self.produced[topic]
        self.produced[topic] += 1
        choose = self._random.choice
        record: dict[str, object] = {"id": f"{topic}-{number}", "customer": f" customer {self._random.randrange(500)} "}
        if topic == "orders":
            amount = round(self._random.expovariate(1 / 80), 2)
            record |= {
                "country": choose(COUNTRIES),
                "status": "placed",
                "amount": amount,
                "currency": choose(CURRENCIES),
            }
        else:
            record |= {"page": choose(PAGES), "agent": choose(AGENTS)}
        return json.dumps(record).encode()
