"""Counts the monitor's samples. Pure: the process of the monitor gives it each one."""

from collections.abc import Iterator
from dataclasses import dataclass

from restow.metrics.families import MEASURED, MEASURED_SPEED, MEASUREMENT_AGE, PUBLISHED, SAMPLE, SAMPLE_FAILURES
from restow.metrics.values import Sample, Since, Tallies
from restow.protocol.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest measurement. Frozen."""

    measurement: Measurement | None = None
    published_s: float = 0.0
    """By the monotonic clock."""

    def samples(self) -> Iterator[Sample]:
        if self.measurement is not None:
            yield Sample(MEASURED, (), float(len(self.measurement.partitions)))
            yield Sample(MEASURED_SPEED, (), self.measurement.speeds.total)
            yield Sample(MEASUREMENT_AGE, (), Since(self.published_s))


class MonitorCounts:
    def __init__(self, tallies: Tallies) -> None:
        self._tallies, self.newest = tallies, Newest()
        for family in (SAMPLE, SAMPLE_FAILURES, PUBLISHED):
            tallies.begin(family)

    def sampled(self, measurement: Measurement | None, now_s: float, took_s: float) -> None:
        self._tallies.observe(SAMPLE, took_s)
        if measurement is not None:
            self._tallies.count(PUBLISHED)
            self.newest = Newest(measurement, now_s)

    def failed(self) -> None:
        self._tallies.count(SAMPLE_FAILURES)
