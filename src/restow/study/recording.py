"""Turns measurements of the monitor into a trace, the file that `restow simulate` and the studies read.

A trace has one element a step. The monitor publishes about once a second, so that a step is the mean of its
measurements; one without any, because the monitor was away, repeats the step before it.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from statistics import fmean
from typing import Final

from restow.model import Speeds, TopicPartition
from restow.protocol.measurement import Measurement

DIGITS: Final = 1
"""A tenth of a byte/s is more than anyone measures."""


class TraceRecorder:
    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._first_s: float | None = None
        self._steps: list[Speeds] = []
        self._present: dict[TopicPartition, list[float]] = {}
        """The speeds of the present step. A partition that was added or removed during it is in some measurements only,
        and its mean is over those."""
        self._is_measured = False

    def add(self, measurement: Measurement) -> None:
        """In the order of the topic. One that is older than the present step counts in it: clocks of two monitors may
        differ."""
        at_s = datetime.fromisoformat(measurement.time).timestamp()
        if self._first_s is None:
            self._first_s = at_s
        while at_s >= self._first_s + self._step_s * (len(self._steps) + 1):
            self._end_step()
        for partition, speed in measurement.speeds.items():
            self._present.setdefault(partition, []).append(speed)
        self._is_measured = True

    def trace(self) -> tuple[Speeds, ...]:
        """All steps, the present one included."""
        return (*self._steps, self._mean()) if self._is_measured else tuple(self._steps)

    def _end_step(self) -> None:
        self._steps.append(self._mean() if self._is_measured else self._steps[-1])
        self._present, self._is_measured = {}, False

    def _mean(self) -> Speeds:
        return Speeds({partition: fmean(speeds) for partition, speeds in self._present.items()})


def trace_text(trace: tuple[Speeds, ...]) -> str:
    """JSON with a step on each line."""
    return "[\n" + ",\n".join(_lines(trace)) + "\n]\n"


def _lines(trace: tuple[Speeds, ...]) -> Iterator[str]:
    for speeds in trace:
        topics: dict[str, dict[str, float]] = {}
        for partition, speed in sorted(speeds.items()):
            topics.setdefault(partition.topic, {})[str(partition.partition)] = round(speed, DIGITS)
        yield json.dumps(topics, separators=(",", ":"))
