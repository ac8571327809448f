"""The process behind `restow monitor`: samples the cluster, measures speeds and publishes them, in one loop.

Every wait has a time limit. While the brokers don't answer, at its start or later, the monitor publishes nothing, since
its figures would be stale: it logs that once and retries with exponential backoff. After an outage longer than its
window the meter starts over. Rejected credentials and missing rights on restow's own topics end it at the start, when a
person looks at it; later they are ridden out too.
"""

import logging
import time
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from restow.backoff import Backoff
from restow.clock import utc_now
from restow.errors import RestowError
from restow.health import Health
from restow.kafka.admin import Admin
from restow.kafka.channels.publisher import Publisher
from restow.kafka.channels.services import Services
from restow.kafka.errors import NotAllowed
from restow.kafka.sampler import Interest, Sampler
from restow.kafka.topics import ensure_topics
from restow.metrics.board import Board
from restow.metrics.measurements import MonitorCounts
from restow.monitor.meter import Meter, MeterReading, MeterSettings
from restow.monitor.pace import is_news, publish_every_s, sample_after_s
from restow.protocol.measurement import Measurement, headers_of
from restow.protocol.measurement_parts import records_of
from restow.settings import Settings

log = logging.getLogger(__name__)

ANSWER_WITHIN_S: Final = 5.0
BACKOFF: Final = Backoff(first_s=0.5, longest_s=30.0)


class Monitor:
    def __init__(self, settings: Settings, board: Board | None = None) -> None:
        """`board` gets its metrics."""
        self._settings = settings
        self._admin = Admin(settings.kafka, ANSWER_WITHIN_S)
        self._interest = Interest(settings.monitor.topics, settings.consume, settings.topics.names)
        self._services: Services | None = None
        self._sampler = Sampler(self._admin, self._interest)
        self._meter = Meter(
            MeterSettings(
                window_s=settings.monitor.window_s,
                threshold=settings.monitor.filter_threshold,
                smoothing_s=settings.monitor.filter_smoothing_s,
            )
        )
        self._publisher = Publisher(settings.kafka, settings.topics.monitor, ANSWER_WITHIN_S)
        self._name = f"monitor-{uuid.uuid4().hex[:8]}"
        self._headers = headers_of(self._name, settings.group.name)
        self._published = 0
        """Names each measurement, with the monitor's own name."""
        self._has_topics = False
        self._publish_due_s = 0.0
        self._newest: MeterReading | None = None
        self._took_s = 0.0
        """The last sample."""
        self._failures = 0
        """Failed samples in a row; not 0 before something is published again."""
        self._logged = set[type[RestowError]]()
        """The kinds of failures in this row that were logged."""
        self._has_begun = False
        self._board = board or Board("monitor", settings.group.name)
        self._counts = MonitorCounts(self._board.tallies)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._services is not None:
            self._services.close()
        self._admin.close()

    def run(self, should_stop: Callable[[float], bool], health: Health) -> None:
        """Samples until `should_stop(seconds)`, which waits that long between two samples, returns True."""
        pause_s = 0.0
        while not should_stop(pause_s):
            health.alive()
            begun_s = time.monotonic()
            measurement = self.sample()
            if measurement is not None:
                health.ready()
            self._counts.sampled(measurement, time.monotonic(), time.monotonic() - begun_s)
            self._board.publish(self._counts.newest.samples)
            # The pause is counted from the start of a sample; after a longer sample the next one follows at once.
            pause_s = max(0.0, begun_s + self.pause_s - time.monotonic())

    @property
    def pause_s(self) -> float:
        """Seconds from the start of one sample to that of the next."""
        if self._failures:
            return BACKOFF.pause_s(self._failures)
        return sample_after_s(self._settings.monitor.sample_every_s, self._took_s, self._newest)

    def sample(self) -> Measurement | None:
        """Samples the cluster once. Returns the measurement that it published, or None if it published none. Raises
        NotAllowed if restow's topics may not be used at the start."""
        try:
            measurement = self._measure_and_publish()
        except NotAllowed as error:
            if not self._has_begun:
                raise
            self._failed(error)
            return None
        except RestowError as error:
            self._failed(error)
            return None
        if measurement is None:
            self._failures = min(self._failures, 1)  # brokers that answer a question may still refuse a record
        elif self._failures:
            self._failures = 0
            self._logged.clear()
            log.info("the brokers answer again; speeds are being published")
        return measurement

    def _measure_and_publish(self) -> Measurement | None:
        if not self._has_topics:
            ensure_topics(self._admin, self._settings.topics)
            self._has_topics = self._has_begun = True
        self._read_services()
        begun_s = time.monotonic()
        sample = self._sampler.sample()
        self._newest = reading = self._meter.take(sample)
        self._took_s = time.monotonic() - begun_s
        if reading is None or not self._is_due(sample.time_s, reading):
            return None
        every_s = publish_every_s(self._settings.monitor.publish_every_s, len(sample.partitions))
        self._publish_due_s = sample.time_s + every_s
        return self._publish(reading)

    def _is_due(self, time_s: float, reading: MeterReading) -> bool:
        # Samples are never exactly on time: without half an interval of tolerance, every second one would be skipped.
        is_time = time_s >= self._publish_due_s - self._settings.monitor.sample_every_s / 2
        return is_time or is_news(self._settings.monitor.publish_every_s, reading)

    def _read_services(self) -> None:
        """Applies the service topic's changes to the topics that restow.toml names."""
        if self._services is None:
            self._services = Services(self._settings)  # not before its topic exists: the reader would not find it later
        for update in self._services.poll():
            if update.topic is not None:
                is_consumed = {"remove": False, "reset": None}.get(update.action, True)
                self._interest.update(update.topic, is_consumed=is_consumed)

    def _publish(self, reading: MeterReading) -> Measurement:
        measurement = reading.to_measurement(utc_now())
        measurement = measurement.with_stable_offsets(self._admin.stable_offsets(measurement.partitions))
        self._published += 1
        try:
            self._publisher.publish_all(records_of(measurement, f"{self._name}/{self._published}", self._headers))
        except RestowError:
            self._has_topics = False  # the topic may have been deleted: create it again
            raise
        return measurement

    def _failed(self, error: RestowError) -> None:
        if type(error) not in self._logged:  # brokers that come up refuse for other reasons than lost ones
            self._logged.add(type(error))
            log.warning("%s; no speeds are published until a retry succeeds", error)
        self._failures += 1
        self._newest = None
        self._counts.failed()
        self._publish_due_s = 0.0
        self._admin.close()  # it reconnects at its next request; until then nothing retries in the background
