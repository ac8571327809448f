"""What `cycle.py` measures, each in a process of its own: `cycle_roles.py ROLE CORE TOLD`, the last one in JSON.

It tells of each cycle in a line of JSON, and ends when its input does.
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
from restow.protocol.messages import RECOVER, StartFrom, TopicService
from restow.settings import ClientProperties, Consumer, Group, Kafka, Settings, Spark

HEAP = "600m"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def parsed(records: DataFrame) -> DataFrame:
    """The transform: JSON is parsed, and its columns are named."""
    order = functions.from_json(functions.col("value").cast("string"), "id long, customer string, amount long")
    return records.select(order.alias("order")).select("order.*")


def consumer(tell: Callable[..., None], is_to_end: Callable[[], bool], told: Mapping[str, Any]) -> None:
    """As `restow consumer` runs it: the first line when it would say that it is ready, the second when it has its
    partitions."""
    topic, java, limit = told["topic"], told["java"], told.get("megabytes")
    settings = Settings(
        Kafka(told["bootstrap"]),
        group=Group(told["group"]),
        consumer=Consumer(cycle_s=60.0, cycle_bytes=limit * 1_000_000) if limit else Consumer(),
        spark=Spark(properties=ClientProperties({"spark.driver.extraJavaOptions": java} if java else {})),
    )
    environment = {"RESTOW_CORES": "1", "RESTOW_MEMORY_MB": "1024"}
    pipeline = spark_pipeline(settings, "bench", ConsumerId(1), environment)
    pipeline.warm_up(is_to_end)
    tell()
    service = TopicService(table=told["table"], transform="cycle_roles:parsed", start=told["start"])
    topics = SortedMapping({topic: service})
    starts: dict[TopicPartition, StartFrom] = {TopicPartition(topic, n): RECOVER for n in range(told["partitions"])}
    changed = pipeline.change(ChangeAssignment((), SortedMapping(starts), topics))
    assert not changed.refused, changed.refused
    tell()
    at = changed.started
    while not is_to_end():
        ended = pipeline.cycle(RunCycle(at, topics), is_to_end)
        at = ended.positions
        tell(ended.records, ended.bytes, sum(ended.lag_records.values()), ended.took_s)
    pipeline.close()


def streaming(tell: Callable[..., None], is_to_end: Callable[[], bool], told: Mapping[str, Any]) -> None:
    """The same records, transform and core, with nothing set but where they are and how much memory there is."""
    builder: Any = SparkSession.builder
    jars = os.pathsep.join(str(jar) for jar in sorted(fetch(CONNECTOR).glob("*.jar")))
    for name, setting in {"master": "local[1]", "driver.memory": HEAP, "driver.extraClassPath": jars}.items():
        builder = builder.config(f"spark.{name}", setting)
    session = builder.getOrCreate()
    read = session.readStream.format("kafka").option("kafka.bootstrap.servers", told["bootstrap"])
    rows = parsed(read.option("subscribe", told["topic"]).load())
    write = rows.writeStream.format("parquet").option("checkpointLocation", f"{told['table']}/checkpoint")
    query = write.start(f"{told['table']}/rows")
    last = -1
    while not is_to_end():
        time.sleep(0.1)
        progress = query.lastProgress
        if progress and progress["batchId"] != last:
            last = progress["batchId"]
            tell(progress["numInputRows"], 0, 0, progress["durationMs"]["triggerExecution"] / 1000)
    query.stop()
    session.stop()


ROLES = {"consumer": consumer, "streaming": streaming}


def main(role: str, core: str, told: str) -> None:
    os.sched_setaffinity(0, {int(core)})
    end = threading.Event()

    def tell(records: int = 0, size: int = 0, behind: int = 0, wall_s: float = 0.0) -> None:
        say(json.dumps({"records": records, "bytes": size, "behind": behind, "wall_s": wall_s, "jobs": jobs()}))

    def jobs() -> int:
        context: Any = SparkContext._active_spark_context
        return int(context._jsc.sc().dagScheduler().nextJobId()) if context else 0

    def listen() -> None:
        sys.stdin.read()
        end.set()

    threading.Thread(target=listen, daemon=True).start()
    ROLES[role](tell, end.is_set, json.loads(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
