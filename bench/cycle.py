"""Measures the start and the cycles of a Spark consumer on one core, and Structured Streaming for comparison.

    .venv/bin/python bench/cycle.py [--seconds 150] [--batches 3] [--java=-XX:TieredStopAtLevel=1]

100 partitions of an embedded broker get 400 records of 450 bytes a second in total; a cycle should take at most
0.45 s. Wall time depends on what else the machine does, so the benchmark also shows the CPU time of the consumer and
its children, and how much of its core other processes took. The consumer and Structured Streaming run as processes on
the machine's last core. `restow bench consumer` measures the opposite, a consumer at full load.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.topics import wait_until_shown
from restow.settings import Group, Kafka, Settings
from restow.throughput.usage import busy_s, tree_cpu_s

ROLES = Path(__file__).with_name("cycle_roles.py")
TOPIC = "wide"
PARTITIONS = 100
RECORD_BYTES = 450
RECORDS_PER_S = 400
IDLE_CYCLES = 5
TARGET_S = 0.45
BUSY = 0.2
"""Above this share of the core, taken by other processes, wall times mean little."""
CORES = sorted(os.sched_getaffinity(0))


def show_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# Records.


def value(number: int, size: int) -> bytes:
    head = json.dumps({"id": number, "customer": f"c{number % 997}", "amount": number % 10_000})
    return (head[:-1] + ', "note": "' + "x" * (size - len(head) - 12) + '"}').encode()


def make_topics(settings: Settings) -> None:
    wanted = {TOPIC: PARTITIONS, settings.topics.controller: 1}
    with Admin(settings.kafka) as admin:
        for topic, partitions in wanted.items():
            admin.create_topic(topic, partitions)
        wait_until_shown(admin, wanted)
    producer = make_producer(settings.kafka)
    producer.produce(settings.topics.controller, value(0, 200), partition=0)  # for the warm-up of a session
    producer.flush(30)


@contextmanager
def steady_load(kafka: Kafka) -> Iterator[None]:
    """Produces RECORDS_PER_S, evenly over the partitions, until the context ends."""
    stop, producer = threading.Event(), make_producer(kafka, {"linger.ms": 5})

    def produce() -> None:
        number, begun_s = 0, time.monotonic()
        while not stop.wait(0.02):
            while number < (time.monotonic() - begun_s) * RECORDS_PER_S:
                producer.produce(TOPIC, value(number, RECORD_BYTES), partition=number % PARTITIONS)
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


# CPU time.


class Cycle(NamedTuple):
    """A cycle of the consumer, or a batch of Structured Streaming. Its CPU time counts from the end of the previous
    one."""

    records: int
    bytes: int
    behind: int
    wall_s: float
    cpu_s: float
    jobs: int
    """Spark jobs since the start."""


class Measured:
    """A role of cycle_roles.py, as a process on the last core that prints a line for each cycle."""

    def __init__(self, role: str, **options: object) -> None:
        self._begun_s, self._busy_s = time.monotonic(), busy_s(CORES[-1:])
        command = [sys.executable, str(ROLES), role, str(CORES[-1]), json.dumps(options)]
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115  it lives as long as the process
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, text=True
        )
        self._cpu_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # the process ends then
        self._process.wait(120)

    def next(self) -> Cycle:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._stderr.seek(0)
            raise SystemExit(f"the process ended with code {self._process.wait()}: {self._stderr.read()[-2000:]}")
        before_s, self._cpu_s = self._cpu_s, tree_cpu_s(self._process.pid)
        return Cycle(**json.loads(line), cpu_s=self._cpu_s - before_s)

    def since_its_start(self) -> tuple[float, float]:
        """Wall time and CPU time."""
        return time.monotonic() - self._begun_s, self._cpu_s

    def share_of_others(self) -> float:
        """The share of its core that other processes took since its start."""
        lasted_s = time.monotonic() - self._begun_s
        return max(0.0, (busy_s(CORES[-1:]) - self._busy_s - tree_cpu_s(self._process.pid)) / lasted_s)


# What is measured.


def steady(kafka: Kafka, java: str, seconds: float) -> list[Cycle]:
    with tempfile.TemporaryDirectory() as table:
        options = {
            "bootstrap": kafka.bootstrap,
            "table": table,
            "java": java,
            "group": "bench",
            "topic": TOPIC,
            "partitions": PARTITIONS,
            "start": "latest",
        }
        with Measured("consumer", **options) as consumer:
            consumer.next()
            show_line("ready after {:.1f} s of wall time, {:.1f} s of CPU time".format(*consumer.since_its_start()))
            consumer.next()  # its partitions are open, and its table exists
            with steady_load(kafka):
                until_s, cycles = time.monotonic() + seconds, []
                while time.monotonic() < until_s:
                    cycles.append(consumer.next())
                    show(cycles[-1])
            later = cycles[len(cycles) // 2 :]
            jobs = (later[-1].jobs - later[0].jobs) / (len(later) - 1)
            show_line(f"the later half of {len(cycles)} cycles, with {jobs:g} Spark jobs per cycle:")
            summarize(later)
            judge(later)
            warn(consumer.share_of_others())
            while consumer.next().records:
                pass
            show_idle([consumer.next() for _ in range(IDLE_CYCLES)])
            return later


def peer(kafka: Kafka, batches: int) -> list[Cycle]:
    with (
        tempfile.TemporaryDirectory() as table,
        Measured("streaming", bootstrap=kafka.bootstrap, table=table, topic=TOPIC) as streaming,
        steady_load(kafka),
    ):
        found: list[Cycle] = []
        while len(found) <= batches:
            batch = streaming.next()
            if batch.records:
                found.append(batch)
                show(batch)
        later = found[1:]  # the first one contains what arrived during the start
        show_line(f"Structured Streaming with its defaults, {len(later)} batches:")
        summarize(later)
        warn(streaming.share_of_others())
        return later


def show_idle(cycles: list[Cycle]) -> None:
    cpu_s, wall_s = (statistics.fmean(numbers) for numbers in zip(*((c.cpu_s, c.wall_s) for c in cycles), strict=True))
    jobs = cycles[-1].jobs - cycles[0].jobs
    show_line(f"with nothing to read: {cpu_s:.3f} s of CPU time in a cycle of {wall_s:.2f} s, {jobs} Spark jobs")


def show(cycle: Cycle) -> None:
    show_line(f"{cycle.records:>7} records, {cycle.wall_s:6.2f} s of wall time, {cycle.cpu_s:6.2f} s of CPU time")


def summarize(cycles: list[Cycle]) -> None:
    for what, numbers in {
        "s of wall time": [cycle.wall_s for cycle in cycles],
        "s of CPU time": [cycle.cpu_s for cycle in cycles],
        "records": [float(cycle.records) for cycle in cycles],
    }.items():
        show_line(
            f"    {statistics.median(numbers):8.2f} {what} (median), {percentile_95(numbers):8.2f} (95th percentile)"
        )


def judge(cycles: list[Cycle]) -> None:
    """Compares wall times with TARGET_S, which only means something on an idle machine."""
    late = sum(cycle.wall_s > TARGET_S for cycle in cycles)
    verdict = "reached" if statistics.median(cycle.wall_s for cycle in cycles) <= TARGET_S else "MISSED"
    show_line(f"    target of {TARGET_S:g} s: {verdict}, {late} of {len(cycles)} took longer")


def percentile_95(numbers: list[float]) -> float:
    return sorted(numbers)[-max(1, round(0.05 * len(numbers)))]


def warn(share: float) -> None:
    if share > BUSY:
        show_line(f"    BUSY: other processes took {share:.0%} of its core; on an idle machine wall times are shorter.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds",
        type=float,
        default=150.0,
        help="duration of the steady load, whose later half counts (default: %(default)g)",
    )
    parser.add_argument(
        "--batches", type=int, default=3, help="batches of Structured Streaming; 0 for none (default: %(default)d)"
    )
    parser.add_argument("--java", default="", help="JVM options to compare")
    options = parser.parse_args()
    if len(CORES) > 1:
        os.sched_setaffinity(0, CORES[:-1])  # keeps the broker and the load off the measured core
    show_line(f"load average: {os.getloadavg()[0]:.1f} on {len(CORES)} cores")
    with EmbeddedKafka() as broker:
        kafka = Kafka(broker.bootstrap)
        make_topics(Settings(kafka, Group("bench")))
        cycles = steady(kafka, options.java, options.seconds)
        if options.batches:
            batches = peer(kafka, options.batches)
            compare(cycles, batches)


def compare(cycles: list[Cycle], batches: list[Cycle]) -> None:
    """A longer batch has more records, so this shows CPU time per record too."""
    wall, cpu = (
        statistics.median([getattr(batch, what) for batch in batches])
        / statistics.median([getattr(cycle, what) for cycle in cycles])
        for what in ("wall_s", "cpu_s")
    )
    each = cpu_s_per_record(batches) / cpu_s_per_record(cycles)
    show_line(f"a batch takes {wall:.0f} times the wall time of a cycle, and {cpu:.0f} times its CPU time")
    show_line(f"    ({each:.1f} times per record: a batch contains all records that arrived during the previous one)")


def cpu_s_per_record(cycles: list[Cycle]) -> float:
    return sum(cycle.cpu_s for cycle in cycles) / sum(cycle.records for cycle in cycles)


if __name__ == "__main__":
    main()
