"""A consumer's memory under a real limit: two cores, many partitions and tables, and a backlog."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.memory_limit import memory_limit
from tests.support.spark.project import rows_of

from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.settings import Consumer, Kafka

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TABLES = 4
PARTITIONS = 36
RECORDS = 15_000
VALUE = b'{"id": 17, "note": "' + b"x" * 980 + b'"}'


def test_a_consumer_stays_within_its_memory(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path) -> None:
    topics = [f"{prefix}-{number}" for number in range(TABLES)]
    for topic in topics:
        admin.create_topic(topic, PARTITIONS)
    wait_until_shown(admin, dict.fromkeys(topics, PARTITIONS))
    producer = make_producer(kafka, {"linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    for number in range(RECORDS):
        for topic in topics:
            producer.produce(topic, VALUE, partition=number % PARTITIONS)
        producer.poll(0)
    assert producer.flush(60) == 0
    consumed = "".join(f'[consume."{topic}"]\ntable = "lake/{topic}"\nstart = "earliest"\n' for topic in topics)
    text = f'[kafka]\nbootstrap = "{kafka.bootstrap}"\n[group]\nname = "{prefix}"\n{consumed}'
    (tmp_path / "restow.toml").write_text(text)
    memory_mb = Consumer().memory_mb
    environment = {**os.environ, "RESTOW_CORES": "2", "RESTOW_MEMORY_MB": str(memory_mb), "TMPDIR": str(tmp_path)}
    with memory_limit(memory_mb) as limit:
        command = limit.command(sys.executable, "-m", "restow", "consume", "--once", "--topics", ",".join(topics))
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        assert (done.returncode, limit.kills) == (0, 0), done.stderr[-2000:]
    assert [rows_of(tmp_path / "lake" / topic, "count(*)") for topic in topics] == [[(RECORDS,)]] * TABLES
