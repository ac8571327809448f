"""What groups of 10, 100 and 1,000 consumers with 100 partitions each cost in messages, CPU and memory.

`make bench` runs it, as `python -m bench.scale`. Each figure comes from the real parts: the monitor's meter and codec,
the consumers' reports as records, and the controller's machine, which hears a measurement a second and each consumer's
report every 5 s. Nothing has to move. The two processes are measured apart, without Kafka's client: CPU in medians of
some seconds, memory as what the process holds at the end. `--into docs/scale.md` writes the tables there.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
from bench.large_groups import whole_numbers, write_between_marks
from bench.picture import REPORT_S, Group, at

from restow.controller.events import Heard, Received, SpeedsMeasured
from restow.controller.machine import step
from restow.controller.standby import ALIVE_EVERY_S
from restow.model import TopicPartition
from restow.monitor.meter import Meter
from restow.monitor.sample import Sample
from restow.packing import warm_up
from restow.protocol.channels import CONTROLLER, MeasurementReader, decode_on
from restow.protocol.measurement import Measurement, headers_of
from restow.protocol.measurement_parts import MeasurementRecord, records_of
from restow.protocol.messages.unions import FromConsumer
from restow.protocol.records import encode
from restow.text import counted

CONSUMERS: Final = (10, 100, 1_000)
PER_CONSUMER: Final = 100
WINDOW_S: Final = 31
SECONDS: Final = 5
GROUP: Final = "bench"
RECORDS_PER_S: Final = 10
RECORD_BYTES: Final = 100
MARKS: Final = ("<!-- bench/scale.py begin -->\n", "<!-- bench/scale.py end -->\n")
TIME_MARKS: Final = ("<!-- bench/scale.py time begin -->\n", "<!-- bench/scale.py time end -->\n")


@dataclass(frozen=True, slots=True)
class Monitor:
    measure_s: float
    encode_s: float
    measurement_bytes: int
    records: int
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Controller:
    decode_s: float
    """Of one measurement."""
    decide_s: float
    """Of one measurement, with the decision."""
    reports_s: float
    """Of one second's reports: decoding and taking them."""
    reports_bytes: float
    """Of one second's reports."""
    memory_mb: float


def monitor(consumers: int) -> Monitor:
    """Run in a process of its own."""
    partitions = tuple(Group(consumers * PER_CONSUMER, PER_CONSUMER).partitions)
    meter, measuring, encoding = Meter(), [], []
    records: tuple[MeasurementRecord, ...] = ()
    for second in range(WINDOW_S + SECONDS):
        sample = sampled(partitions, second)
        began_s = time.process_time()
        reading = meter.take(sample)
        measured_s = time.process_time()
        if second < WINDOW_S:
            continue
        assert reading is not None
        records = records_of(reading.to_measurement(at(second)), f"bench/{second}", headers_of("bench", GROUP))
        measuring.append(measured_s - began_s)
        encoding.append(time.process_time() - measured_s)
    size = sum(len(record.value) for record in records)
    return Monitor(median(measuring), median(encoding), size, len(records), resident_mb())


def sampled(partitions: tuple[TopicPartition, ...], second: int) -> Sample:
    none = np.zeros(len(partitions), np.int64)
    ends = RECORDS_PER_S * second + np.arange(len(partitions)) * second // len(partitions)
    ids = {partition.topic: partition.topic for partition in partitions}
    return Sample(second + 1.0, partitions, ids, none + 1, none, ends, RECORD_BYTES * ends, none.astype(np.bool_))


