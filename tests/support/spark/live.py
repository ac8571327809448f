"""Topics, tables and pipelines with a real broker and a real Spark, in the process of the tests."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.support.spark.project import rows_of

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import AssignmentChanged, CycleEnded
from restow.consumer.pipeline import Plans, ShouldEnd
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.delta.rejects import RejectTable
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import Writer
from restow.pipeline.pipeline import SparkPipeline
from restow.pipeline.spark.engine import Engine
from restow.pipeline.spark.session import Resources
from restow.pipeline.spark.writing import write_files
from restow.protocol.field_types import Offsets, StartFrom
from restow.protocol.topic_service import TopicService
from restow.settings import ClientProperties, Consumer, Group, Kafka, Settings, Spark

QUICK = Spark(properties=ClientProperties({"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}))
"""C1 only: starts sooner, which suits a few small cycles."""
CYCLE = Consumer(cycle_s=0.3, cycle_bytes=1_000_000, grace_s=4.0)


class Borrowed(Engine):
    """Leaves the session running, which is the module's."""

    def close(self) -> None:
        self._worker.close()


@dataclass
class Lake:
    """A test's own topics, tables and pipelines."""

    kafka: Kafka
    admin: Admin
    prefix: str
    directory: Path
    caplog: pytest.LogCaptureFixture
    pipelines: list[SparkPipeline] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Idempotent, so that a resent batch keeps its place.
        self._producer = make_producer(self.kafka, {"enable.idempotence": True})

    @property
    def logged(self) -> list[str]:
        """Without the lines on waits, which depend on how busy the machine is."""
        ours = (record for record in self.caplog.records if record.name.startswith("restow."))
        return [record.getMessage() for record in ours if record.name != "restow.waiting"]

    def topic(self, name: str, partitions: int) -> str:
        topic = f"{self.prefix}-{name}"
        self.admin.create_topic(topic, partitions)
        wait_until_shown(self.admin, {topic: partitions})
        return topic

    def table(self, name: str = "table") -> str:
        return str(self.directory / name)

    def write(self, topic: str, counts: Mapping[int, int]) -> None:
        for partition, count in counts.items():
            for number in range(count):
                self._producer.produce(topic, str(number), partition=partition, key="k", headers={"h": b"1"})
        assert self._producer.flush(30) == 0

    def produce(self, topic: str, values: Iterable[str | bytes | None]) -> None:
        """To partition 0, in this order and without keys."""
        for value in values:
            self._producer.produce(topic, value, partition=0)
        assert self._producer.flush(30) == 0

    def pipeline(
        self,
        consumer: int = 1,
        settings: Consumer = CYCLE,
        plans: Plans | None = None,
        consume: Mapping[str, TopicService] | None = None,
    ) -> SparkPipeline:
        whole = Settings(
            self.kafka, group=Group(self.prefix), consume=SortedMapping(consume or {}), consumer=settings, spark=QUICK
        )
        writer = Writer(self.prefix, consumer, 7)
        pipeline = SparkPipeline(
            whole,
            Borrowed(whole, Resources(cores=1.0)),
            lambda uri: DeltaSink(uri, writer, whole.table, write_files),
            lambda uri: RejectTable(uri, writer, whole.table, write_files),
            plans,
        )
        self.pipelines.append(pipeline)
        return pipeline

    def staged(self, name: str = "table") -> list[str]:
        """All staging directories below the table, committed or not."""
        return sorted(str(path) for path in Path(self.table(name)).glob("data/*/*/*"))

    def rows(self, columns: str = "_topic, _partition, _offset", name: str = "table") -> list[tuple[Any, ...]]:
        return rows_of(self.table(name), columns)


@dataclass
class Reading:
    """Drives a pipeline as a consumer's machine does."""

    pipeline: SparkPipeline
    topics: SortedMapping[str, TopicService]
    at: Offsets

    def cycle(self, should_end: ShouldEnd = lambda: False) -> CycleEnded:
        ended = self.pipeline.cycle(RunCycle(self.at, self.topics), should_end)
        self.at = ended.positions
        return ended

    def after_a_cycle(self) -> tuple[int, ...]:
        """Runs a cycle and returns the positions, in the order of partitions."""
        return tuple(self.cycle().positions.values())

    def until(self, *ends: int) -> list[CycleEnded]:
        """Runs cycles until the partitions, in order, have these positions."""
        cycles: list[CycleEnded] = []
        for _ in range(40):
            if tuple(self.at.values()) == ends:
                return cycles
            cycles.append(self.cycle())
        raise AssertionError(f"the partitions are at {self.at}, and not at {ends}")


def opened(
    pipeline: SparkPipeline, services: Mapping[str, TopicService], starts: Mapping[TopicPartition, StartFrom]
) -> AssignmentChanged:
    return pipeline.change(ChangeAssignment((), SortedMapping(starts), SortedMapping(services)))


def reading(
    pipeline: SparkPipeline, services: Mapping[str, TopicService], starts: Mapping[TopicPartition, StartFrom]
) -> Reading:
    changed = opened(pipeline, services, starts)
    assert changed.refused == ()
    return Reading(pipeline, SortedMapping(services), changed.started)


def of(topic: str, *numbers: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in numbers]
