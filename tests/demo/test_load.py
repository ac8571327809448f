"""The demonstration's load: little, much, and little again, unevenly, with an id for each record."""

import json
from collections import Counter

import pytest

from restow.demo.load import (
    BUSY,
    BUSY_FROM,
    BUSY_UNTIL,
    CAPACITY_BYTES_PER_S,
    PRODUCE_UNTIL,
    QUIET,
    RECORD_BYTES,
    TOPICS,
    WEIGHTS,
    Load,
    load_at,
)
from restow.model import TopicPartition


@pytest.mark.parametrize(
    ("share", "load"),
    [
        (0.0, QUIET),
        (BUSY_FROM, BUSY),
        (BUSY_UNTIL - 0.01, BUSY),
        (BUSY_UNTIL, QUIET),
        (PRODUCE_UNTIL, 0.0),
        (2.0, 0.0),
    ],
)
def test_the_group_needs_one_then_three_then_one(share: float, load: float) -> None:
    assert load_at(share) == load


def test_partitions_get_their_shares_whatever_the_steps() -> None:
    load = Load()
    records = [record for _ in range(600) for record in load.records(0.0, 0.1)]
    expected = QUIET * CAPACITY_BYTES_PER_S * 60 / RECORD_BYTES
    assert len(records) == pytest.approx(expected, abs=len(TOPICS) * len(WEIGHTS))
    counts = Counter(partition for partition, _ in records)
    total = sum(WEIGHTS) * len(TOPICS)
    for topic in TOPICS:
        for number, weight in enumerate(WEIGHTS):
            assert counts[TopicPartition(topic, number)] == pytest.approx(expected * weight / total, abs=1)


def test_every_record_has_an_id_of_its_own() -> None:
    load = Load()
    for topic in TOPICS:
        found = [json.loads(record)["id"] for partition, record in load.records(0.3, 5.0) if partition.topic == topic]
        assert len(set(found)) == len(found) > 100
    assert sum(load.produced.values()) == len(TOPICS) * load.produced["orders"]


def test_records_are_about_as_large_as_is_reckoned_with() -> None:
    sizes = [len(record) for _, record in Load().records(0.3, 10.0)]
    overhead_bytes = 70
    """Of a record in Kafka's log: its offset, time and lengths, and its part of a small batch's head."""
    assert sum(sizes) / len(sizes) + overhead_bytes == pytest.approx(RECORD_BYTES, rel=0.25)
