"""Offsets of a real cluster, through clients that live as long as a consumer does."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.errors import NoSuchTopic
from restow.kafka.offsets import GroupOffsets, LogOffsets
from restow.kafka.topics import wait_until_shown
from restow.model import TopicPartition
from restow.settings import Kafka

WITHIN_S = 5.0
"""How soon a partition that was added must be found. librdkafka's cached metadata live for 15 minutes."""


@pytest.fixture
def group(kafka: Kafka, prefix: str) -> Iterator[GroupOffsets]:
    with closing(GroupOffsets(kafka, prefix)) as client:
        yield client


@pytest.mark.parametrize("start", ["earliest", "latest", "2026-01-01T00:00:00+00:00"])
def test_a_partition_added_after_a_lookup_is_found_at_once(
    kafka: Kafka, admin: Admin, prefix: str, group: GroupOffsets, start: str
) -> None:
    first, added = TopicPartition(prefix, 0), TopicPartition(prefix, 1)
    admin.create_topic(prefix, 1)
    wait_until_shown(admin, {prefix: 1})
    assert group.start(first, start) == 0  # from here on the client knows a topic with one partition
    admin.grow_topic(prefix, 2)
    wait_until_shown(admin, {prefix: 2})
    producer = make_producer(kafka)
    producer.produce(prefix, b"x", partition=1)
    assert producer.flush(30) == 0
    began_s = time.monotonic()
    assert group.start(added, start) == (1 if start == "latest" else 0)
    assert time.monotonic() - began_s < WITHIN_S


def test_a_topic_made_after_a_lookup_is_found_at_once(admin: Admin, prefix: str, group: GroupOffsets) -> None:
    with pytest.raises(NoSuchTopic, match=f"^can't find the start offset of {prefix}-0: there is no such topic$"):
        group.start(TopicPartition(prefix, 0), "earliest")
    assert prefix not in admin.cluster().leaders, "a lookup doesn't make a topic"
    admin.create_topic(prefix, 1)
    wait_until_shown(admin, {prefix: 1})
    began_s = time.monotonic()
    assert group.start(TopicPartition(prefix, 0), "earliest") == 0
    assert time.monotonic() - began_s < WITHIN_S


def test_a_partition_that_does_not_exist_is_refused(admin: Admin, prefix: str, group: GroupOffsets) -> None:
    admin.create_topic(prefix, 1)
    wait_until_shown(admin, {prefix: 1})
    assert group.start(TopicPartition(prefix, 0), "earliest") == 0
    with pytest.raises(NoSuchTopic, match=f"^can't find the start offset of {prefix}-7: there is no such partition$"):
        group.start(TopicPartition(prefix, 7), "earliest")


def test_the_ends_of_added_partitions_are_found_within_seconds(
    kafka: Kafka, admin: Admin, prefix: str, eventually: Callable[..., None]
) -> None:
    first, added = TopicPartition(prefix, 0), TopicPartition(prefix, 1)
    admin.create_topic(prefix, 1)
    wait_until_shown(admin, {prefix: 1})
    ends = LogOffsets(kafka)
    assert ends.last_stable([first]) == ({first: 0}, None)
    admin.grow_topic(prefix, 2)
    wait_until_shown(admin, {prefix: 2})
    eventually(lambda: ends.last_stable([first, added])[0] == {first: 0, added: 0}, WITHIN_S)


def test_partitions_are_those_of_topics_that_exist_and_looking_makes_none(
    kafka: Kafka, admin: Admin, prefix: str
) -> None:
    admin.create_topic(prefix, 2)
    wait_until_shown(admin, {prefix: 2})
    missing = f"{prefix}-missing"
    assert LogOffsets(kafka).partitions([prefix, missing]) == [TopicPartition(prefix, 0), TopicPartition(prefix, 1)]
    assert missing not in admin.cluster().leaders
