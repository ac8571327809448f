"""From where to where partitions can be read now: many of them in one request to each broker. The Spark pipeline looks
before every cycle, so that one with nothing to read costs no more than this.
"""

import time
from collections.abc import Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import Any, Final

from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import OffsetSpec

from restow.errors import RestowError
from restow.kafka.clients import make_admin_client
from restow.kafka.errors import NoAnswer, cause, explained
from restow.model import TopicPartition
from restow.settings import Kafka

ANSWER_WITHIN_S: Final = 5.0
NEW_CLIENT_EVERY_S: Final = 1.0
"""While there is trouble."""

Answers = tuple[dict[TopicPartition, int], RestowError | None]
"""The offsets that the brokers told, and what is wrong with the first of those that they did not."""


class Extents:
    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._client = make_admin_client(kafka)
        self._made_s = time.monotonic()

    def ends(self, partitions: Iterable[TopicPartition]) -> Answers:
        """Last stable offsets: what is before one is either committed or never will be."""
        return self._ask(partitions, OffsetSpec.latest())

    def firsts(self, partitions: Iterable[TopicPartition]) -> Answers:
        """The oldest offsets that are still there."""
        return self._ask(partitions, OffsetSpec.earliest())

    def _ask(self, partitions: Iterable[TopicPartition], spec: OffsetSpec) -> Answers:
        places = [Place(*partition) for partition in sorted(partitions)]
        if not places:
            return {}, None
        answers = self._client.list_offsets(
            dict.fromkeys(places, spec), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ANSWER_WITHIN_S
        )
        found: dict[TopicPartition, int] = {}
        trouble: RestowError | None = None
        for place, answer in answers.items():
            partition = TopicPartition(place.topic, place.partition)
            offset = self._offset(partition, answer)
            if isinstance(offset, int):
                found[partition] = offset
            else:
                trouble = trouble or offset
        if trouble:
            self._renew()
        return found, trouble

    def _renew(self) -> None:
        """A client that has met a partition without its leader, or with another one, asks by what it knew before and is
        refused, until it looks at the cluster by itself: after a quarter of an hour. A new one looks at once."""
        if time.monotonic() >= self._made_s + NEW_CLIENT_EVERY_S:
            self._client = make_admin_client(self._kafka)
            self._made_s = time.monotonic()

    def _offset(self, partition: TopicPartition, answer: "Future[Any]") -> int | RestowError:
        doing, right = f"find where {partition} ends", f"Describe on the topic {partition.topic}"
        try:
            return int(answer.result(ANSWER_WITHIN_S + 1.0).offset)
        except KafkaException as exception:
            return explained(cause(exception), doing, right, self._kafka.bootstrap)
        except NotInTime:
            return NoAnswer(f"can't {doing}: {self._kafka.bootstrap} doesn't answer")
