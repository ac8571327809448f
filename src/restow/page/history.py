"""The last day of the group in bounded memory: figures every ten seconds, and coarser samples of partitions.

A sample of a large group is large, so that samples are merged to fewer when they take too much: two neighbours become
one, with the larger lag. Any order of samples gives the same, because the past is read while new pictures come.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from restow.clock import as_iso
from restow.model import ConsumerId, TopicPartition
from restow.page.samples import Columns, GroupFigures, Sample
from restow.picture.picture import Decision
from restow.protocol.codec import to_plain

KEPT_S: Final = 86_400.0
FINEST_S: Final = 10.0
"""Whole pictures come this often."""
MOST_ROWS: Final = 4_000_000
"""Rows of all samples together, 16 bytes each: 64 MB."""
MOST_DECISIONS: Final = 2_000
FORGET_EVERY_S: Final = 300.0
LAST_S: Final = 4e9
"""In the year 2096."""


class History:
    def __init__(self, most_rows: int = MOST_ROWS) -> None:
        self._most_rows = most_rows
        self._figures: dict[int, GroupFigures] = {}
        """By bins of FINEST_S."""
        self._bin_s = FINEST_S
        self._samples: dict[int, Sample] = {}
        """By bins of `_bin_s`."""
        self._rows = 0
        self._decisions: dict[tuple[str, str], Decision] = {}
        self._forgotten_s = 0.0
        self.is_complete = False
        """Whether the pictures from before the page's start were read."""

    def add(self, sample: Sample) -> None:
        self._add_figures(int(sample.time_s // FINEST_S), sample.group)
        self._add_sample(sample)
        for decision in sample.decisions:
            self._decisions.setdefault((decision.time, decision.summary), decision)
        if len(self._decisions) > MOST_DECISIONS:
            del self._decisions[min(self._decisions)]
        if sample.time_s - self._forgotten_s >= FORGET_EVERY_S:
            self._forgotten_s = sample.time_s
            self._forget(sample.time_s - KEPT_S)
        while self._rows > self._most_rows and self._bin_s < KEPT_S:
            self._coarsen()

    @property
    def since_s(self) -> float | None:
        return min(self._figures) * FINEST_S if self._figures else None

    def decisions(self, from_s: float = 0.0, to_s: float = math.inf) -> tuple[Decision, ...]:
        """Newest first."""
        low, high = as_iso(from_s), as_iso(min(to_s, LAST_S))
        found = [decision for (time, _), decision in self._decisions.items() if low <= time <= high]
        return tuple(sorted(found, key=lambda decision: decision.time, reverse=True))

    def series(self, from_s: float, to_s: float, points: int) -> dict[str, Any]:
        """The group's figures in `points` intervals at most, none shorter than the pictures are apart."""
        width = max(FINEST_S, (to_s - from_s) / points)
        count = max(1, math.ceil((to_s - from_s) / width))
        bins: list[list[GroupFigures]] = [[] for _ in range(count)]
        for at in sorted(self._figures):
            place = math.floor((at * FINEST_S - from_s) / width)
            if 0 <= place < count:
                bins[place].append(self._figures[at])
        lists = {
            "consumers": _each(bins, lambda figures: figures[-1].consumers),
            "ready": _each(bins, lambda figures: figures[-1].ready),
            "load_bytes_per_s": _each(bins, lambda figures: _mean(each.load_bytes_per_s for each in figures)),
            "capacity_bytes_per_s": _each(bins, lambda figures: figures[-1].capacity_bytes_per_s),
            "lag_records": _each(bins, lambda figures: _most(each.lag_records for each in figures)),
            "lag_seconds_max": _each(bins, lambda figures: _most(each.lag_seconds_max for each in figures)),
        }
        decisions = [to_plain(decision) for decision in self.decisions(from_s, to_s)]
        return {"times": [as_iso(from_s + n * width) for n in range(count)], **lists, "decisions": decisions}

    def of_partition(self, partition: TopicPartition) -> dict[str, list[Any]]:
        return _lists([(each.time_s, each.partitions) for each in self._in_order()], partition)

    def of_consumer(self, consumer: ConsumerId) -> dict[str, list[Any]]:
        return _lists([(each.time_s, each.consumers) for each in self._in_order()], consumer)

    def _in_order(self) -> list[Sample]:
        return [self._samples[at] for at in sorted(self._samples)]

    def _add_figures(self, at: int, figures: GroupFigures) -> None:
        before = self._figures.get(at)
        self._figures[at] = figures if before is None else before.merged(figures)

    def _add_sample(self, sample: Sample) -> None:
        at = int(sample.time_s // self._bin_s)
        before = self._samples.get(at)
        if before is not None:
            self._rows -= before.size
            sample = _merged(*sorted((before, sample), key=lambda each: each.time_s))
        self._samples[at] = sample
        self._rows += sample.size

    def _forget(self, before_s: float) -> None:
        for at in [at for at in self._figures if at * FINEST_S < before_s]:
            del self._figures[at]
        for at in [at for at in self._samples if (at + 1) * self._bin_s <= before_s]:
            self._rows -= self._samples.pop(at).size
        oldest = as_iso(max(0.0, before_s))
        for key in [key for key in self._decisions if key[0] < oldest]:
            del self._decisions[key]

    def _coarsen(self) -> None:
        samples, self._samples, self._rows = self._samples, {}, 0
        self._bin_s *= 2
        for sample in samples.values():
            self._add_sample(sample)


def _merged(early: Sample, late: Sample) -> Sample:
    return Sample(
        late.time_s,
        late.group,
        early.partitions.merged(late.partitions),
        early.consumers.merged(late.consumers),
        (),
    )


def _lists(columns: list[tuple[float, Columns[Any]]], key: TopicPartition | ConsumerId) -> dict[str, Any]:
    found = [(at_s, each, each.rows[key]) for at_s, each in columns if key in each.rows]
    return {
        "times": [as_iso(at_s) for at_s, _, _ in found],
        "speeds": [_shown(each.speeds[row]) for _, each, row in found],
        "lag_records": [_whole(each.lag_records[row]) for _, each, row in found],
        "lag_seconds": [_shown(each.lag_seconds[row]) for _, each, row in found],
        "places": [_whole(each.places[row]) for _, each, row in found],
    }


def _each(bins: list[list[GroupFigures]], figure: Callable[[list[GroupFigures]], Any]) -> list[Any]:
    return [figure(figures) if figures else None for figures in bins]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(math.fsum(known) / len(known), 1) if known else None


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _shown(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 1)


def _whole(number: float) -> int | None:
    return None if math.isnan(number) else round(number)
