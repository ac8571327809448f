"""Starts the Spark session of a consumer, with `[spark]` of restow.toml over restow's own defaults.

The defaults make the session start fast and log little. engine.py starts it in Spark's thread.
"""

import logging
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from restow.java.jars import fetch
from restow.java.runtime import find_java
from restow.pipeline.spark import class_archive
from restow.pipeline.spark.jars import CONNECTOR
from restow.pipeline.spark.jvm import launch
from restow.settings import Settings

OUTSIDE_THE_HEAP_MB: Final = 640
"""Of a consumer's memory: what Python and the JVM itself need beside the Java heap."""
LEAST_HEAP_MB: Final = 512
"""Spark refuses to start with less."""
COLLECTOR: Final = re.compile(r"-XX:\+Use\w+GC\b")
"""A user's choice of a garbage collector; Java refuses a second one."""
CLASSES_MB: Final = 128
"""What Spark's classes may take before Java collects garbage because of them. Java's own limit of 21 MB is reached in
the warm-up: a full collection, which frees no class."""
ZEROED_AT_ONCE: Final = "-XX:+ZeroTLAB"
"""Memory for new objects is zeroed a block at a time, and not for each object. Spark's `from_json` allocates a buffer
of 8 KiB for every record: a consumer with records of 1 kB stores a tenth more with this."""
LOGGING: Final = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True, slots=True)
class Resources:
    """What the platform gives a consumer."""

    name: str = "restow"
    cores: float | None = None
    """None for all cores of the machine."""
    memory_mb: int | None = None
    """Of all processes of the consumer. None for Spark's default heap."""

    @property
    def master(self) -> str:
        return "local[*]" if self.cores is None else f"local[{max(1, ceil(self.cores))}]"

    @property
    def heap_mb(self) -> int | None:
        return None if self.memory_mb is None else max(LEAST_HEAP_MB, self.memory_mb - OUTSIDE_THE_HEAP_MB)


def start_session(settings: Settings, resources: Resources) -> SparkSession:
    """Raises RestowError if Java is missing or jars can't be fetched."""
    find_java()
    jars = sorted(fetch(CONNECTOR).glob("*.jar"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Python functions of a transform run in this Python
    own = settings.spark.of_session()
    properties = _properties(settings, resources, jars) | own
    for name, value in _java_options(own, properties["spark.master"]).items():
        properties[name] = value
    launch(properties)
    builder: Any = SparkSession.builder
    for name, value in properties.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    _write_no_checksums(session)
    # PySpark logs each failed query as pages of JSON, besides raising the error.
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return session


def parallelism(session: SparkSession) -> int:
    """How many tasks can run at once."""
    return session.sparkContext.defaultParallelism


def runs_here(session: SparkSession) -> bool:
    """Whether tasks run in this machine's JVM, and not on executors on other machines."""
    return (session.sparkContext.master or "").startswith("local")


def heap_bytes(session: SparkSession) -> int | None:
    """The heap of the JVM that reads from Kafka; None if that is done by executors on other machines."""
    if not runs_here(session):
        return None
    jvm: Any = session._jvm
    return int(jvm.java.lang.Runtime.getRuntime().maxMemory())


def _properties(settings: Settings, resources: Resources, jars: list[Path]) -> dict[str, str]:
    master = settings.spark.master or settings.spark.of_session().get("spark.master") or resources.master
    scratch = tempfile.gettempdir()
    found = {
        "spark.master": master,
        "spark.app.name": resources.name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # There is no UI to show past jobs, and a consumer runs for weeks; Spark would keep a thousand of them.
        **{f"spark.ui.retained{what}": "20" for what in ("Jobs", "Stages", "Tasks")},
        "spark.sql.ui.retainedExecutions": "20",
        # Kafka is left out, so that Spark reads it with its V2 source. V1, the default, converts every row twice, with
        # code that is generated again for each partition.
        "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
        # PySpark would report the calling line to the JVM for every DataFrame method.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(Path(scratch, "restow-spark-warehouse")),
        # What Delta readers expect. Spark's default, INT96, has no statistics.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Each cycle has its own directory, which is committed or vacuumed as a whole: files need no rename.
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        # Executors keep their Kafka clients for the next cycle; the default keeps 64.
        "spark.kafka.consumer.cache.capacity": "2000",
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
    }
    if resources.heap_mb is not None:
        found["spark.driver.memory"] = f"{resources.heap_mb}m"
    if settings.spark.packages:
        found["spark.jars.packages"] = ",".join(settings.spark.packages)
    if master.startswith("local"):
        found |= {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}
        cores = master.removeprefix("local").strip("[]")
        # A shuffle of a cycle's few records is not worth 200 tasks.
        found["spark.sql.shuffle.partitions"] = cores if cores.isdigit() else str(os.cpu_count() or 1)
    else:
        found["spark.jars"] = ",".join(map(str, jars))  # for executors on other machines
    return found


def _java_options(own: dict[str, str], master: str) -> dict[str, str]:
    options = [f"-Dlog4j2.configurationFile={LOGGING.as_uri()}", *class_archive.options()]
    # Spark's temporary files and the native libraries that its jars unpack go where Python's do.
    options.append(f'"-Djava.io.tmpdir={tempfile.gettempdir()}"')
    options.append(f"-XX:MetaspaceSize={CLASSES_MB}m")
    options.append(ZEROED_AT_ONCE)
    wanted = own.get("spark.driver.extraJavaOptions", "")
    if master.startswith("local") and not COLLECTOR.search(wanted):
        options.append(_collector(master))
    if wanted:
        options.append(wanted)
    return {"spark.driver.extraJavaOptions": " ".join(options)}


def _collector(master: str) -> str:
    """On one core a collector with threads of its own only adds work. On more cores Java would choose G1, which keeps
    pauses short: it took 17 % of the CPU time of a consumer with two cores."""
    return "-XX:+UseSerialGC" if master == "local[1]" else "-XX:+UseParallelGC"


def _write_no_checksums(session: SparkSession) -> None:
    """Hadoop writes a .crc file beside every file on a local disk; in a table they are only more files to vacuum."""
    jvm: Any = session._jvm
    configuration = session.sparkContext._jsc.hadoopConfiguration()
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(configuration).setWriteChecksum(False)
