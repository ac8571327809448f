"""The JSON form of partitions, grouped by topic: {"orders": [0, 1]} and {"orders": {"0": 81240}}."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from restow.errors import InvalidInput
from restow.model import Assignment, ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.protocol.checks import TOPIC
from restow.protocol.forms import (
    CANONICAL_NUMBER,
    GREATEST_PARTITION,
    SPEED,
    Form,
    Mismatch,
    key_shown,
    mismatch,
    read_consumer_key,
)

TOPIC_WORDS: Final = "a topic's name: letters, digits, dots, dashes, underscores"
PARTITION_NUMBER: Final = "a partition's number, 0 or more"


def _read_partition(plain: object) -> TopicPartition:
    try:
        if type(plain) is str:
            partition = TopicPartition.parse(plain)
            if TOPIC.fullmatch(partition.topic) and partition.partition <= GREATEST_PARTITION:
                return partition
    except InvalidInput:
        pass
    raise mismatch(plain, PARTITION.words)


def _topics_of(plain: object, expected: str) -> Iterator[tuple[str, Any]]:
    if type(plain) is not dict:
        raise mismatch(plain, expected)
    for topic, inner in plain.items():
        if not TOPIC.fullmatch(topic):
            raise Mismatch(f"is no topic; it must be {TOPIC_WORDS}", key_shown(topic))
        yield topic, inner


def _write_partitions(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return by_topic


def _read_partitions(plain: object) -> tuple[TopicPartition, ...]:
    found: list[TopicPartition] = []
    for topic, numbers in _topics_of(plain, PARTITIONS.words):
        if type(numbers) is not list:
            raise Mismatch(mismatch(numbers, "an array of numbers, like [0, 1]").message, topic)
        for index, number in enumerate(numbers):
            if type(number) is not int or not 0 <= number <= GREATEST_PARTITION:
                raise Mismatch(mismatch(number, PARTITION_NUMBER).message, f"{topic}[{index}]")
            found.append(TopicPartition(topic, number))
        if len(set(numbers)) < len(numbers):
            raise Mismatch("has a partition twice; each must be there once", topic)
    return tuple(sorted(found))


def by_partition(inner: Form) -> Form:
    """A mapping whose keys are partitions."""
    words = f"an object: {inner.words} for each partition"
    read_inner, write_inner = inner.read, inner.write

    def write(values: Mapping[TopicPartition, Any]) -> dict[str, dict[str, Any]]:
        by_topic: dict[str, dict[str, Any]] = {}
        for partition in sorted(values):
            topic, number = partition
            by_topic.setdefault(topic, {})[str(number)] = write_inner(values[partition])
        return by_topic

    def read(plain: object) -> SortedMapping[TopicPartition, Any]:
        found: dict[TopicPartition, Any] = {}
        for topic, numbers in _topics_of(plain, f"{words}, like {{topic: {{number: …}}}}"):
            if type(numbers) is not dict:
                raise Mismatch(mismatch(numbers, words).message, topic)
            for number, value in numbers.items():
                if not CANONICAL_NUMBER.fullmatch(number) or int(number) > GREATEST_PARTITION:
                    raise Mismatch(f"is no partition; it must be {PARTITION_NUMBER}", topic, key_shown(number))
                try:
                    found[TopicPartition(topic, int(number))] = read_inner(value)
                except Mismatch as inside:
                    inside.place[:0] = (topic, number)
                    raise
        return SortedMapping(found)

    return Form(write, read, words)


def _read_assignment(plain: object) -> Assignment:
    if type(plain) is not dict:
        raise mismatch(plain, ASSIGNMENT.words)
    held: dict[ConsumerId, tuple[TopicPartition, ...]] = {}
    for consumer, partitions in plain.items():
        try:
            held[read_consumer_key(consumer)] = _read_partitions(partitions)
        except Mismatch as inside:
            inside.place.insert(0, key_shown(consumer))
            raise
    try:
        return Assignment.of_consumers(held)
    except InvalidInput as error:
        raise Mismatch(f"can't be: {error}") from None


def _write_assignment(assignment: Assignment) -> dict[str, dict[str, list[int]]]:
    return {str(consumer): _write_partitions(held) for consumer, held in assignment.by_consumer.items()}


PARTITION: Final = Form(str, _read_partition, "a partition, like orders-7")
PARTITIONS: Final = Form(_write_partitions, _read_partitions, 'partitions by topic, like {"orders": [0, 1]}')
_SPEEDS = by_partition(SPEED)
SPEEDS: Final = Form(_SPEEDS.write, lambda plain: Speeds(_SPEEDS.read(plain)), _SPEEDS.words)
ASSIGNMENT: Final = Form(_write_assignment, _read_assignment, "an object: partitions by topic for each consumer")
