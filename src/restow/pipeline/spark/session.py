"""The Spark session of a consumer: started from `[spark]` in restow.toml, as quickly as can be, and quiet.

`spark.py` starts one in the thread that does all of Spark's work. What a person sets in `[spark]` counts more than what
is set here.
"""

import logging
import os
import sys
import tempfile
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from restow.java.jars import Say, fetch
from restow.java.runtime import find_java
from restow.pipeline.spark import class_archive
from restow.pipeline.spark.jars import CONNECTOR
from restow.pipeline.spark.jvm import launch
from restow.settings import Settings

OUTSIDE_THE_HEAP_MB: Final = 424
"""What Python and the JVM itself need of a consumer's memory, beside Java's heap."""
LEAST_HEAP_MB: Final = 512
"""With less Spark refuses to start."""
LOGGING: Final = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True, slots=True)
class Resources:
    """What the platform gives a consumer."""

    name: str = "restow"
    cores: float | None = None
    """Left out, all of the machine's."""
    memory_mb: int | None = None
    """Of all its processes. Left out, Spark's own default is the heap."""

    @property
    def master(self) -> str:
        return "local[*]" if self.cores is None else f"local[{max(1, ceil(self.cores))}]"

    @property
    def heap_mb(self) -> int | None:
        return None if self.memory_mb is None else max(LEAST_HEAP_MB, self.memory_mb - OUTSIDE_THE_HEAP_MB)


def start_session(settings: Settings, resources: Resources, say: Say) -> SparkSession:
    """Raises RestowError where Java or jars are missing."""
    find_java()
    jars = sorted(fetch(CONNECTOR, say).glob("*.jar"))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # a person's Python functions run as this Python does
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
    # PySpark prints each failed query as pages of JSON, besides raising what we tell of.
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL + 1)
    return session


def parallelism(session: SparkSession) -> int:
    """How many tasks can run at once."""
    return session.sparkContext.defaultParallelism


def _properties(settings: Settings, resources: Resources, jars: list[Path]) -> dict[str, str]:
    master = settings.spark.master or settings.spark.of_session().get("spark.master") or resources.master
    scratch = tempfile.gettempdir()
    found = {
        "spark.master": master,
        "spark.app.name": resources.name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A consumer runs for weeks and nobody looks at its past jobs; Spark would keep a thousand of them.
        **{f"spark.ui.retained{what}": "20" for what in ("Jobs", "Stages", "Tasks")},
        "spark.sql.ui.retainedExecutions": "20",
        # The newer of Spark's two ways to read Kafka hands rows on as they come. The older one, its default here, has
        # them converted twice, with code that it writes anew for each partition.
        "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
        # Spark would tell the JVM, at each call of a transform, from which line it comes.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(Path(scratch, "restow-spark-warehouse")),
        # As Delta's readers expect it, and with statistics, which Spark's old default has none of.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Each cycle has a directory of its own, which becomes part of the table or is swept: nothing is renamed.
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        # An executor's Kafka clients are kept for the next cycle; the default keeps 64, and lets the others go.
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
        found["spark.jars"] = ",".join(map(str, jars))  # for the executors, on other machines
    return found


def _java_options(own: dict[str, str], master: str) -> dict[str, str]:
    options = [f"-Dlog4j2.configurationFile={LOGGING.as_uri()}", *class_archive.options()]
    if master == "local[1]":
        options.append("-XX:+UseSerialGC")  # with one core the others only have more to do
    if "spark.driver.extraJavaOptions" in own:
        options.append(own["spark.driver.extraJavaOptions"])
    return {"spark.driver.extraJavaOptions": " ".join(options)}


def _write_no_checksums(session: SparkSession) -> None:
    """Hadoop puts a .crc file beside every file on a local disk; in a lake they are only more files to sweep."""
    jvm: Any = session._jvm
    configuration = session.sparkContext._jsc.hadoopConfiguration()
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(configuration).setWriteChecksum(False)
