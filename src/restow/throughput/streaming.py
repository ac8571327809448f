"""The contenders `streaming` and `streaming-tuned`: Spark Structured Streaming from Kafka into Delta tables.

`streaming` has Spark's and Delta's defaults, except that a trigger reads at most 100,000 records: without a limit its
first batch is the whole backlog, and nothing is stored until that is read. `streaming-tuned` has what one would set for
one core. Both have restow's transform, cores and heap. Each table is a query; a session runs all of them.
"""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from restow.java.jars import fetch
from restow.pipeline.spark.jars import CONNECTOR
from restow.study.throughput import TUNED, Case
from restow.throughput.jars import DELTA
from restow.throughput.transform import delivered

DELTA_SESSION: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
SESSION: Final[Mapping[str, Mapping[str, str]]] = {
    TUNED: {"spark.databricks.delta.snapshotPartitions": "1", "spark.ui.enabled": "false"},
}
READER: Final[Mapping[str, Mapping[str, str]]] = {
    TUNED: {"maxOffsetsPerTrigger": "200000", "kafka.max.poll.records": "5000"},
}
UNTUNED: Final = {"maxOffsetsPerTrigger": "100000"}
CHECK_EVERY_S: Final = 0.2


def run(name: str, case: Case, options: Mapping[str, Any], end: threading.Event) -> None:
    session = start(name, case, options["heap_mb"])
    topics: dict[str, list[str]] = {}
    for topic in case.by_topic:
        topics.setdefault(case.table_of(topic), []).append(topic)
    directory = Path(options["directory"])
    for table, own in topics.items():
        read = session.readStream.format("kafka").option("kafka.bootstrap.servers", options["bootstrap"])
        read = read.option("subscribe", ",".join(own)).option("startingOffsets", "earliest")
        records = read.options(**READER.get(name, UNTUNED)).load()
        write = delivered(records).writeStream.format("delta")
        write.option("checkpointLocation", str(directory / f"checkpoint-{table}")).start(str(directory / table))
    while not end.wait(CHECK_EVERY_S):
        for query in session.streams.active:
            if (error := query.exception()) is not None:
                raise error
    for query in session.streams.active:
        query.stop()
    session.stop()


def start(name: str, case: Case, heap_mb: int) -> SparkSession:
    jars = [*fetch(CONNECTOR).glob("*.jar"), *fetch(DELTA).glob("*.jar")]
    own = {
        "spark.master": f"local[{case.cores}]",
        "spark.driver.memory": f"{heap_mb}m",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in sorted(jars)),
        **DELTA_SESSION,
        **SESSION.get(name, {}),
    }
    if name == TUNED:
        own["spark.sql.shuffle.partitions"] = str(case.cores)
    builder: Any = SparkSession.builder
    for key, value in own.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    return session
