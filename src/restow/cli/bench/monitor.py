"""`restow bench monitor`: the cost of sampling, measuring and publishing many partitions."""

import argparse
import time
import tracemalloc
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Final, TypeVar

from rich.table import Column

from restow.cli.support.options import Subparsers, list_of, whole_number
from restow.cli.support.output import print_json, right, show, table
from restow.errors import RestowError
from restow.model import TopicPartition
from restow.monitor.meter import Meter, MeterSettings
from restow.monitor.sample import Sample, whole_numbers
from restow.protocol.measurement import headers_of
from restow.protocol.measurement_parts import records_of

if TYPE_CHECKING:
    from restow.kafka.admin import Admin, Cluster
    from restow.kafka.channels.publisher import Publisher
    from restow.kafka.record_sizes import Answers
    from restow.kafka.sampler import Sampler

PARTITIONS: Final = (100, 1000, 5000, 50_000)
MOST_REAL: Final = 5000
"""The embedded broker carries no more; above this, brokers' answers come from a recording."""
ROUNDS: Final = 7
DELIVER_WITHIN_S: Final = 10.0
SHOWN_WITHIN_S: Final = 120.0

DESCRIPTION = """\
Measures the monitor's work: one sample (leaders, sizes and offsets of all partitions), one measurement over a full
window of 30 samples, and its publication. Up to 5,000 partitions are real, on the embedded broker; above that the
brokers' answers come from a recording, and only restow's part is measured. Each figure is the median of 7 rounds. CPU
is that of the monitor's process with all its threads, without the broker.
"""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Row:
    partitions: int
    sources: str
    """real | recorded"""
    sample: Cost
    measure: Cost
    publish: Cost
    cpu_s: float
    """Of all three."""
    record_bytes: int
    memory_mb: float
    """Held by a meter with a full window."""


