"""The process behind `restow monitor`: samples the cluster, measures, publishes. One loop, and every wait has a limit.

While brokers don't answer nothing is published, since what is known gets stale: that is said once, tries follow after
growing pauses, and when they answer again it goes on. After more than a window without an answer the meter starts over.
"""

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

from restow.errors import RestowError
from restow.health import Health
from restow.kafka.admin import Admin
from restow.kafka.channels.publisher import Publisher
from restow.kafka.channels.services import Services
from restow.kafka.sampler import Interest, Sampler, Say
from restow.kafka.topics import ensure_topics
from restow.monitor.meter import Meter, MeterReading, MeterSettings
from restow.protocol.measurement import Measurement, encode, headers_of
from restow.settings import Settings

ANSWER_WITHIN_S: Final = 5.0
SHORTEST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0


class Monitor:
    def __init__(self, settings: Settings, say: Say) -> None:
        self._settings, self._say = settings, say
        self._admin = Admin(settings.kafka, ANSWER_WITHIN_S)
        self._interest = Interest(settings.monitor.topics, settings.consume)
        self._services: Services | None = None
        self._sampler = Sampler(self._admin, self._interest, say)
        self._meter = Meter(
            MeterSettings(
                window_s=settings.monitor.window_s,
                threshold=settings.monitor.filter_threshold,
                smoothing_s=settings.monitor.filter_smoothing_s,
            )
        )
        self._publisher = Publisher(settings.kafka, settings.topics.monitor, ANSWER_WITHIN_S)
        self._headers = headers_of(sender=f"monitor-{uuid.uuid4().hex[:8]}")
        self._has_topics = False
        self._publish_due_s = 0.0
        self._trouble: str | None = None
        self._pause_s = SHORTEST_PAUSE_S

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._services is not None:
            self._services.close()
        self._admin.close()

    def run(self, told_to_stop: Callable[[float], bool], signs: Health) -> None:
        """Until it is told to stop, for which `told_to_stop` is asked and waits so many seconds after each look."""
        pause_s = 0.0
        while not told_to_stop(pause_s):
            signs.alive()
            begun_s = time.monotonic()
            if self.look() is not None:
                signs.ready()
            pause_s = self._pause_s if self._trouble else self._settings.monitor.sample_every_s
            # From begin to begin; a look that takes longer than that is followed by the next one at once.
            pause_s = max(0.0, begun_s + pause_s - time.monotonic())

    def look(self) -> Measurement | None:
        """One look at the cluster. Gives what was published, if anything was."""
        try:
            published = self._measure_and_publish()
        except RestowError as error:
            self._in_trouble(str(error))
            return None
        self._pause_s = SHORTEST_PAUSE_S
        if self._trouble and published:  # not before: who answers a question may not take a record yet
            self._say("going on: the brokers answer again")
            self._trouble = None
        return published

    def _measure_and_publish(self) -> Measurement | None:
        if not self._has_topics:
            ensure_topics(self._admin, self._settings.topics)
            self._has_topics = True
        self._read_services()
        sample = self._sampler.sample()
        reading = self._meter.take(sample)
        # Half a sample early is on time: samples are never exact, and every second one would be passed over.
        is_due = sample.time_s >= self._publish_due_s - self._settings.monitor.sample_every_s / 2
        if reading is None or not is_due:
            return None
        self._publish_due_s = sample.time_s + self._settings.monitor.publish_every_s
        return self._publish(reading)

    def _read_services(self) -> None:
        """What the group is to consume besides what restow.toml says, and what no longer."""
        if self._services is None:
            self._services = Services(
                self._settings, self._say
            )  # not before its topic is there: it would not look again
        for update in self._services.poll():
            if update.topic is not None:
                words = {"remove": False, "reset": None}
                self._interest.update(update.topic, is_consumed=words.get(update.action, True))

    def _publish(self, reading: MeterReading) -> Measurement:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        measurement = reading.to_measurement(now)
        try:
            self._publisher.publish(encode(measurement), self._headers)
        except RestowError:
            self._has_topics = False  # perhaps somebody deleted it: make it again
            raise
        return measurement

    def _in_trouble(self, line: str) -> None:
        if self._trouble is None:
            self._say(f"{line}; nothing is published until that is over, tries go on")
        else:
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        self._trouble, self._publish_due_s = line, 0.0
        self._admin.close()  # it connects anew when it is asked again; until then nothing tries in the background
