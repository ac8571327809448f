"""The model of backlog, latency, overload and cost that all policies of a comparison share.

Time goes in steps of 5 s. In a step, a consumer reads up to its capacity, shared among its partitions in proportion to
what each has unread; a partition that pauses or has no consumer keeps what is written to it. The latency of a record
is the time until it is read, by the order of writing, plus one cycle. A consumer is overloaded while more is written
to its partitions than its capacity. A consumer costs from the wish for it until it has left. The first minutes don't
count, in which every policy finds its size."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from restow.simulator.workloads import STEP_S as COLUMN_S
from restow.simulator.workloads import Table

STEP_S: Final = 5.0
SEEN_S: Final = 30.0
"""Policies see the mean speed of this time, which is the monitor's window."""
NOBODY: Final = -1
HOUR_S: Final = 3600.0

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A policy over a load."""

    consumer_hours: float
    moves: int
    latency_p99_s: float
    overloaded_consumer_s: float

    @classmethod
    def mean(cls, outcomes: "Sequence[Outcome]") -> "Outcome":
        count = len(outcomes)
        return cls(
            sum(each.consumer_hours for each in outcomes) / count,
            round(sum(each.moves for each in outcomes) / count),
            sum(each.latency_p99_s for each in outcomes) / count,
            sum(each.overloaded_consumer_s for each in outcomes) / count,
        )


@dataclass(slots=True)
class _Late:
    """Bytes that were read late, and how late."""

    delays_s: list[Numbers] = field(default_factory=list)
    sizes: list[Numbers] = field(default_factory=list)
    on_time: float = 0.0

    def quantile(self, share: float) -> float:
        if not self.delays_s:
            return 0.0
        delays, sizes = np.concatenate(self.delays_s), np.concatenate(self.sizes)
        order = np.argsort(delays)
        seen = self.on_time + np.cumsum(sizes[order])
        place = int(np.searchsorted(seen, share * seen[-1]))
        return float(delays[order][min(place, len(order) - 1)]) if self.on_time < share * seen[-1] else 0.0


class Accounting:
    def __init__(self, speeds: Table, capacity_bytes_per_s: float, cycle_s: float, counted_from_s: float) -> None:
        """`speeds` has a row for each partition and a column for each 10 s."""
        each = round(COLUMN_S / STEP_S)
        self._speeds = np.repeat(speeds, each, axis=1)
        self._written = np.concatenate([np.zeros((len(speeds), 1)), np.cumsum(self._speeds * STEP_S, axis=1)], axis=1)
        self._capacity, self._cycle_s, self._counted_from_s = capacity_bytes_per_s, cycle_s, counted_from_s
        self.owner = np.full(len(speeds), NOBODY, np.int64)
        self.backlog: Numbers = np.zeros(len(speeds))
        self.read: Numbers = np.zeros(len(speeds))
        """In the last step, of each partition."""
        self._pause_s: Numbers = np.zeros(len(speeds))
        self._late = _Late()
        self._step = 0
        self._moves, self._consumer_s, self._overloaded_s = 0, 0.0, 0.0

    @property
    def now_s(self) -> float:
        return self._step * STEP_S

    @property
    def is_over(self) -> bool:
        return self._step >= int(self._speeds.shape[1])

    @property
    def is_counted(self) -> bool:
        return self.now_s >= self._counted_from_s

    def seen(self, window_s: float = SEEN_S) -> Numbers:
        """The mean speed of each partition over the last window: what is written now isn't known yet."""
        first = max(0, self._step - round(window_s / STEP_S))
        return np.asarray(self._speeds[:, first : max(self._step, 1)].mean(axis=1))

    def written(self) -> Numbers:
        """Bytes of each partition so far."""
        return np.asarray(self._written[:, self._step])

    def stored(self) -> Numbers:
        return self.written() - self.backlog

    def lag_bytes(self) -> float:
        """Of the whole group, as committed offsets show it: with what is in a cycle."""
        present = self._speeds[:, max(0, self._step - 1)]
        return float(self.backlog.sum() + present.sum() * self._cycle_s)

    def assign(self, row: int, consumer: int, pause_s: float) -> None:
        before = self.owner[row]
        if before == consumer:
            return
        self.owner[row] = consumer
        if before != NOBODY:
            self._moves += self.is_counted
            self.pause(row, pause_s)

    def pause(self, row: int, pause_s: float) -> None:
        self._pause_s[row] = max(self._pause_s[row], pause_s)

    def advance(self, consumers: int) -> None:
        """One step with this many consumers, starting ones among them."""
        speed = self._speeds[:, self._step]
        arrived = speed * STEP_S
        is_held = self.owner >= 0
        ready = np.where(is_held, np.clip(1 - self._pause_s / STEP_S, 0.0, 1.0), 0.0)
        demand = (self.backlog + arrived) * ready
        size = int(self.owner.max(initial=0)) + 1
        place = np.where(is_held, self.owner, 0)
        total = np.bincount(place, demand, size)
        share = np.minimum(1.0, self._capacity * STEP_S / np.maximum(total, 1e-9))
        self.read = read = demand * share[place]
        self.backlog = np.maximum(self.backlog + arrived - read, 0.0)
        self._pause_s = np.maximum(self._pause_s - STEP_S, 0.0)
        self._step += 1
        if self.now_s > self._counted_from_s:
            load = np.bincount(place, np.where(is_held, speed, 0.0), size)
            self._overloaded_s += STEP_S * int((load > self._capacity * (1 + 1e-9)).sum())
            self._consumer_s += STEP_S * consumers
            self._note_latency(read)

    def _note_latency(self, read: Numbers) -> None:
        rows = np.nonzero(self.backlog > 1.0)[0]
        self._late.on_time += float(read.sum() - read[rows].sum())
        if not len(rows):
            return
        position = self._written[rows, self._step] - self.backlog[rows]
        written_s = np.array(
            [self._time_of(int(row), size) for row, size in zip(rows, position, strict=True)], dtype=np.float64
        )
        self._late.delays_s.append(self.now_s - written_s)
        self._late.sizes.append(np.maximum(read[rows], 1e-3))

    def _time_of(self, row: int, size: float) -> float:
        """When the byte at this position was written."""
        sums = self._written[row]
        step = max(0, int(np.searchsorted(sums[: self._step + 1], size, side="right")) - 1)
        speed = self._speeds[row, min(step, self._speeds.shape[1] - 1)]
        return step * STEP_S + (float((size - sums[step]) / speed) if speed else 0.0)

    def outcome(self) -> Outcome:
        return Outcome(
            round(self._consumer_s / HOUR_S, 3),
            int(self._moves),
            round(self._late.quantile(0.99) + self._cycle_s, 2),
            self._overloaded_s,
        )
