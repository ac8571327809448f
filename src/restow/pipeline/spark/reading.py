"""Reads exact offset ranges with Spark's Kafka connector.

Four things decide whether a cycle takes half a second or a minute (docs/decisions/030-spark-starts-and-cycles.md): no
long polls at the end of a log; a fixed group id, so that executors reuse their Kafka clients; few tasks, each of which
reads many partitions; and no code generation for each of those partitions.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from restow.consumer.planning import MOST_FETCH_BYTES, Range, fetch_bytes
from restow.model import TopicPartition
from restow.pipeline.spark.properties import java_properties
from restow.settings import Settings

COLUMNS: Final = ("key", "value", "headers", "topic", "partition", "offset", "timestamp")
"""The input of a transform."""
SCHEMA: Final = (
    "key binary, value binary, headers array<struct<key: string, value: binary>>, topic string, partition int, "
    "offset bigint, timestamp timestamp"
)
LONGEST_POLL_MS: Final = 0
"""No long polls: a range ends at the log's end at the latest, so that there is nothing to wait for."""
RECORDS_AT_ONCE: Final = 5000
"""After every poll the connector asks for both ends of the log: with the default of 500 records, every half
megabyte."""
CODEGEN_FROM_RECORDS: Final = 1000
"""From this many records of a partition on, generating and compiling code to read them pays off."""
FETCH: Final = "kafka.max.partition.fetch.bytes"
CODEGEN: Final = "spark.sql.codegen.factoryMode"


class RangeReader:
    def __init__(self, settings: Settings, session: SparkSession, heap_bytes: int | None) -> None:
        """`heap_bytes` is shared by the Kafka clients; None leaves them as Kafka has them."""
        self._session, self._heap_bytes = session, heap_bytes
        self._codegen = settings.spark.of_session().get(CODEGEN)
        self._may_choose = self._codegen is None
        in_java = settings.spark.of_reader()
        self._may_limit = FETCH not in in_java
        self._fetch_bytes, self._group = MOST_FETCH_BYTES, settings.group.name
        translated = java_properties(settings.kafka.properties, [name.removeprefix("kafka.") for name in in_java])
        options: dict[str, str] = {
            "kafka.isolation.level": "read_committed",
            "kafka.fetch.max.wait.ms": str(LONGEST_POLL_MS),
            "kafka.max.poll.records": str(RECORDS_AT_ONCE),
            # There is a Kafka client for each partition, and its metrics would cost more than its reading.
            "kafka.auto.include.jmx.reporter": "false",
            "kafka.enable.metrics.push": "false",
            **{f"kafka.{name}": value for name, value in translated.items()},
            **in_java,
            "kafka.bootstrap.servers": settings.kafka.bootstrap,
            "kafka.group.id": settings.group.name,
            "includeHeaders": "true",
            # If retention deletes records between planning and reading, the cycle fails; the next one finds the gap.
            "failOnDataLoss": "true",
        }
        self._reader = session.read.format("kafka").options(**options)

    def frame(
        self, ranges: Mapping[TopicPartition, Range], most_tasks: int, held: int, *, one_by_one: bool = False
    ) -> DataFrame:
        """The records of these ranges, ordered by offset within each partition, in at most `most_tasks` tasks. `held`
        partitions, these among them, share the heap. `one_by_one`: in a task for each offset instead."""
        options = {
            "assign": _by_topic(ranges),
            "startingOffsets": _offsets({partition: taken.first for partition, taken in ranges.items()}),
            "endingOffsets": _offsets({partition: taken.next for partition, taken in ranges.items()}),
        }
        if self._heap_bytes is not None and self._may_limit:
            options |= self._limits(held, self._heap_bytes)
        if one_by_one:
            options["minPartitions"] = str(sum(taken.records for taken in ranges.values()))
            return self._reader.options(**options).load().selectExpr(*COLUMNS)
        return (
            self._reader.options(**{**options, "minPartitions": "1"}).load().coalesce(most_tasks).selectExpr(*COLUMNS)
        )

    def _limits(self, held: int, heap_bytes: int) -> dict[str, str]:
        """The size of fetches. Executors find their clients by group id and partition, and the connector refuses other
        properties for a client that it has. So another size has another group id, which no broker sees: the clients
        don't join the group. It only falls, a few times at most; idle clients are closed after five minutes."""
        self._fetch_bytes = min(self._fetch_bytes, fetch_bytes(held, heap_bytes))
        is_usual = self._fetch_bytes == MOST_FETCH_BYTES
        group = self._group if is_usual else f"{self._group}-{self._fetch_bytes >> 10}k"
        return {FETCH: str(self._fetch_bytes), "kafka.group.id": group}

    def empty(self) -> DataFrame:
        """The same columns without rows, to find the schema of a transform's rows."""
        return self._session.createDataFrame([], SCHEMA)

    def choose_codegen(self, ranges: Collection[Range]) -> None:
        """Switches code generation outside of whole-stage codegen, which is little more than reading. It is a property
        of the session: call it before the jobs that read these ranges side by side."""
        pays_off = sum(taken.records for taken in ranges) > CODEGEN_FROM_RECORDS * len(ranges)
        wanted = "FALLBACK" if pays_off else "NO_CODEGEN"
        if self._may_choose and wanted != self._codegen:
            self._session.conf.set(CODEGEN, wanted)
            self._codegen = wanted


def _by_topic(partitions: Iterable[TopicPartition]) -> str:
    numbers: dict[str, list[int]] = {}
    for partition in sorted(partitions):
        numbers.setdefault(partition.topic, []).append(partition.partition)
    return json.dumps(numbers)


def _offsets(offsets: Mapping[TopicPartition, int]) -> str:
    found: dict[str, dict[str, int]] = {}
    for partition, offset in sorted(offsets.items()):
        found.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return json.dumps(found)
