"""Runs a scenario of the monitor study in real time: a scheduled producer writes to a real broker, and the monitor's
own sampler and meter measure it. `restow study monitor` calls it."""

import threading
import time
import uuid
from collections.abc import Callable
from typing import Final

import numpy as np

from restow.errors import RestowError
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.sampler import Interest, Sampler
from restow.kafka.topics import wait_until_shown
from restow.monitor.meter import Meter, MeterSettings
from restow.monitor.pace import sample_after_s
from restow.settings import Kafka
from restow.study.monitor import Observation, SpeedSeries
from restow.study.monitor_scenarios import Floats, ProducerScenario

TICK_S: Final = 0.005
"""How often the producer checks for records that are due."""

DRAIN_WITHIN_S: Final = 30.0


class ScheduledProducer(threading.Thread):
    """Writes a record at each of the given times, in a thread, so that it continues while a sample waits for
    brokers."""

    def __init__(self, kafka: Kafka, topic: str, writes_s: Floats, record_bytes: int) -> None:
        super().__init__(daemon=True)
        self._producer = make_producer(kafka, {"linger.ms": 5})
        self._topic, self._writes_s, self._record = topic, writes_s, b"r" * record_bytes
        self._should_end = threading.Event()
        self.begun_s = 0.0
        """The scenario's second 0 on the monotonic clock."""

    def start(self) -> None:
        self.begun_s = time.monotonic()
        super().start()

    def run(self) -> None:
        written = 0
        while written < len(self._writes_s) and not self._should_end.is_set():
            due = int(np.searchsorted(self._writes_s, time.monotonic() - self.begun_s, side="right"))
            for _ in range(due - written):
                self._producer.produce(self._topic, self._record, partition=0)
            written = max(written, due)
            self._producer.poll(0)
            time.sleep(TICK_S)
        self._producer.flush(DRAIN_WITHIN_S)

    def end(self) -> None:
        self._should_end.set()
        self.join(DRAIN_WITHIN_S + 1.0)


def live(
    scenario: ProducerScenario,
    kafka: Kafka,
    seed: int,
    settings: MeterSettings,
    sample_every_s: float,
    advance: Callable[[], None] = lambda: None,
) -> SpeedSeries:
    """Takes as long as the scenario. It creates a topic for the run and deletes it afterwards."""
    topic = f"restow-study-{uuid.uuid4().hex[:12]}"
    with Admin(kafka) as admin:
        admin.create_topic(topic, 1, settings={"retention.ms": "-1", "retention.bytes": "-1"})
        try:
            wait_until_shown(admin, {topic: 1})
            random = np.random.default_rng(seed)
            writes_s = scenario.writes_s(random)
            # Samples are not aligned with changes of speed: a change may fall anywhere between two of them.
            first_s = float(random.uniform(0.0, sample_every_s))
            producer = ScheduledProducer(kafka, topic, np.sort(writes_s), scenario.record_bytes)
            sampler = Sampler(admin, Interest([topic]))
            rows = _observed(scenario, producer, sampler, Meter(settings), (first_s, sample_every_s), advance)
        finally:
            admin.delete_topic(topic)
    if len(rows) < 2:
        raise RestowError("the brokers answered too seldom to measure anything; try again, or a longer --duration")
    return SpeedSeries.of(scenario, rows)


def _observed(
    scenario: ProducerScenario,
    producer: ScheduledProducer,
    sampler: Sampler,
    meter: Meter,
    samples_s: tuple[float, float],
    advance: Callable[[], None],
) -> list[Observation]:
    """`samples_s`: when the first sample is due, and the usual time to the next."""
    rows = []
    due_s, every_s = samples_s
    producer.start()
    try:
        while due_s < scenario.duration_s:
            time.sleep(max(0.0, producer.begun_s + due_s - time.monotonic()))
            begun_s = time.monotonic()
            sample = sampler.sample()
            measured = meter.take(sample)
            due_s += sample_after_s(every_s, time.monotonic() - begun_s, measured)
            time_s = sample.time_s - producer.begun_s
            if measured and time_s < scenario.duration_s:
                written, records = float(sample.size_bytes[0]), float(sample.end_offset[0])
                raw, filtered = float(measured.bytes_per_s[0]), float(measured.filtered_bytes_per_s[0])
                rows.append(Observation(time_s, written, records, raw, filtered))
            advance()
    finally:
        producer.end()
    return rows
