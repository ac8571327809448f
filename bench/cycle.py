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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from restow.kafka.admin import Admin
from restow.kafka.broker import EmbeddedKafka
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.settings import ClientProperties, Consumer, Group, Kafka, Settings, Spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
HEAP = "600m"
CORES = sorted(os.sched_getaffinity(0))
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
ENDED = (FileNotFoundError, ProcessLookupError)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def complain(line: str) -> None:
    sys.stderr.write(f"{line}\n")


# Records.


def value(number: int, size: int) -> bytes:
    head = json.dumps({"id": number, "customer": f"c{number % 997}", "amount": number % 10_000})
    return (head[:-1] + ', "note": "' + "x" * (size - len(head) - 12) + '"}').encode()


def parsed(records: "DataFrame") -> "DataFrame":
    """The transform: JSON is parsed, and its columns are named."""
    from pyspark.sql import functions  # noqa: PLC0415  who starts the bench doesn't load Spark

    order = functions.from_json(functions.col("value").cast("string"), "id long, customer string, amount long")
    return records.select(order.alias("order")).select("order.*")


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
    """One of this file's own roles in a process of its own, on the last core, that tells of each cycle in a line."""

    def __init__(self, role: str, **told: object) -> None:
        self._begun_s, self._busy_s = time.monotonic(), busy_s(CORES[-1])
        command = [sys.executable, __file__, "--role", role, "--told", json.dumps(told)]
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


def steady(kafka: Kafka, java: str, seconds: float) -> list[Cycle]:
    with tempfile.TemporaryDirectory() as table:
        told = {"bootstrap": kafka.bootstrap, "table": table, "java": java, "topic": WIDE, "group": "bench"}
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
        Measured("streaming", bootstrap=kafka.bootstrap, table=table) as streaming,
        steady_load(kafka),
    ):
        found: list[Cycle] = []
        while len(found) <= batches:
            batch = streaming.next()
            if batch.records:
                found.append(batch)
                show(batch)
        later = found[1:]  # the first has what came while it started, and warms up
        say(f"{len(later)} batches of Structured Streaming as it comes:")
        summarize(later)
        warn(streaming.share_of_others())
        return later


def backlog(kafka: Kafka, java: str, megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as table:
        told = {"bootstrap": kafka.bootstrap, "table": table, "java": java, "topic": DEEP, "group": f"b{megabytes}"}
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


# The roles of the processes that are measured.


def consumer(tell: Callable[..., None], is_to_end: Callable[[], bool], told: Mapping[str, Any]) -> None:
    """As `restow consumer` runs it: the first line when it would say that it is ready, the second when it has its
    partitions."""
    from restow.consumer.effects import ChangeAssignment, RunCycle  # noqa: PLC0415  loading is part of the start
    from restow.pipeline.assembly import spark_pipeline  # noqa: PLC0415
    from restow.protocol.messages import RECOVER, StartFrom, TopicService  # noqa: PLC0415

    topic, java, limit = told["topic"], told["java"], told.get("megabytes")
    settings = Settings(
        Kafka(told["bootstrap"]),
        group=Group(told["group"]),
        consumer=Consumer(cycle_s=60.0, cycle_bytes=limit * 1_000_000) if limit else Consumer(),
        spark=Spark(properties=ClientProperties({"spark.driver.extraJavaOptions": java} if java else {})),
    )
    environment = {"RESTOW_CORES": "1", "RESTOW_MEMORY_MB": "1024"}
    pipeline = spark_pipeline(settings, "bench", ConsumerId(1), environment, complain)
    pipeline.warm_up(is_to_end)
    tell()
    service = TopicService(
        table=told["table"], transform="cycle:parsed", start="latest" if topic == WIDE else "earliest"
    )
    topics = SortedMapping({topic: service})
    starts: dict[TopicPartition, StartFrom] = {TopicPartition(topic, n): RECOVER for n in range(PARTITIONS[topic])}
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
    from pyspark.sql import SparkSession  # noqa: PLC0415

    from restow.kafka.jars import fetch  # noqa: PLC0415
    from restow.pipeline.jars import CONNECTOR  # noqa: PLC0415

    builder: Any = SparkSession.builder
    jars = os.pathsep.join(str(jar) for jar in sorted(fetch(CONNECTOR, say).glob("*.jar")))
    for name, setting in {"master": "local[1]", "driver.memory": HEAP, "driver.extraClassPath": jars}.items():
        builder = builder.config(f"spark.{name}", setting)
    session = builder.getOrCreate()
    read = session.readStream.format("kafka").option("kafka.bootstrap.servers", told["bootstrap"])
    rows = parsed(read.option("subscribe", WIDE).load())
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


def play(role: str, told: Mapping[str, Any]) -> None:
    os.sched_setaffinity(0, {CORES[-1]})
    end = threading.Event()

    def tell(records: int = 0, size: int = 0, behind: int = 0, wall_s: float = 0.0) -> None:
        say(json.dumps({"records": records, "bytes": size, "behind": behind, "wall_s": wall_s, "jobs": jobs()}))

    def jobs() -> int:
        from pyspark import SparkContext  # noqa: PLC0415

        context: Any = SparkContext._active_spark_context
        return int(context._jsc.sc().dagScheduler().nextJobId()) if context else 0

    def listen() -> None:
        sys.stdin.read()
        end.set()

    threading.Thread(target=listen, daemon=True).start()
    ROLES[role](tell, end.is_set, told)


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
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--told", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        play(options.role, json.loads(options.told))
        return
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
