"""The processes that cycle.py measures: `cycle_roles.py ROLE CORE OPTIONS`, with the options as JSON.

A role prints a line of JSON for each cycle, and ends when its standard input is closed.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession, functions

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.java.jars import fetch
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.pipeline.pipeline import spark_pipeline
from restow.pipeline.spark.jars import CONNECTOR
from restow.pipeline.spark.session import Resources
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.topic_service import TopicService
from restow.settings import ClientProperties, Consumer, Group, Kafka, Settings, Spark

MEMORY_MB = Consumer().memory_mb
HEAP = f"{Resources(memory_mb=MEMORY_MB).heap_mb}m"


def parsed(records: DataFrame) -> DataFrame:
    """The transform of both roles."""
    order = functions.from_json(functions.col("value").cast("string"), "id long, customer string, amount long")
    return records.select(order.alias("order")).select("order.*")


def consumer(report: Callable[..., None], should_end: Callable[[], bool], options: Mapping[str, Any]) -> None:
    """The pipeline of `restow consumer`. Its first line means that it is ready, its second that its partitions are
    open."""
    topic, java = options["topic"], options["java"]
    settings = Settings(
        Kafka(options["bootstrap"]),
        group=Group(options["group"]),
        spark=Spark(properties=ClientProperties({"spark.driver.extraJavaOptions": java} if java else {})),
    )
    environment = {"RESTOW_CORES": "1", "RESTOW_MEMORY_MB": str(MEMORY_MB)}
    pipeline = spark_pipeline(settings, "bench", ConsumerId(1), environment)
    pipeline.warm_up(should_end)
    report()
    service = TopicService(table=options["table"], transform="cycle_roles:parsed", start=options["start"])
    topics = SortedMapping({topic: service})
    starts: dict[TopicPartition, StartFrom] = {TopicPartition(topic, n): RECOVER for n in range(options["partitions"])}
    changed = pipeline.change(ChangeAssignment((), SortedMapping(starts), topics))
    assert not changed.refused, changed.refused
    report()
    at = changed.started
    while not should_end():
        ended = pipeline.cycle(RunCycle(at, topics), should_end)
        at = ended.positions
        report(ended.records, ended.bytes, sum(ended.lag_records.values()), ended.took_s)
    pipeline.close()


def streaming(report: Callable[..., None], should_end: Callable[[], bool], options: Mapping[str, Any]) -> None:
    """Structured Streaming with its defaults, on the same records, transform, core and memory."""
    builder: Any = SparkSession.builder
    jars = os.pathsep.join(str(jar) for jar in sorted(fetch(CONNECTOR).glob("*.jar")))
    for name, setting in {"master": "local[1]", "driver.memory": HEAP, "driver.extraClassPath": jars}.items():
        builder = builder.config(f"spark.{name}", setting)
    session = builder.getOrCreate()
    read = session.readStream.format("kafka").option("kafka.bootstrap.servers", options["bootstrap"])
    rows = parsed(read.option("subscribe", options["topic"]).load())
    write = rows.writeStream.format("parquet").option("checkpointLocation", f"{options['table']}/checkpoint")
    query = write.start(f"{options['table']}/rows")
    last = -1
    while not should_end():
        time.sleep(0.1)
        progress = query.lastProgress
        if progress and progress["batchId"] != last:
            last = progress["batchId"]
            report(progress["numInputRows"], 0, 0, progress["durationMs"]["triggerExecution"] / 1000)
    query.stop()
    session.stop()


ROLES = {"consumer": consumer, "streaming": streaming}


def main(role: str, core: str, options: str) -> None:
    os.sched_setaffinity(0, {int(core)})
    end = threading.Event()

    def report(records: int = 0, size: int = 0, behind: int = 0, wall_s: float = 0.0) -> None:
        line = {"records": records, "bytes": size, "behind": behind, "wall_s": wall_s, "jobs": jobs()}
        sys.stdout.write(f"{json.dumps(line)}\n")
        sys.stdout.flush()

    def jobs() -> int:
        context: Any = SparkContext._active_spark_context
        return int(context._jsc.sc().dagScheduler().nextJobId()) if context else 0

    def wait_for_end() -> None:
        sys.stdin.read()
        end.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    ROLES[role](report, end.is_set, json.loads(options))


if __name__ == "__main__":
    main(*sys.argv[1:])
