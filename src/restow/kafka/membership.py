"""A member of a consumer group as Kafka's protocols have it: subscribed, assigned by the group, commits its offsets.

restow's own consumers are no such members. `restow bench handover` measures the protocols beside restow's.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException

from restow.kafka.clients import make_consumer
from restow.settings import Kafka

SESSION_S: Final = 6.0
"""A member that gives no sign of life for so long is taken for dead. Kafka's default is 45 s."""
HEARTBEAT_S: Final = 2.0
COMMIT_EVERY_S: Final = 1.0
AT_ONCE: Final = 500
CLASSIC: Final = {
    "session.timeout.ms": round(SESSION_S * 1000),
    "heartbeat.interval.ms": round(HEARTBEAT_S * 1000),
}
PROTOCOLS: Final[dict[str, dict[str, Any]]] = {
    "range": {**CLASSIC, "partition.assignment.strategy": "range"},
    "cooperative": {**CLASSIC, "partition.assignment.strategy": "cooperative-sticky"},
    "static": {**CLASSIC, "partition.assignment.strategy": "range"},
    "kip-848": {"group.protocol": "consumer"},
}
BROKER: Final = {
    "group.consumer.session.timeout.ms": str(CLASSIC["session.timeout.ms"]),
    "group.consumer.min.session.timeout.ms": str(CLASSIC["session.timeout.ms"]),
    "group.consumer.heartbeat.interval.ms": str(CLASSIC["heartbeat.interval.ms"]),
    "group.consumer.min.heartbeat.interval.ms": str(CLASSIC["heartbeat.interval.ms"]),
}
"""The same times for the consumer protocol of KIP-848, which has them from the brokers."""

Processed = Callable[[int, int, int], None]
"""Called with the partition, the first offset and the one after the last."""


class GroupMember:
    def __init__(self, kafka: Kafka, group: str, topic: str, protocol: str, instance: str | None) -> None:
        """`instance` makes it a static member."""
        own = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest", **PROTOCOLS[protocol]}
        self._client: Consumer = make_consumer(kafka, own | ({"group.instance.id": instance} if instance else {}))
        self._client.subscribe([topic], on_revoke=lambda *_: self._commit())
        self._committed_s = time.monotonic()

    def run(self, processed: Processed, should_end: Callable[[], bool]) -> None:
        """Processes records as they come, and commits every second, when partitions are revoked and at its end."""
        while not should_end():
            first = self._client.poll(0.1)
            messages = [first, *self._client.consume(AT_ONCE, 0)] if first is not None else []
            spans: dict[int, tuple[int, int]] = {}
            for message in messages:
                if message.error() is None:
                    partition, offset = message.partition() or 0, message.offset() or 0
                    spans[partition] = (spans.get(partition, (offset, 0))[0], offset + 1)
            for partition, (begin, end) in spans.items():
                processed(partition, begin, end)
            if time.monotonic() >= self._committed_s + COMMIT_EVERY_S:
                self._commit()
        self._commit()
        self._client.close()

    def _commit(self) -> None:
        self._committed_s = time.monotonic()
        try:
            self._client.commit(asynchronous=False)
        except KafkaException as exception:
            error = exception.args[0]
            if error.code() not in HARMLESS:
                raise


HARMLESS: Final = frozenset(
    [
        KafkaError._NO_OFFSET,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.STALE_MEMBER_EPOCH,
    ]
)
"""There is nothing to commit, or the group has moved on without this member: its records are read again."""
