"""Measures a consumer on Spark, on one core and an embedded broker: its start, its idle cycles, cycles over many
partitions with few records each, and, beside it in the same run, Structured Streaming as it comes.

    .venv/bin/python bench/cycle.py [--seconds 150] [--batches 3] [--java=-XX:TieredStopAtLevel=1] [--backlog 400000]

100 partitions get 400 records of 450 bytes a second together; cycles are to take a second at most. A machine that does
other things makes all of it longer by the clock, so that there is also the processor time of the consumer and all its
children, and how much of its core others took. With `--backlog` larger and larger cycles read as many records of 1000
bytes from 8 partitions. The consumer and its peer are processes of their own, each on the machine's last core.
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
from restow.settings import Kafka, Settings

ROLES = Path(__file__).with_name("cycle_roles.py")
WIDE, DEEP = "wide", "deep"
PARTITIONS = {WIDE: 100, DEEP: 8}
RECORD_BYTES = {WIDE: 450, DEEP: 1000}
WIDE_RECORDS_PER_S = 400
CYCLE_MB = (2, 8, 32, 64)
BACKLOG_S = 12.0
IDLE_CYCLES = 5
TARGET_S = 1.0
BUSY = 0.2
"""So much of the core taken by others makes the times of the clock worth little."""
CORES = sorted(os.sched_getaffinity(0))
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
ENDED = (FileNotFoundError, ProcessLookupError)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# Records.


def value(number: int, size: int) -> bytes:
    head = json.dumps({"id": number, "customer": f"c{number % 997}", "amount": number % 10_000})
    return (head[:-1] + ', "note": "' + "x" * (size - len(head) - 12) + '"}').encode()


def make_topics(settings: Settings) -> None:
    wanted = {**PARTITIONS, settings.topics.controller: 1}
    with Admin(settings.kafka) as admin:
        for topic, partitions in wanted.items():
            admin.create_topic(topic, partitions)
        wait_until_shown(admin, wanted)
    producer = make_producer(settings.kafka)
    producer.produce(settings.topics.controller, value(0, 200), partition=0)  # for the rehearsal of a session
    producer.flush(30)


@contextmanager
def steady_load(kafka: Kafka) -> Iterator[None]:
    """So many records a second, evenly over the partitions, until it is left."""
    stop, producer = threading.Event(), make_producer(kafka, {"linger.ms": 5})

    def produce() -> None:
        number, begun_s = 0, time.monotonic()
        while not stop.wait(0.02):
            while number < (time.monotonic() - begun_s) * WIDE_RECORDS_PER_S:
                producer.produce(WIDE, value(number, RECORD_BYTES[WIDE]), partition=number % PARTITIONS[WIDE])
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
        producer.produce(DEEP, value(number, RECORD_BYTES[DEEP]), partition=number % PARTITIONS[DEEP])
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0


# Processor time.


def tree_cpu_s(process: int) -> float:
    """Of a process and all its descendants, those that have ended among them."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        tasks = list(Path(f"/proc/{process}/task").iterdir())
    except ENDED:  # its parent has its time
        return 0.0
    children = [child for task in tasks for child in born_of(task)]
    return sum(map(int, fields[11:15])) / TICKS_PER_S + sum(map(tree_cpu_s, children))


def born_of(task: Path) -> list[int]:
    """The processes that a thread has started; those of a thread that has ended are another's."""
    try:
        return [int(child) for child in (task / "children").read_text().split()]
    except ENDED:
        return []


