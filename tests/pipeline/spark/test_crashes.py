"""A Spark consumer killed at each point of a cycle: the next process, with its volume or without, continues at the
table's positions, and half-done work is gone."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.spark.crashes import SparkGroup, saved_state
from tests.support.spark.crashing import (
    ANSWER_NOT_SENT,
    FILES_WRITTEN,
    OFFSETS_COMMITTED,
    PLAN_SAVED,
    TABLE_COMMITTED,
)

from restow.kafka.admin import Admin
from restow.protocol.messages.consumer_events import StartConsumingEvent
from restow.settings import Kafka

pytestmark = pytest.mark.spark

Eventually = Callable[..., None]


@pytest.fixture
def group(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[SparkGroup]:
    group = SparkGroup(kafka, admin, prefix, tmp_path, lambda condition: eventually(condition, within_s=120.0))
    yield group
    group.close()


def test_a_consumer_killed_at_any_point_loses_and_doubles_nothing(group: SparkGroup) -> None:
    first, *_ = group.partitions
    group.arm(1, PLAN_SAVED)
    group.produce(10)
    process, _ = group.ready(1)
    group.start_all(1, *group.partitions)
    assert group.has_ended(process, 1) == -signal.SIGKILL
    assert (group.is_planned(1), group.left_behind(), group.count()) == (True, set(), 0)

    group.arm(1, FILES_WRITTEN)
    group.produce(5)
    process, _ = group.ready(1)
    assert group.as_ready(1) == (False, group.partitions), "it resumes what its volume has"
    assert group.has_ended(process, 1) == -signal.SIGKILL
    assert (group.is_planned(1), len(group.left_behind()), group.count()) == (True, 1, 0)

    group.arm(1, TABLE_COMMITTED)
    process, _ = group.ready(1)
    assert group.left_behind() == set(), "half-done work is removed before it is ready"
    assert group.has_ended(process, 1) == -signal.SIGKILL
    assert (group.is_planned(1), group.left_behind()) == (True, set())
    stored = group.next_offsets()
    assert group.count() == sum(stored.values()) > 0
    assert set(group.committed().values()) == {0}, "Kafka doesn't know of it yet"

    group.arm(1, OFFSETS_COMMITTED)
    group.produce(5)
    process, _ = group.ready(1)
    assert group.has_ended(process, 1) == -signal.SIGKILL
    known = {partition: offset for partition, offset in group.committed().items() if offset}
    assert (group.is_planned(1), known) == (True, group.next_offsets()), "after two crashes it reads small pieces"
    assert group.count() > sum(stored.values())

    process, _ = group.ready(1)
    interrupted = [line for line in group.log(1).splitlines() if "interrupted cycle" in line]
    assert [line.rpartition(" for the table ")[2] for line in interrupted] == [
        *[f"{group.lake} was not stored, and its files are removed"] * 2,
        *[f"{group.lake} was stored"] * 2,
    ]
    group.produce(5)
    group.eventually(group.all_are_stored)
    group.arm(1, ANSWER_NOT_SENT)
    group.produce(1)
    group.stops(1, first.partition)
    assert group.has_ended(process, 1) == -signal.SIGKILL
    assert saved_state(group, 1)["positions"][group.data].keys() == {"1", "2"}, (
        "it has stopped, and the controller doesn't know"
    )

    group.lose_volume(1)
    group.ready(1)
    assert group.as_ready(1) == (True, ())
    group.produce(5)
    group.answer_to(StartConsumingEvent, 1, group.start_all(1, *group.partitions))
    group.produce(5)
    group.audit()
    assert group.left_behind() == set()
