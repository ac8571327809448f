"""Policies that choose a number of members, and leave it to an assignor who reads what: KEDA, Flink, uForwarder, and
fixed sizes."""

import math
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from restow.model import Assignment, ConsumerId, TopicPartition
from restow.rivals.assignors import ASSIGNORS, Assignor
from restow.rivals.flink import FlinkAutoscaler
from restow.rivals.hpa import HorizontalPodAutoscaler
from restow.rivals.keda import replicas
from restow.rivals.uforwarder import UForwarder
from restow.study.comparison.accounting import Accounting, Outcome
from restow.study.comparison.loads import Load
from restow.study.comparison.members import Members, by_load
from restow.study.comparison.times import Times

RECORD_BYTES: Final = 1000.0
FIRST_FILL: Final = 0.7
"""Every policy begins with as many members as the first load fills to this share."""
KEDA_EVERY_S: Final = 30.0
"""KEDA's polling interval."""
FLINK_EVERY_S: Final = 60.0
"""The operator's reconcile interval."""
UFORWARDER_EVERY_S: Final = 30.0


class Sizer(Protocol):
    every_s: float

    def wanted(self, accounting: Accounting, size: int) -> int: ...


class Fixed:
    every_s = math.inf

    def wanted(self, accounting: Accounting, size: int) -> int:
        del accounting
        return size


class Keda:
    every_s = KEDA_EVERY_S

    def __init__(self, load: Load, threshold_s: float, is_even: bool, stabilisation_s: float) -> None:
        """`threshold_s`: lagThreshold, in seconds of what one consumer reads."""
        self._partitions, self._is_even = len(load.partitions), is_even
        self._threshold = max(1.0, threshold_s * load.capacity_bytes_per_s / RECORD_BYTES)
        self._autoscaler = HorizontalPodAutoscaler(stabilisation_s=stabilisation_s)

    def wanted(self, accounting: Accounting, size: int) -> int:
        lag = accounting.lag_bytes() / RECORD_BYTES
        if self._is_even:
            lag = replicas(lag, self._partitions, self._threshold, is_even=True) * self._threshold
        lag = min(lag, self._partitions * self._threshold)
        return self._autoscaler.replicas(accounting.now_s, lag, self._threshold, size, self.every_s)


class Flink:
    every_s = FLINK_EVERY_S

    def __init__(self, load: Load, utilisation: float, scale_down_interval_s: float) -> None:
        boundary = min(0.3, 1.0 - utilisation)
        self._most = len(load.partitions)
        self._rule = FlinkAutoscaler(
            load.capacity_bytes_per_s, utilisation, boundary, scale_down_interval_s=scale_down_interval_s
        )

    def wanted(self, accounting: Accounting, size: int) -> int:
        rate, lag = float(accounting.seen().sum()), float(accounting.backlog.sum())
        return min(self._most, self._rule.parallelism(accounting.now_s, rate, lag, size))


class Uber:
    every_s = UFORWARDER_EVERY_S

    def __init__(self, load: Load, fill: float, down_window_s: float) -> None:
        self._most = len(load.partitions)
        self._rule = UForwarder(fill * load.capacity_bytes_per_s, down_window_s=down_window_s)

    def wanted(self, accounting: Accounting, size: int) -> int:
        return min(self._most, self._rule.workers(accounting.now_s, float(accounting.seen().sum()), size))


def run(load: Load, times: Times, sizer: Sizer, protocol: str, assignor: str, size: int | None = None) -> Outcome:
    """`size`: of a fixed group; others begin with what the first load needs. The assignor `load` deals by speed."""
    accounting = Accounting(load.speeds, load.capacity_bytes_per_s, times.cycle_s, load.counted_from_s)
    first = size or math.ceil(load.speeds[:, 0].sum() / (FIRST_FILL * load.capacity_bytes_per_s))
    chosen = _assignor(assignor, accounting)
    members = Members(accounting, load.partitions, chosen, protocol, times, max(1, first))
    due_s = sizer.every_s
    while not accounting.is_over:
        members.tick()
        if accounting.now_s >= due_s:
            due_s = accounting.now_s + sizer.every_s
            members.scale_to(sizer.wanted(accounting, members.size))
        accounting.advance(members.size)
    return accounting.outcome()


def _assignor(name: str, accounting: Accounting) -> Assignor:
    if name != "load":
        return ASSIGNORS[name]

    def by_present_load(
        partitions: Iterable[TopicPartition], members: Sequence[ConsumerId], before: Assignment
    ) -> Assignment:
        return by_load(accounting.seen())(partitions, members, before)

    return by_present_load