def busy_s(core: int) -> float:
    """Of a core, whoever used it."""
    [line] = [line for line in Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{core} ")]
    user, nice, system, _, _, interrupts, soft = map(int, line.split()[1:8])
    return (user + nice + system + interrupts + soft) / TICKS_PER_S


class Cycle(NamedTuple):
    """Of a consumer, or a batch of its peer. The processor time is all since the one before ended."""

    records: int
    bytes: int
    behind: int
    wall_s: float
    cpu_s: float
    jobs: int
    """Of Spark, since its start."""


class Measured:
    """A role of cycle_roles.py in a process of its own, on the last core, that tells of each cycle in a line."""

    def __init__(self, role: str, **told: object) -> None:
        self._begun_s, self._busy_s = time.monotonic(), busy_s(CORES[-1])
        command = [sys.executable, str(ROLES), role, str(CORES[-1]), json.dumps(told)]
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115  it lives as long as the process
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, text=True
        )
        self._cpu_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # which tells it to end
        self._process.wait(120)

    def next(self) -> Cycle:
        assert self._process.stdout is not None
        told = self._process.stdout.readline()
        if not told:
            self._complaints.seek(0)
            raise SystemExit(f"it has ended with code {self._process.wait()}: {self._complaints.read()[-2000:]}")
        before_s, self._cpu_s = self._cpu_s, tree_cpu_s(self._process.pid)
        return Cycle(**json.loads(told), cpu_s=self._cpu_s - before_s)

    def since_its_start(self) -> tuple[float, float]:
        """The time of the clock, and that of the processor."""
        return time.monotonic() - self._begun_s, self._cpu_s

    def share_of_others(self) -> float:
        """Of its core, since its start."""
        lasted_s = time.monotonic() - self._begun_s
        return max(0.0, (busy_s(CORES[-1]) - self._busy_s - tree_cpu_s(self._process.pid)) / lasted_s)


# What is measured.


def read_of(topic: str, start: str) -> dict[str, object]:
    return {"topic": topic, "partitions": PARTITIONS[topic], "start": start}


def steady(kafka: Kafka, java: str, seconds: float) -> list[Cycle]:
    with tempfile.TemporaryDirectory() as table:
        told = {"bootstrap": kafka.bootstrap, "table": table, "java": java, "group": "bench", **read_of(WIDE, "latest")}
        with Measured("consumer", **told) as consumer:
            consumer.next()
            say("ready after {:.1f} s by the clock, {:.1f} s of the processor".format(*consumer.since_its_start()))
            consumer.next()  # it has opened its partitions, and its table is made
            with steady_load(kafka):
                until_s, cycles = time.monotonic() + seconds, []
                while time.monotonic() < until_s:
                    cycles.append(consumer.next())
                    show(cycles[-1])
            later = cycles[len(cycles) // 2 :]
            jobs = (later[-1].jobs - later[0].jobs) / (len(later) - 1)
            say(f"the later half of {len(cycles)} cycles, each {jobs:g} job of Spark:")
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
        Measured("streaming", bootstrap=kafka.bootstrap, table=table, topic=WIDE) as streaming,
        steady_load(kafka),
    ):
        found: list[Cycle] = []
        while len(found) <= batches:
            batch = streaming.next()
            if batch.records:
                found.append(batch)
                show(batch)
        later = found[1:]  # the first has what came while it started, and warms up
        say(f"Structured Streaming as it comes, batches: {len(later)}")
        summarize(later)
        warn(streaming.share_of_others())
        return later


