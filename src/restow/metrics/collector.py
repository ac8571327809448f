"""Turns a board's frozen values into what prometheus_client prints."""

import math
import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from restow import __version__
from restow.health import Health
from restow.metrics.board import Board
from restow.metrics.families import BUILD_INFO, FAMILIES, LOOP_AGE, READY, Family
from restow.metrics.values import Distribution, Sample, Since


def registry_of(board: Board, health: Health) -> CollectorRegistry:
    """With the figures of the process itself, `process_cpu_seconds_total` and others."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(BoardCollector(board, health))
    ProcessCollector(registry=registry)
    return registry


class BoardCollector(Collector):
    def __init__(self, board: Board, health: Health) -> None:
        self._board, self._health = board, health
        consumer = {} if board.consumer is None else {"consumer": str(board.consumer)}
        self._common = {"group": board.group, **consumer}

    def describe(self) -> Iterator[Metric]:
        """Nothing, so that registering collects nothing."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        metrics = {family: _metric(family) for family in FAMILIES[self._board.role]}
        now_s = time.monotonic()
        for sample in (*self._of_process(), *self._board.read()):
            _add(metrics[sample.family], sample, self._common, now_s)
        return (metric for metric in metrics.values() if metric.samples)

    def _of_process(self) -> Iterator[Sample]:
        pulse, role = self._health.pulse, self._board.role
        yield Sample(BUILD_INFO, (role, __version__), 1.0)
        yield Sample(LOOP_AGE, (role,), Since(pulse.beat_s))
        yield Sample(READY, (role,), float(pulse.is_ready))


def _metric(family: Family) -> Metric:
    return Metric(family.name.removesuffix("_total"), family.help, family.kind)


def _add(metric: Metric, sample: Sample, common: dict[str, str], now_s: float) -> None:
    family, value = sample.family, sample.value
    labels = {**common, **dict(zip(family.labels, sample.labels, strict=True))}
    match value:
        case Distribution(counts, total):
            so_far = 0
            for bound, count in zip((*family.buckets, math.inf), counts, strict=True):
                so_far += count
                upper = "+Inf" if bound == math.inf else str(bound)
                metric.add_sample(f"{family.name}_bucket", {**labels, "le": upper}, so_far)
            metric.add_sample(f"{family.name}_count", labels, so_far)
            metric.add_sample(f"{family.name}_sum", labels, total)
        case Since(time_s):
            metric.add_sample(family.name, labels, max(0.0, now_s - time_s))
        case _:
            metric.add_sample(family.name, labels, value)
