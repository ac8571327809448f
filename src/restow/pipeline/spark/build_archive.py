"""Builds the class data archive of Spark: `make` does it once, or `python -m restow.pipeline.spark.build_archive`.

A process of its own starts an embedded broker and a session, has it rehearse a cycle, and its JVM writes all that it
loaded when it ends.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from restow.errors import RestowError
from restow.java.jars import Say
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.pipeline.spark.class_archive import DUMP, archive_path
from restow.pipeline.spark.engine import Engine
from restow.pipeline.spark.session import Resources
from restow.settings import Kafka, Settings

MODULE: Final = "restow.pipeline.spark.build_archive"
MADE_WITHIN_S: Final = 600.0
RECORD: Final = b'{"type": "rehearsal", "version": 1, "at": "2026-01-01T00:00:00Z"}'


def make_archive(say: Say) -> Path:
    archive = archive_path()
    archive.parent.mkdir(parents=True, exist_ok=True)
    with archive.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            say(f"archiving Spark's classes once, in {archive}, so that it starts sooner; this takes about a minute")
            _make(archive)
    return archive


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _make(archive: Path) -> None:
    draft = archive.with_suffix(".draft")
    command, environment = (sys.executable, "-m", MODULE), {**os.environ, DUMP: str(draft)}
    try:
        subprocess.run(command, env=environment, check=True, timeout=MADE_WITHIN_S, capture_output=True, text=True)
        draft.rename(archive)
    except subprocess.CalledProcessError as error:
        raise RestowError(f"Spark's classes can't be archived: {error.stderr.strip()[-300:]}") from None
    except (subprocess.TimeoutExpired, OSError) as error:
        raise RestowError(f"Spark's classes can't be archived: {error}") from None
    finally:
        draft.unlink(missing_ok=True)


def _rehearse() -> None:
    with EmbeddedKafka() as broker:
        kafka = Kafka(broker.bootstrap)
        settings = Settings(kafka)
        with Admin(kafka) as admin:
            admin.create_topic(settings.topics.controller, 1)
        producer = make_producer(kafka)
        for _ in range(10):
            producer.produce(settings.topics.controller, RECORD, partition=0)
        producer.flush(30)
        engine = Engine(settings, Resources(cores=1.0, memory_mb=1024), _say)
        engine.start(lambda: False)
        engine.close()
        _end_of_the_jvm()


def _end_of_the_jvm() -> None:
    """It writes the archive as it ends, and ends when nobody speaks to it any more."""
    from pyspark import SparkContext  # noqa: PLC0415  who only starts the rehearsal doesn't wait for Spark to load

    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.proc.stdin.close()
    gateway.proc.wait(MADE_WITHIN_S)


if __name__ == "__main__":
    if os.environ.get(DUMP):
        _rehearse()
    else:
        try:
            make_archive(_say)
        except RestowError as error:
            _say(f"{error}; Spark starts without it, and later")