def backlog(kafka: Kafka, java: str, megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as table:
        told = {
            "bootstrap": kafka.bootstrap,
            "table": table,
            "java": java,
            "group": f"b{megabytes}",
            **read_of(DEEP, "earliest"),
        }
        with Measured("consumer", **told, megabytes=megabytes) as consumer:
            consumer.next()
            consumer.next()
            begun_s, cycles = time.monotonic(), [consumer.next()]
            while time.monotonic() < begun_s + BACKLOG_S and cycles[-1].behind:
                cycles.append(consumer.next())
            took_s, size = time.monotonic() - begun_s, sum(cycle.bytes for cycle in cycles)
            say(
                f"cycles of {megabytes} MB: {took_s / len(cycles):.2f} s each, {size / took_s / 1e6:.1f} MB/s, "
                f"{size / sum(cycle.cpu_s for cycle in cycles) / 1e6:.1f} MB for each second of the processor"
            )


def show_idle(cycles: list[Cycle]) -> None:
    cpu_s, wall_s = (statistics.fmean(numbers) for numbers in zip(*((c.cpu_s, c.wall_s) for c in cycles), strict=True))
    jobs = cycles[-1].jobs - cycles[0].jobs
    say(f"with nothing to read: {cpu_s:.3f} s of the processor in a cycle of {wall_s:.2f} s, {jobs} jobs of Spark")


def show(cycle: Cycle) -> None:
    say(f"{cycle.records:>7} records, {cycle.wall_s:6.2f} s by the clock, {cycle.cpu_s:6.2f} s of the processor")


def summarize(cycles: list[Cycle]) -> None:
    for what, numbers in {
        "s by the clock": [cycle.wall_s for cycle in cycles],
        "s of the processor": [cycle.cpu_s for cycle in cycles],
        "records": [float(cycle.records) for cycle in cycles],
    }.items():
        say(f"    {statistics.median(numbers):8.2f} {what}, {percentile_95(numbers):8.2f} in one of twenty")


def judge(cycles: list[Cycle]) -> None:
    """Against what a cycle is to take at most, which nothing but a machine that does nothing else can show."""
    late = sum(cycle.wall_s > TARGET_S for cycle in cycles)
    verdict = "reached" if statistics.median(cycle.wall_s for cycle in cycles) <= TARGET_S else "MISSED"
    say(f"    at most {TARGET_S:g} s are wanted: {verdict}, {late} of {len(cycles)} took longer")


def percentile_95(numbers: list[float]) -> float:
    return sorted(numbers)[-max(1, round(0.05 * len(numbers)))]


def warn(share: float) -> None:
    if share > BUSY:
        say(f"    BUSY: others took {share:.0%} of its core. Idle, the clock would show less.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds",
        type=float,
        default=150.0,
        help="of steady load, of which the later half counts (default: %(default)g)",
    )
    parser.add_argument(
        "--batches", type=int, default=3, help="of Structured Streaming, 0: none (default: %(default)d)"
    )
    parser.add_argument("--backlog", type=int, default=0, help="records of a backlog (default: none)")
    parser.add_argument("--java", default="", help="options of the JVM, to compare")
    options = parser.parse_args()
    if len(CORES) > 1:
        os.sched_setaffinity(0, CORES[:-1])  # the broker and the load don't take from what is measured
    say(f"load of the machine: {os.getloadavg()[0]:.1f} on {len(CORES)} cores")
    with EmbeddedKafka() as broker:
        kafka = Kafka(broker.bootstrap)
        make_topics(Settings(kafka))
        cycles = steady(kafka, options.java, options.seconds)
        if options.batches:
            batches = peer(kafka, options.batches)
            compare(cycles, batches)
        if options.backlog:
            fill(kafka, options.backlog)
            for megabytes in CYCLE_MB:
                backlog(kafka, options.java, megabytes)


def compare(cycles: list[Cycle], batches: list[Cycle]) -> None:
    """Longer batches carry more records, so that the processor's time is told for each record too."""
    wall, cpu = (
        statistics.median([getattr(batch, what) for batch in batches])
        / statistics.median([getattr(cycle, what) for cycle in cycles])
        for what in ("wall_s", "cpu_s")
    )
    each = cpu_s_per_record(batches) / cpu_s_per_record(cycles)
    say(f"a batch takes {wall:.0f} times as long as a cycle by the clock, and {cpu:.0f} times the processor's time")
    say(f"    ({each:.1f} times for each record: a batch has all that came while the one before it ran)")


def cpu_s_per_record(cycles: list[Cycle]) -> float:
    return sum(cycle.cpu_s for cycle in cycles) / sum(cycle.records for cycle in cycles)


if __name__ == "__main__":
    main()
