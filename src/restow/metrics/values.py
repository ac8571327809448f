"""Frozen samples, and the tallies that a process's loop keeps between two of them. Pure."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from restow.metrics.families import Family


@dataclass(frozen=True, slots=True)
class Since:
    """An age, counted when it is read: it grows on while the loop that wrote it hangs."""

    time_s: float
    """A monotonic clock's."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram's values."""

    counts: tuple[int, ...]
    """Of each bucket, not cumulated; the last is for values above all bounds."""
    sum: float


Value = float | Since | Distribution


class Sample(NamedTuple):
    family: Family
    labels: tuple[str, ...]
    """The values of the family's labels."""
    value: Value


Derive = Callable[[], Iterable[Sample]]
"""Makes samples from frozen values. Called when Prometheus scrapes, outside the loop's thread."""


class Tallies:
    """Counters and histograms of one process. Only its loop's thread touches them."""

    def __init__(self) -> None:
        self._counters: dict[tuple[Family, tuple[str, ...]], float] = {}
        self._histograms: dict[tuple[Family, tuple[str, ...]], tuple[list[int], float]] = {}

    def begin(self, family: Family, *labels: str) -> None:
        """Shows the series with 0, so that its first increase is seen as one."""
        if family.kind == "histogram":
            self._histograms.setdefault((family, labels), ([0] * (len(family.buckets) + 1), 0.0))
        else:
            self._counters.setdefault((family, labels), 0.0)

    def count(self, family: Family, by: float = 1.0, *labels: str) -> None:
        assert by >= 0, f"{family.name} is a counter"
        self._counters[family, labels] = self._counters.get((family, labels), 0.0) + by

    def observe(self, family: Family, value: float, *labels: str) -> None:
        self.begin(family, *labels)
        counts, total = self._histograms[family, labels]
        counts[bisect_left(family.buckets, value)] += 1
        self._histograms[family, labels] = (counts, total + value)

    def samples(self) -> tuple[Sample, ...]:
        """Frozen copies."""
        counted = (Sample(family, labels, value) for (family, labels), value in self._counters.items())
        observed = (
            Sample(family, labels, Distribution(tuple(counts), total))
            for (family, labels), (counts, total) in self._histograms.items()
        )
        return (*counted, *observed)
