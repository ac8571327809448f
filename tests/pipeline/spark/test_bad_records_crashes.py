"""Bad records and real Spark consumers that crash: a consumer whose JVM a record kills, and a consumer that was
replaced by a process with newer code while it was rejecting a record. Each record ends in exactly one of the two
tables."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.spark.crashes import GRACE_S, SPARK, TRANSFORMS, SparkGroup, send
from tests.support.spark.crashing import LETTERS_WRITTEN
from tests.support.spark.project import rows_of

from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.protocol.messages.consumer_events import ConsumingRefused, StartConsumingEvent
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka

pytestmark = [pytest.mark.spark, pytest.mark.slow]

Eventually = Callable[..., None]
KILLER = "2000000000"
"""So long a text is not in the heap of a small consumer."""
LONG_TEXTS = "select length(repeat('x', cast(cast(value as string) as int))) as size from records"
"""A row's value is so long as its record says."""
FOUND_AFTER = 3
"""Crashes: two on the range that the cycle read, and one on the record alone, since a sixteenth of so few is one."""


@pytest.fixture
def group(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[SparkGroup]:
    group = SparkGroup(kafka, admin, prefix, tmp_path, lambda condition: eventually(condition, within_s=120.0))
    group.configure(f"grace_s = {GRACE_S}\nresume_after_s = 1\n{SPARK}", pipeline="spark")
    yield group
    group.close()


def write(group: SparkGroup, *values: str) -> None:
    """To partition 0, in this order."""
    producer = make_producer(group.kafka, {"acks": "all", "enable.idempotence": True})
    for value in values:
        producer.produce(group.data, value.encode(), partition=0)
    assert producer.flush(30) == 0


def rows(table: Path, columns: str) -> list[tuple[object, ...]]:
    """Sorted; none if there is no table."""
    return sorted(rows_of(table, columns)) if (table / "_delta_log").exists() else []


def test_a_record_that_kills_the_jvm_is_found_after_crashes_and_all_others_are_stored(group: SparkGroup) -> None:
    write(group, "1", "2", KILLER, "3", "4")
    letters = group.directory / "lake_rejected"
    process, _ = group.ready(1)
    group.start_all(1, group.partition(0), service=TopicService(table=str(group.lake), sql=LONG_TEXTS))
    for _ in range(FOUND_AFTER):
        assert group.has_ended(process, 1) == 1, group.log(1)[-3000:]
        assert rows(letters, '"offset"') == []
        process, _ = group.ready(1)
    group.eventually(lambda: len(rows(group.lake, "_offset")) == 4)
    assert rows(group.lake, "_offset, size") == [(0, 1), (1, 2), (3, 3), (4, 4)]
    [(offset, value, error)] = rows(letters, '"offset", decode(value), error')
    assert (offset, value) == (2, KILLER)
    assert error == f"the process ended {FOUND_AFTER} times while storing it, the last time with no other record"
    group.hears(ConsumerReport, 1, after=len(group.messages), of=lambda each: 5 in each.next_offsets.values())
    assert process.poll() is None


def test_a_process_with_older_code_rejects_nothing_after_its_successor_stored_the_record(group: SparkGroup) -> None:
    """It is suspended when it has claimed the partition and written the dead letter, and not committed it."""
    code, letters, partition = group.directory / "slowly.py", group.directory / "lake_rejected", group.partition(0)
    service = TopicService(table=str(group.lake), transform="slowly:never_seven")
    write(group, "6", "7", "8")
    group.arm(1, LETTERS_WRITTEN, signal.SIGSTOP)
    zombie, _ = group.ready(1)
    group.start_all(1, partition, service=service)
    group.eventually(lambda: group.is_stopped(zombie))
    assert (rows(group.lake, "_offset"), rows(letters, '"offset"')) == ([], [])

    code.write_text(TRANSFORMS.read_text().replace('if text == "7":', 'if text == "none":'))
    group.ready(2)
    taken = group.answer_to(StartConsumingEvent, 2, group.start_all(2, partition, service=service))
    assert dict(taken.partitions) == {partition: 0}
    group.eventually(lambda: len(rows(group.lake, "_offset")) == 3)
    assert rows(group.lake, "_offset, number") == [(0, 6), (1, 7), (2, 8)]

    send(zombie, signal.SIGCONT)
    refused = group.hears(ConsumingRefused, 1)
    assert (refused.partitions, refused.kind) == ((partition,), "replaced")
    write(group, "9")
    group.eventually(lambda: len(rows(group.lake, "_offset")) == 4)
    assert rows(group.lake, "_offset, number") == [(0, 6), (1, 7), (2, 8), (3, 9)]
    assert rows(letters, '"offset"') == [], "each record is in one of the two tables"
    assert zombie.poll() is None
