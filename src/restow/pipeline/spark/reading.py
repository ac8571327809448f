"""Reads exact ranges of Kafka's partitions with Spark's own connector. `spark.py` asks for a frame in every cycle.

Four things decide whether a cycle takes half a second or a minute (docs/decisions/030-spark-starts-and-cycles.md): no
long polls at the end of a log, a group id that stays the same so that the executors use their Kafka clients again, few
tasks, each of which walks through many partitions, and no code written by Spark for each of those partitions.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from restow.consumer.planning import Range
from restow.model import TopicPartition
from restow.pipeline.spark.properties import java_properties
from restow.settings import Settings

COLUMNS: Final = ("key", "value", "headers", "topic", "partition", "offset", "timestamp")
"""What a transform is given."""
SCHEMA: Final = (
    "key binary, value binary, headers array<struct<key: string, value: binary>>, topic string, partition int, "
    "offset bigint, timestamp timestamp"
)
LONGEST_POLL_MS: Final = 0
"""At the end of a log a broker would wait half a second for more; there is no more in the range."""
RECORDS_AT_ONCE: Final = 5000
"""After every poll the connector asks for both ends of the log: with the default of 500, every half megabyte."""
WORTH_CODE: Final = 1000
"""Records of a partition, from which on it pays that Spark writes and compiles code for reading them."""
CODE: Final = "spark.sql.codegen.factoryMode"


class Reader:
    def __init__(self, settings: Settings, session: SparkSession) -> None:
        self._session = session
        self._code = settings.spark.of_session().get(CODE)
        self._may_choose = self._code is None
        in_java = settings.spark.of_reader()
        translated = java_properties(settings.kafka.properties, [name.removeprefix("kafka.") for name in in_java])
        options: dict[str, str] = {
            "kafka.isolation.level": "read_committed",
            "kafka.fetch.max.wait.ms": str(LONGEST_POLL_MS),
            "kafka.max.poll.records": str(RECORDS_AT_ONCE),
            # There is a Kafka client for each partition: what each of them tells of itself costs more than its reading.
            "kafka.auto.include.jmx.reporter": "false",
            "kafka.enable.metrics.push": "false",
            **{f"kafka.{name}": value for name, value in translated.items()},
            **in_java,
            "kafka.bootstrap.servers": settings.kafka.bootstrap,
            "kafka.group.id": settings.group.name,
            "includeHeaders": "true",
            # What was deleted between our look at the log and the read fails the cycle; the next one finds the gap.
            "failOnDataLoss": "true",
        }
        self._reader = session.read.format("kafka").options(**options)

    def frame(self, ranges: Mapping[TopicPartition, Range], pieces: int) -> DataFrame:
        """Its rows are in the order of their offsets, partition after partition, in so many pieces at most."""
        options = {
            "assign": _by_topic(ranges),
            "startingOffsets": _offsets({partition: taken.first for partition, taken in ranges.items()}),
            "endingOffsets": _offsets({partition: taken.next for partition, taken in ranges.items()}),
        }
        self._choose_code(ranges.values())
        return self._reader.options(**options).load().coalesce(pieces).selectExpr(*COLUMNS)

    def empty(self) -> DataFrame:
        """The same columns, and no rows: a transform shows its own columns on it."""
        return self._session.createDataFrame([], SCHEMA)

    def _choose_code(self, ranges: Collection[Range]) -> None:
        """What Spark does outside of its compiled stages, which is next to nothing besides reading."""
        is_worth_it = sum(taken.records for taken in ranges) > WORTH_CODE * len(ranges)
        wanted = "FALLBACK" if is_worth_it else "NO_CODEGEN"
        if self._may_choose and wanted != self._code:
            self._session.conf.set(CODE, wanted)
            self._code = wanted


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
