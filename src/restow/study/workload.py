"""Workloads of the studies: the published random walk, seeded, and recorded traces.

`speeds()` returns the speeds of every partition, step by step; `d` is the largest change per step (None for a
recording).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from restow.errors import InvalidInput
from restow.model import Speeds, TopicPartition
from restow.study.strict_json import Element, read

STARTS: Final[dict[str, int | None]] = {"uniform": None, "0": 0, "50": 50, "100": 100}
"""The published starts of a walk: every partition at its own speed, or all at the same."""

TOP_SPEED: Final = 100
"""Walks stay between 0 and this, which is also a consumer's capacity in the published studies."""

FASTEST_RECORDED: Final = 1e18
"""An exabyte/s: a higher speed is a mistake in the file."""

TRACE_FORM: Final = "an array with one object a step, [{topic: {partition: speed}}, …]"
STEP_FORM: Final = 'an object of topics, {"orders": {"7": 1250.0}}'
TOPIC_FORM: Final = 'an object of partitions, {"7": 1250.0}'
SPEED_FORM: Final = f"a number of bytes/s from 0 to {FASTEST_RECORDED:g}"


@dataclass(frozen=True, slots=True)
class Walk:
    """The published generator: in each step every speed changes by a random whole number from -d to d."""

    d: int
    seed: int
    steps: int
    start: int | None = None
    """First speed of all partitions; None: uniform from 0 to 100."""
    partitions: int = 200
    topics: int = 2

    def __len__(self) -> int:
        return self.steps + 1

    def speeds(self) -> tuple[Speeds, ...]:
        """The first speeds, then those after each step."""
        names = [TopicPartition(f"topic-{n % self.topics}", n // self.topics) for n in range(self.partitions)]
        return tuple(Speeds(zip(names, row, strict=True)) for row in self._rows())

    def _rows(self) -> Iterator[list[float]]:
        random = np.random.default_rng((self.seed, self.d))
        row = random.integers(0, TOP_SPEED, size=self.partitions, endpoint=True)
        if self.start is not None:
            row = np.full(self.partitions, self.start)
        yield row.astype(float).tolist()
        for _ in range(self.steps):
            change = random.integers(-self.d, self.d, size=self.partitions, endpoint=True)
            row = np.clip(row + change, 0, TOP_SPEED)
            yield row.astype(float).tolist()


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded trace. Partitions may come and go between steps."""

    steps: tuple[Speeds, ...]
    d: None = None

    def __len__(self) -> int:
        return len(self.steps)

    def speeds(self) -> tuple[Speeds, ...]:
        return self.steps


Workload = Walk | Recording


def read_trace(file: Path) -> Recording:
    """Reads a JSON array with one element per step, `{topic: {partition: speed}}`."""
    whole = read(file)
    steps = tuple(read_speeds(step) for step in whole.elements(TRACE_FORM))
    if not steps:
        raise whole.refused(f"{TRACE_FORM}, with one step or more")
    return Recording(steps)


def read_speeds(step: Element) -> Speeds:
    speeds: dict[TopicPartition, float] = {}
    for topic, partitions in step.entries(STEP_FORM):
        for key, speed in partitions.entries(TOPIC_FORM):
            partition = TopicPartition(topic, _partition_number(key, speed))
            if partition in speeds:
                raise InvalidInput(f"{step.file}: {speed.place} is {partition} once more; it must be given once")
            speeds[partition] = speed.number(SPEED_FORM)
            if speeds[partition] > FASTEST_RECORDED:
                raise speed.refused(SPEED_FORM)
    return Speeds(speeds)


def _partition_number(key: str, speed: Element) -> int:
    if not (key.isascii() and key.isdigit() and len(key) <= len(str(2**31))):
        raise InvalidInput(f"{speed.file}: {speed.place} is not a partition; write the number of one, like orders.7")
    return int(key)
