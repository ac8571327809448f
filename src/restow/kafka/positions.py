"""Where a partition begins that no table knows and nobody gave an offset for: at the group's committed offset, else at
the topic's start setting. The light pipeline asks when it opens partitions.
"""

import time
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from restow.errors import RestowError
from restow.kafka.errors import cause, explained
from restow.model import TopicPartition
from restow.settings import Kafka

ANSWER_WITHIN_S: Final = 10.0
PAUSE_S: Final = 0.1
COORDINATOR_MOVES: Final = frozenset(
    [
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    ]
)


class Positions:
    def __init__(self, kafka: Kafka, client: Consumer) -> None:
        self._kafka, self._client = kafka, client

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Of those that the group has read."""
        wanted = [Place(*partition) for partition in sorted(partitions)]
        if not wanted:
            return {}
        answers = self._committed(wanted)
        return {TopicPartition(place.topic, place.partition): place.offset for place in answers if place.offset >= 0}

    def start(self, partition: TopicPartition, start: str) -> int:
        """`start` as in TopicService: earliest, latest, or a time. A time after the last record is its end."""
        doing, right = f"find where {partition} begins", f"Read on the topic {partition.topic}"
        try:
            first, end = self._client.get_watermark_offsets(Place(*partition), timeout=ANSWER_WITHIN_S)
            if start in ("earliest", "latest"):
                return int(first if start == "earliest" else end)
            at_ms = round(datetime.fromisoformat(start).timestamp() * 1000)
            [place] = self._client.offsets_for_times([Place(*partition, at_ms)], timeout=ANSWER_WITHIN_S)
        except KafkaException as exception:
            raise self._explained(cause(exception), doing, right) from None
        if place.error is not None:
            raise self._explained(place.error, doing, right)
        return int(place.offset if place.offset >= 0 else end)

    def _committed(self, wanted: list[Place]) -> list[Place]:
        """The group's broker may just be changing, or reading what the one before it knew."""
        deadline_s = time.monotonic() + ANSWER_WITHIN_S
        while True:
            try:
                return self._client.committed(wanted, timeout=max(1.0, deadline_s - time.monotonic()))
            except KafkaException as exception:
                error = cause(exception)
                if error.code() not in COORDINATOR_MOVES or time.monotonic() > deadline_s:
                    raise self._explained(error, "read the group's offsets", "Read on the group") from None
            time.sleep(PAUSE_S)

    def _explained(self, error: KafkaError, doing: str, right: str) -> RestowError:
        return explained(error, doing, right, self._kafka.bootstrap)
