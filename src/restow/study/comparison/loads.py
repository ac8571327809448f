"""The workloads of a comparison: a table of speeds for each name and seed, or one's own trace."""

import random
from dataclasses import dataclass
from math import ceil
from typing import Final

from restow.model import Speeds, TopicPartition
from restow.simulator.scenario import TRACE_STEP_S
from restow.simulator.workloads import GENERATORS, RARE, STEP_S, Table, generated, recorded

HOUR_S: Final = 3600.0
WORKLOADS: Final = (*GENERATORS, *RARE)
MEAN_FILL: Final = 0.8
"""Partitions are so fast that `per_consumer` of them fill a consumer to this share, on average."""
FASTEST: Final = 0.7
"""No generated partition is faster than this share of a consumer."""


@dataclass(frozen=True)
class Load:
    workload: str
    seed: int
    hours: float
    partitions: tuple[TopicPartition, ...]
    capacity_bytes_per_s: float
    speeds: Table

    @property
    def counted_from_s(self) -> float:
        """The first minutes don't count: every policy finds its size in them."""
        return min(600.0, 0.1 * self.hours * HOUR_S)


@dataclass(frozen=True)
class Shape:
    """How large the groups of a comparison are."""

    hours: float = 2.0
    partitions: int = 48
    per_consumer: int = 6
    capacity_bytes_per_s: float = 1_000_000.0
    topics: int = 2
    trace: tuple[Speeds, ...] | None = None

    def load(self, workload: str, seed: int) -> Load:
        steps = ceil(self.hours * HOUR_S / STEP_S)
        if self.trace is not None:
            names = tuple(sorted({partition for speeds in self.trace for partition in speeds}))
            table = recorded(self.trace, names, steps, round(TRACE_STEP_S / STEP_S))
            return Load(workload, seed, self.hours, names, self.capacity_bytes_per_s, table)
        names = tuple(
            sorted(TopicPartition(f"topic-{n % self.topics}", n // self.topics) for n in range(self.partitions))
        )
        mean = self.capacity_bytes_per_s * MEAN_FILL / self.per_consumer
        rng = random.Random(f"compare/{workload}/{seed}")
        table = generated(workload, rng, self.partitions, steps, mean, self.capacity_bytes_per_s * FASTEST)
        return Load(workload, seed, self.hours, names, self.capacity_bytes_per_s, table)
