"""Measures cycles of the Spark pipeline on this machine, on one core of Spark and an embedded broker, and prints them.

    .venv/bin/python bench/cycle.py [--seconds 30] [--java=-XX:TieredStopAtLevel=1]

Three things: from the start of the process to a warm session; cycles over 100 partitions that get 400 records of 450
bytes a second together (the target: at most a second each); and a backlog of records of 1000 bytes in 8 partitions,
with larger and larger cycles.
"""

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import CycleEnded
from restow.kafka.admin import Admin
from restow.kafka.broker import EmbeddedKafka
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages import RECOVER, StartFrom, TopicService
from restow.settings import ClientProperties, Consumer, Group, Kafka, Settings, Spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WIDE, DEEP = "wide", "deep"
WIDE_PARTITIONS, WIDE_RECORDS_PER_S, WIDE_BYTES = 100, 400, 450
DEEP_PARTITIONS, DEEP_BYTES = 8, 1000
CYCLE_MB = (2, 8, 32, 64)
BACKLOG_S = 12.0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def value(number: int, size: int) -> bytes:
    head = json.dumps({"id": number, "customer": f"c{number % 997}", "amount": number % 10_000})
    return (head[:-1] + ', "note": "' + "x" * (size - len(head) - 13) + '"}').encode()


@contextmanager
def steady_load(kafka: Kafka) -> Iterator[None]:
    """So many records a second, evenly over the partitions, until it is left."""
    stop, producer = threading.Event(), make_producer(kafka, {"linger.ms": 5})

    def produce() -> None:
        number, begun_s = 0, time.monotonic()
        while not stop.wait(0.02):
            while number < (time.monotonic() - begun_s) * WIDE_RECORDS_PER_S:
                producer.produce(WIDE, value(number, WIDE_BYTES), partition=number % WIDE_PARTITIONS)
                number += 1
            producer.poll(0)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        producer.flush(30)


def fill(kafka: Kafka, records: int) -> None:
    producer = make_producer(kafka, {"linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    for number in range(records):
        producer.produce(DEEP, value(number, DEEP_BYTES), partition=number % DEEP_PARTITIONS)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="of steady load")
    parser.add_argument("--backlog", type=int, default=400_000, help="records")
    parser.add_argument("--java", default="", help="options of the JVM, to compare")
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))  # where Spark finds the transform
    properties = ClientProperties({"spark.driver.extraJavaOptions": args.java} if args.java else {})
    with EmbeddedKafka() as broker, tempfile.TemporaryDirectory() as directory:
        settings = Settings(Kafka(broker.bootstrap), group=Group("bench"), spark=Spark(properties=properties))
        make_topics(settings)
        steady(settings, Path(directory), args.seconds)
        fill(settings.kafka, args.backlog)
        for megabytes in CYCLE_MB:
            consumer = Consumer(cycle_s=60.0, cycle_bytes=megabytes * 1_000_000)
            backlog(replace(settings, group=Group(f"bench-{megabytes}"), consumer=consumer), Path(directory))


def make_topics(settings: Settings) -> None:
    wanted = {WIDE: WIDE_PARTITIONS, DEEP: DEEP_PARTITIONS, settings.topics.controller: 1}
    with Admin(settings.kafka) as admin:
        for topic, partitions in wanted.items():
            admin.create_topic(topic, partitions)
        wait_until_shown(admin, wanted)
    producer = make_producer(settings.kafka)
    producer.produce(settings.topics.controller, value(0, 200), partition=0)
    producer.flush(30)


class Bench:
    """A pipeline that reads one topic into one table."""

    def __init__(self, settings: Settings, topic: str, partitions: int, directory: Path) -> None:
        from restow.pipeline.assembly import spark_pipeline  # noqa: PLC0415  what it takes to load is part of the start

        begun_s = time.monotonic()
        environment = {"RESTOW_CORES": "1", "RESTOW_MEMORY_MB": "1024"}
        self.pipeline = spark_pipeline(settings, "bench", ConsumerId(1), environment, say)
        self.pipeline.warm_up(lambda: False)
        self.warm_after_s = time.monotonic() - begun_s
        table = TopicService(table=str(directory / settings.group.name), transform="cycle:parsed")
        self._topics = SortedMapping({topic: table})
        starts: dict[TopicPartition, StartFrom] = {TopicPartition(topic, n): RECOVER for n in range(partitions)}
        changed = self.pipeline.change(ChangeAssignment((), SortedMapping(starts), self._topics))
        assert not changed.refused, changed.refused
        self._at = changed.started

    def cycle(self) -> CycleEnded:
        ended = self.pipeline.cycle(RunCycle(self._at, self._topics), lambda: False)
        self._at = ended.positions
        return ended


def steady(settings: Settings, directory: Path, seconds: float) -> None:
    bench = Bench(settings, WIDE, WIDE_PARTITIONS, directory)
    say(f"warm {bench.warm_after_s:.1f} s after the pipeline was asked for")
    took_s = []
    with steady_load(settings.kafka):
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            ended = bench.cycle()
            if ended.records:
                took_s.append(ended.took_s)
                say(f"{ended.records:>6} records in {ended.took_s:.2f} s, {sum(ended.lag_records.values())} behind")
    later = took_s[len(took_s) // 2 :]
    say(f"the later half of {len(took_s)} cycles: median {statistics.median(later):.2f} s, longest {max(later):.2f} s")
    bench.pipeline.close()


def backlog(settings: Settings, directory: Path) -> None:
    bench = Bench(settings, DEEP, DEEP_PARTITIONS, directory)
    begun_s, cycles = time.monotonic(), [bench.cycle()]
    while time.monotonic() < begun_s + BACKLOG_S and any(cycles[-1].lag_records.values()):
        cycles.append(bench.cycle())
    took_s, size = time.monotonic() - begun_s, sum(cycle.bytes for cycle in cycles)
    say(
        f"cycles of {settings.consumer.cycle_bytes / 1e6:g} MB: {took_s / len(cycles):.2f} s each, "
        f"{size / took_s / 1e6:.1f} MB/s, {size / DEEP_BYTES / took_s:,.0f} records/s"
    )
    bench.pipeline.close()


def parsed(records: "DataFrame") -> "DataFrame":
    """The transform: JSON is parsed, and its columns are named."""
    from pyspark.sql import functions  # noqa: PLC0415  the bench measures how long Spark takes to load

    order = functions.from_json(functions.col("value").cast("string"), "id long, customer string, amount long")
    return records.select(order.alias("order")).select("order.*")


if __name__ == "__main__":
    main()
