"""A Spark consumer with several tables of one topic, one of them on a disk that fills up, killed between the commits.

Each table has every record once. While a table can't be written the others go on, commands are served, the position
stays, and the reason is reported; when there is room again, the table gets what it lacks.
"""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from tests.support.delta.lake import brought
from tests.support.small_disk import SmallDisk
from tests.support.spark.crashes import SparkGroup
from tests.support.spark.crashing import TABLE_COMMITTED

from restow.kafka.admin import Admin
from restow.model import SortedMapping, TopicPartition
from restow.protocol.messages.consumer_events import StartConsumingEvent
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka

pytestmark = pytest.mark.spark

Eventually = Callable[..., None]


@pytest.fixture
def group(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[SparkGroup]:
    group = SparkGroup(kafka, admin, prefix, tmp_path, lambda condition: eventually(condition, within_s=120.0))
    yield group
    group.close()


def test_each_of_several_tables_has_every_record_once_through_kills_and_a_full_disk(
    group: SparkGroup, disk: SmallDisk
) -> None:
    first, second = group.directory / "first", disk.path / "second"
    service = TopicService(transform="slowly:both", options=SortedMapping({"first": str(first), "second": str(second)}))
    orders, more = tuple(map(group.partition, range(3))), TopicPartition(group.more, 0)

    def stored(table: Path) -> dict[TopicPartition, list[int]]:
        """Without delta-rs, whose threads began before the small disk was mounted, and don't see it."""
        files, found = list(map(str, brought(table))), dict[TopicPartition, list[int]]()
        with duckdb.connect() as engine:
            query = "SELECT _topic, _partition, _offset FROM read_parquet($files) ORDER BY ALL"
            rows = engine.execute(query, {"files": files}).fetchall() if files else []
        for topic, partition, offset in rows:
            found.setdefault(TopicPartition(topic, partition), []).append(offset)
        return found

    def produced() -> dict[TopicPartition, list[int]]:
        return {partition: list(range(len(group.produced[partition]))) for partition in orders}

    group.produce(5, *orders)
    process, _ = group.ready(1)
    group.arm(1, TABLE_COMMITTED)
    group.start_all(1, *orders, service=service)
    assert group.has_ended(process, 1) == -signal.SIGKILL, "between the commits, or after the second one"
    process, _ = group.ready(1)
    group.eventually(lambda: stored(first) == stored(second) == produced())

    disk.fill()
    before = produced()
    group.produce(5, *orders)
    group.eventually(lambda: stored(first) == produced())
    assert stored(second) == before
    group.produce(5, more)
    group.answer_to(StartConsumingEvent, 1, group.start_all(1, more))
    group.eventually(lambda: len(group.rows().get(more, [])) == 5)
    report = group.hears(ConsumerReport, 1, after=len(group.messages), of=lambda each: each.failures)
    assert [("No space left" in failure.reason, failure.topic) for failure in report.failures] == [(True, group.data)]
    assert {report.next_offsets[partition] for partition in orders} == {5}, "that of the table which has less"

    group.arm(1, TABLE_COMMITTED)
    group.produce(5, *orders)
    assert group.has_ended(process, 1) == -signal.SIGKILL
    group.ready(1)
    group.eventually(lambda: stored(first) == produced())
    assert stored(second) == before
    disk.free()
    group.eventually(lambda: stored(second) == produced())
    group.hears(ConsumerReport, 1, after=len(group.messages), of=lambda each: not each.failures)
    assert stored(first) == produced()
