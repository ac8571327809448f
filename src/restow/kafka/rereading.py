"""Reads whole topics as fast as one client can, and again from the beginning at their end: a load that never runs dry.

The bare client and the plain loop of `restow bench consumer` read with it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from restow.kafka.clients import make_reader
from restow.settings import Kafka

QUEUES: Final = {"queued.min.messages": 1_000_000, "queued.max.messages.kbytes": 262_144}
"""Larger than librdkafka's defaults, with which small records arrive more slowly than one core can take them."""


Record = Message


class Rereader:
    def __init__(self, kafka: Kafka, group: str, partitions: Mapping[str, int]) -> None:
        self._client: Consumer = make_reader(kafka, group, {"enable.partition.eof": True, **QUEUES})
        self._client.assign(
            [
                KafkaTopicPartition(topic, number, OFFSET_BEGINNING)
                for topic, count in partitions.items()
                for number in range(count)
            ]
        )

    def take(self, most: int, within_s: float) -> list[Record]:
        """Records of all partitions, as they arrive. Raises KafkaException."""
        found = self._client.consume(most, within_s)
        records = [message for message in found if message.error() is None]
        if len(records) < len(found):
            self._read_again(message for message in found if message.error() is not None)
        return records

    def commit(self) -> None:
        """Commits the group's offsets, after what was taken is stored. Raises KafkaException."""
        try:
            self._client.commit(asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._NO_OFFSET:  # nothing was taken since the last commit
                raise

    def close(self) -> None:
        self._client.close()

    def _read_again(self, ends: Iterable[Message]) -> None:
        for message in ends:
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                topic, number = message.topic() or "", message.partition() or 0
                self._client.seek(KafkaTopicPartition(topic, number, OFFSET_BEGINNING))
            elif error is not None and not error.retriable():
                raise KafkaException(error)