def controller(consumers: int) -> Controller:
    """Run in a process of its own."""
    warm_up()
    group = Group(consumers * PER_CONSUMER, PER_CONSUMER)
    state, reader = group.state, MeasurementReader(GROUP)
    decoding, deciding, hearing, sizes = [], [], [], []
    for second in range(SECONDS):
        reports = [encode(heard.message, "bench", GROUP) for heard in group.reports(second).heard]
        sizes.append(sum(len(value) for _, value in reports))
        records = measured(group, second)
        began_s = time.process_time()
        found = None
        for offset, record in enumerate(records):
            headers = tuple((name, text.encode()) for name, text in record.headers.items())
            found = reader.read("bench-monitor", 0, offset, headers, record.value)
        assert isinstance(found, Measurement)
        decoded_s = time.process_time()
        state, _ = step(state, SpeedsMeasured.from_measurement(found))
        decided_s = time.process_time()
        heard = []
        for offset, (headers, value) in enumerate(reports):
            message = decode_on(CONTROLLER, "bench-controller", 0, offset, headers, value, group=GROUP)
            assert isinstance(message, FromConsumer)
            heard.append(Heard(1000 * second + offset, message))
        state, _ = step(state, Received(tuple(heard)))
        hearing.append(time.process_time() - decided_s)
        decoding.append(decoded_s - began_s)
        deciding.append(decided_s - decoded_s)
    return Controller(median(decoding), median(deciding), median(hearing), median(sizes), resident_mb())


def measured(group: Group, second: int) -> tuple[MeasurementRecord, ...]:
    meter, partitions = Meter(), tuple(group.partitions)
    for earlier in range(2):
        reading = meter.take(sampled(partitions, second + earlier))
    assert reading is not None
    return records_of(reading.to_measurement(at(second)), f"bench/{second}", headers_of("bench", GROUP))


def resident_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1000


def alone(consumers: int) -> tuple[Monitor, Controller]:
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        return pool.submit(monitor, consumers).result(), pool.submit(controller, consumers).result()


SIZES: Final = "| consumers | partitions | processes | controller topic | a measurement | monitor | controller |"
TIMES: Final = "| consumers | monitor: measure | encode | controller: decode | decide | a second's reports |"


def sizes_of(consumers: int, ours: Monitor, theirs: Controller) -> str:
    """What doesn't depend on the machine's speed."""
    messages = consumers / REPORT_S + 1 / ALIVE_EVERY_S
    cells = (
        f"{consumers:,}",
        f"{consumers * PER_CONSUMER:,}",
        f"{consumers:,} + 2",
        f"{messages:,.1f} messages/s, {theirs.reports_bytes / 1000:,.0f} kB/s",
        f"{ours.measurement_bytes / 1e6:,.2f} MB in {counted(ours.records, 'record')}",
        f"{ours.memory_mb:,.0f} MB",
        f"{theirs.memory_mb:,.0f} MB",
    )
    return f"| {' | '.join(cells)} |"


def times_of(consumers: int, ours: Monitor, theirs: Controller) -> str:
    each_s = (ours.measure_s, ours.encode_s, theirs.decode_s, theirs.decide_s, theirs.reports_s)
    return f"| {consumers:,} | {' | '.join(f'{1000 * took_s:,.0f} ms' for took_s in each_s)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what groups of some sizes cost, besides their consumers.")
    parser.add_argument("--consumers", type=whole_numbers, default=list(CONSUMERS), help="like 10,100,1000")
    parser.add_argument("--into", type=Path, metavar="FILE", help="write the tables between the marks of this file")
    parser.add_argument("--sizes-only", action="store_true", help="leave out CPU times, on a machine that isn't idle")
    options = parser.parse_args()
    found = [(consumers, *alone(consumers)) for consumers in options.consumers]
    tables = [(SIZES, sizes_of, MARKS)] + ([] if options.sizes_only else [(TIMES, times_of, TIME_MARKS)])
    for heading, row_of, marks in tables:
        rows = (heading, "|" + "---|" * (heading.count("|") - 1), *(row_of(*each) for each in found))
        text = "\n".join((*rows, ""))
        sys.stdout.write(text)
        if options.into is not None:
            write_between_marks(options.into, text, *marks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
