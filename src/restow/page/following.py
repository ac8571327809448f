"""The thread that reads Kafka for the page: the newest picture as it changes, and once the last day. Where the day has
no pictures, because no controller ran, it takes the speeds from the monitor topic.

It owns its clients and hands frozen values to `post`, which is safe to call from this thread.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from restow.backoff import Backoff, News, Retries
from restow.errors import RestowError
from restow.kafka.channels.history import read_history
from restow.kafka.channels.status import StatusReader
from restow.kafka.channels.status_history import StatusRecord, read_status
from restow.kafka.errors import NoAnswer
from restow.page.backfill import Backfill
from restow.page.gaps import Gap, Gaps
from restow.page.history import FINEST_S, KEPT_S
from restow.page.samples import Sample, Sampler
from restow.page.times import utc_s
from restow.page.updates import Update, Updates
from restow.picture.parts import Assembler
from restow.picture.picture import Picture
from restow.settings import Settings

log = logging.getLogger(__name__)

FOLLOW_FOR_S: Final = 0.25
QUIET_S: Final = 12.0
"""A controller publishes every 10 s. After this long without a picture the brokers are asked whether they are there."""
CHECK_EVERY_S: Final = 5.0
RETRY: Final = Backoff(first_s=1.0, longest_s=10.0)
STATUS: Final = "status"


@dataclass(frozen=True, slots=True)
class Seen:
    """A new picture."""

    update: Update
    sample: Sample


@dataclass(frozen=True, slots=True)
class Empty:
    """Kafka answers, and the topic has no picture."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A picture of the past."""

    sample: Sample


@dataclass(frozen=True, slots=True)
class DayRead:
    """The whole last day was read."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Kafka answers, whether or not there is a new picture."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    words: str


Heard = Seen | Empty | Remembered | DayRead | Answered | Unreachable


class Following(threading.Thread):
    def __init__(self, settings: Settings, post: Callable[[Heard], None]) -> None:
        super().__init__(name="following", daemon=True)
        self._settings, self._post = settings, post
        self._is_ending = threading.Event()
        self._updates, self._sampler, self._backfill = Updates(), Sampler(), Backfill()
        self._day: Iterator[list[StatusRecord]] | None = None
        self._gaps = Gaps(time.time() - KEPT_S)
        self._between: Iterator[Sample] | None = None
        """Samples of the times between pictures, once the pictures are read."""
        self._is_day_read = False
        self._news = News()
        self._retries = Retries(RETRY)
        self.turned_s = time.monotonic()
        """When the loop last turned."""

    def stop(self) -> None:
        self._is_ending.set()
        self.join()

    def run(self) -> None:
        while not self._is_ending.is_set():
            try:
                with StatusReader(self._settings, Assembler) as reader:
                    self._follow(reader)
            except RestowError as error:
                self._failed(error)
            self._turn()

    def _failed(self, error: RestowError) -> None:
        if self._retries.failed(STATUS, time.monotonic(), type(error).__name__):
            log.warning("%s; retrying", error)
        self._post(Unreachable(str(error)))
        self._is_ending.wait(self._retries.pause_s(STATUS))

    def _turn(self) -> None:
        self.turned_s = time.monotonic()

    def _follow(self, reader: StatusReader[Picture]) -> None:
        """Until it is stopped, or the topic is another one. Raises RestowError."""
        picture = reader.newest()
        if self._retries.succeeded(STATUS):
            log.info("reading %s again", self._settings.topics.status)
        self._post(Answered())
        if picture is None:
            self._post(Empty())
        else:
            self._saw(picture)
        heard_s = checked_s = time.monotonic()
        while not self._is_ending.is_set():
            self._turn()
            now_s = time.monotonic()
            if reader.follow(0.0 if self._read_day() else FOLLOW_FOR_S) and reader.picture is not None:
                heard_s = now_s
                self._saw(reader.picture)
            elif now_s - max(heard_s, checked_s) >= (QUIET_S if heard_s >= checked_s else CHECK_EVERY_S):
                checked_s = now_s
                if not reader.check():
                    return
                self._post(Answered())

    def _saw(self, picture: Picture) -> None:
        last = self._updates.last
        if last is None or last.picture != picture:
            self._post(Seen(self._updates.made(picture, time.monotonic()), self._sampler.sampled(picture)))

    def _read_day(self) -> bool:
        """Reads a little more of the last day. Returns whether there is more. Raises RestowError."""
        if self._is_day_read:
            return False
        if self._between is not None:
            return self._read_between(self._between)
        if self._day is None:
            since_s = time.time() - KEPT_S
            self._day, self._gaps = read_status(self._settings, round(since_s * 1000)), Gaps(since_s)
        try:
            records = next(self._day)
        except StopIteration:
            self._between = self._samples_between()
            return True
        except RestowError:
            self._day = None
            raise
        for record in records:
            self._gaps.heard(record.time_ms / 1000)
        for sample in self._backfill.samples(records):
            self._post(Remembered(sample))
        return True

    def _read_between(self, samples: Iterator[Sample]) -> bool:
        """Reads a little more of the times without pictures. Returns whether there is more. Without the right to do so,
        or without a monitor topic, they stay empty. Raises NoAnswer; the next call begins anew."""
        try:
            self._post(Remembered(next(samples)))
            return True
        except StopIteration:
            pass
        except NoAnswer:
            self._between = None
            raise
        except RestowError as error:
            log.info("%s; times without a controller stay empty in the history", error)
        self._is_day_read = True
        self._post(DayRead())
        return False

    def _samples_between(self) -> Iterator[Sample]:
        last = self._updates.last
        sampler = Sampler()
        for gap in self._gaps.to_read(time.time(), 0 if last is None else len(last.picture.partitions)):
            yield from self._samples_in(gap, sampler)

    def _samples_in(self, gap: Gap, sampler: Sampler) -> Iterator[Sample]:
        """Samples of the gap from the monitor topic, without its two ends, for which there are pictures."""
        begin_s, end_s, due_s = gap.from_s + FINEST_S, gap.to_s - FINEST_S, 0.0

        def is_due(record_s: float) -> bool:
            return record_s >= min(due_s, end_s)

        with closing(read_history(self._settings, round(begin_s * 1000), is_due=is_due)) as measurements:
            for measurement in measurements:
                measured_s = utc_s(measurement.time)
                if measured_s >= end_s:
                    return
                due_s = measured_s + FINEST_S
                if measured_s >= begin_s:
                    yield sampler.measured(measurement)
