"""Builds Spark's class archive: `python -m restow.pipeline.spark.build_archive`, as `make` and the image's build do.

prepare.py runs the same module once more, with RESTOW_DUMP_CLASSES set, as a child process. The child starts an
embedded broker and a session, runs the warm-up cycle, describes a transform's rows and runs a cycle that is large
enough for generated code; its JVM writes the classes that it loaded into the archive as it exits.
"""

import logging
import os
from typing import Final

from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.logs import to_terminal
from restow.model import TopicPartition
from restow.pipeline.spark.class_archive import DUMP
from restow.pipeline.spark.engine import Engine
from restow.pipeline.spark.prepare import BUILT_WITHIN_S, build_archive
from restow.pipeline.spark.reading import CODEGEN_FROM_RECORDS
from restow.pipeline.spark.session import Resources
from restow.pipeline.spark.warm_up import TARGET, ScratchSink
from restow.pipeline.spark.worker import no_patience
from restow.pipeline.targets import TargetCycle
from restow.scratch import temporary
from restow.settings import ClientProperties, Group, Kafka, Settings, Spark

log = logging.getLogger(__name__)

RECORDS: Final = 2 * CODEGEN_FROM_RECORDS
QUICK: Final = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
"""The session runs two cycles: code that the second compiler makes would never pay. The archive has classes only."""
RECORD: Final = b'{"type": "warm-up", "version": 1, "at": "2026-01-01T00:00:00Z"}'


def _run_warm_up() -> None:
    """In the child process."""
    with temporary("archive"), EmbeddedKafka() as broker:
        kafka = Kafka(broker.bootstrap)
        settings = Settings(kafka, Group("archive"), spark=Spark(properties=ClientProperties(QUICK)))
        with Admin(kafka) as admin:
            admin.create_topic(settings.topics.controller, 1)
        producer = make_producer(kafka)
        for _ in range(RECORDS):
            producer.produce(settings.topics.controller, RECORD, partition=0)
        producer.flush(30)
        engine = Engine(settings, Resources(cores=1.0, memory_mb=1024))
        engine.start(lambda: False)
        engine.schemas_of(TARGET)
        everything = {TopicPartition(settings.topics.controller, 0): Range(0, 0, RECORDS)}
        engine.run(TargetCycle(TARGET, everything, 0.0, ScratchSink()), lambda: False, no_patience)
        engine.close()
        _wait_for_jvm_exit()


def _wait_for_jvm_exit() -> None:
    """The JVM exits when its gateway is closed, and writes the archive then."""
    from pyspark import SparkContext  # noqa: PLC0415  the parent process doesn't need Spark

    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.proc.stdin.close()
    gateway.proc.wait(BUILT_WITHIN_S)


def main() -> None:
    with to_terminal():
        if os.environ.get(DUMP):
            _run_warm_up()
            return
        try:
            build_archive()
        except RestowError as error:
            log.warning("%s; Spark works without the archive, but starts more slowly", error)


if __name__ == "__main__":
    main()
