"""The demonstration's load: the bytes asked for, unevenly spread, with an id for each record."""

import json
from collections import Counter

import pytest

from restow.demo.load import CAPACITY_BYTES_PER_S, LOG_OVERHEAD_BYTES, TOPICS, WEIGHTS, Load
from restow.model import TopicPartition


@pytest.mark.parametrize("capacities", [0.5, 2.1])
def test_partitions_get_their_shares_of_the_bytes_whatever_the_steps(capacities: float) -> None:
    load = Load()
    found = Counter[TopicPartition]()
    for step in range(600):
        for partition, record in load.records(capacities, 0.05 if step % 2 else 0.15):
            found[partition] += len(record) + LOG_OVERHEAD_BYTES
    total = sum(WEIGHTS) * len(TOPICS)
    for topic in TOPICS:
        for number, weight in enumerate(WEIGHTS):
            expected = capacities * CAPACITY_BYTES_PER_S * 60 * weight / total
            assert found[TopicPartition(topic, number)] == pytest.approx(expected, abs=200)  # a record


def test_no_load_is_no_record() -> None:
    assert list(Load().records(0.0, 60.0)) == []


def test_every_record_has_an_id_of_its_own_counted_by_topic() -> None:
    load = Load()
    found: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    for capacities in (0.5, 2.1):
        for partition, record in load.records(capacities, 5.0):
            found[partition.topic].append(json.loads(record)["id"])
    assert found == {topic: [f"{topic}-{number}" for number in range(load.produced[topic])] for topic in TOPICS}
    assert all(count > 100 for count in load.produced.values())


def test_the_same_seed_makes_the_same_records() -> None:
    assert list(Load(seed=5).records(1.0, 5.0)) == list(Load(seed=5).records(1.0, 5.0))