def add(benches: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = benches.add_parser("monitor", help="cost of a measurement of many partitions", description=DESCRIPTION)
    parser.add_argument(
        "--partitions",
        type=list_of(whole_number(1)),
        default=PARTITIONS,
        metavar="N,…",
        help=f"how many partitions (default: {','.join(map(str, PARTITIONS))})",
    )
    parser.add_argument("--json", action="store_true", help='print {"rows": […]} and nothing else')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.kafka.admin import Admin
    from restow.kafka.embedded.broker import EmbeddedKafka
    from restow.settings import Kafka

    with EmbeddedKafka() as broker, Admin(kafka := Kafka(broker.bootstrap)) as admin:
        rows = [_measured(kafka.bootstrap, admin, count) for count in args.partitions]
    if args.json:
        print_json({"rows": [asdict(row) for row in rows]})
    else:
        _show(rows)
    return 0


def _measured(bootstrap: str, admin: "Admin", count: int) -> Row:
    from restow.kafka.channels.publisher import Publisher
    from restow.kafka.sampler import Interest, Sampler
    from restow.settings import Kafka

    topic, published = f"bench-{count}-{uuid.uuid4().hex[:8]}", f"bench-monitor-{uuid.uuid4().hex[:8]}"
    _create(admin, published, 1)
    is_real = count <= MOST_REAL
    if is_real:
        _create(admin, topic, count)
    sampler = Sampler(admin if is_real else recording(topic, count), Interest([topic]))
    try:
        publisher = Publisher(Kafka(bootstrap), published, DELIVER_WITHIN_S)
        return _row(sampler, publisher, count, "real" if is_real else "recorded")
    finally:
        if is_real:
            admin.delete_topic(topic)


def _create(admin: "Admin", name: str, partitions: int) -> None:
    """Waits long: a broker takes a while to create thousands of partitions."""
    admin.create_topic(name, partitions)
    deadline = time.monotonic() + SHOWN_WITHIN_S
    while time.monotonic() < deadline:
        leaders = admin.cluster().leaders.get(name, ())
        if len(leaders) == partitions and min(leaders) >= 0:
            return
        time.sleep(0.2)
    raise RestowError(f"{name} with {partitions} partitions was not ready in {SHOWN_WITHIN_S:g} s")


def _row(sampler: "Sampler", publisher: "Publisher", count: int, sources: str) -> Row:
    sample, sampled = _median(sampler.sample)
    meter, memory_mb = _filled(sample)
    samples = iter([_later(sample, seconds) for seconds in range(31, 31 + ROUNDS)])
    reading, measuring = _median(lambda: meter.take(next(samples)))
    assert reading is not None

    def publish() -> int:
        measurement = reading.to_measurement("2026-01-01T00:00:00.000Z")
        records = records_of(measurement, "bench/1", headers_of("bench", "bench"))
        publisher.publish_all(records)
        return sum(len(record.value) for record in records)

    size, publishing = _median(publish)
    cpu_s = sampled.cpu_s + measuring.cpu_s + publishing.cpu_s
    return Row(count, sources, sampled, measuring, publishing, cpu_s, size, memory_mb)


def _median(work: Callable[[], T]) -> tuple[T, Cost]:
    """The last round's result, and the median cost of a round."""
    costs = []
    for _ in range(ROUNDS):
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        result = work()
        costs.append(Cost(time.perf_counter() - wall_s, time.process_time() - cpu_s))
    return result, Cost(median(cost.wall_s for cost in costs), median(cost.cpu_s for cost in costs))


def _filled(sample: Sample) -> tuple[Meter, float]:
    tracemalloc.start()
    meter = Meter(MeterSettings())
    for seconds in range(31):
        meter.take(_later(sample, seconds))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return meter, held / 1e6


def _later(sample: Sample, seconds: int) -> Sample:
    """The same partitions some seconds later, each with its own speed."""
    written = seconds * whole_numbers(range(1, len(sample.partitions) + 1))
    return replace(
        sample,
        time_s=sample.time_s + seconds,
        end_offset=sample.end_offset + written,
        size_bytes=sample.size_bytes + 100 * written,
    )


@dataclass(frozen=True, slots=True)
class Recording:
    """Stands in for the brokers: their answers about one large topic."""

    topic: str
    answers: dict[TopicPartition, int]
    shown: "Cluster"

    def cluster(self) -> "Cluster":
        return self.shown

    def topic_ids(self, topics: Iterable[str]) -> Mapping[str, str]:
        return dict.fromkeys(topics, "recorded")

    def cleanup_policies(self, topics: Iterable[str]) -> Mapping[str, str | RestowError]:
        return dict.fromkeys(topics, "delete")

    def log_sizes(self, _node: int, _topics: Iterable[str] | None = None) -> Mapping[TopicPartition, int]:
        return self.answers

    def record_sizes(self, _ranges: Mapping[TopicPartition, range]) -> "Answers":
        return {}, None

    def start_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, _partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self.answers


def recording(topic: str, count: int) -> Recording:
    from restow.kafka.admin import Cluster

    answers = {TopicPartition(topic, number): 1000 + number for number in range(count)}
    return Recording(topic, answers, Cluster(nodes=(1,), leaders={topic: (1,) * count}))


def _show(rows: Sequence[Row]) -> None:
    names = ("sample s", "cpu s", "measure s", "cpu s", "publish s", "cpu s", "all: cpu s", "record kB", "memory MB")
    listing = table(right("partitions"), Column("sources"), *map(right, names))
    for row in rows:
        costs = (cost for step in (row.sample, row.measure, row.publish) for cost in (step.wall_s, step.cpu_s))
        listing.add_row(
            f"{row.partitions:,}",
            row.sources,
            *(f"{cost:.3f}" for cost in (*costs, row.cpu_s)),
            f"{row.record_bytes / 1e3:,.0f}",
            f"{row.memory_mb:.1f}",
        )
    show(listing)
