"""Workloads: the speed of each partition over time, as a daily wave, bursts, skew, growth, a flash crowd, an outage of
the producers or a recorded trace.

A workload is a table of speeds, with one row per partition and one column per step of `STEP_S`; every speed is a whole
number of bytes/s, so that it is the same on every machine. All randomness comes from the generator passed in.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from restow.model import Speeds, TopicPartition

STEP_S: Final = 10.0
DAY_S: Final = 86_400.0

Table = NDArray[np.float64]
Generator = Callable[[random.Random, int, int], Table]
"""(generator, partitions, steps) -> shares of the mean speed."""


def uniform(rng: random.Random, *shape: int) -> Table:
    """An array of values from 0 to 1, the same on every machine."""
    count = math.prod(shape)
    drawn = np.frombuffer(rng.randbytes(4 * count), dtype="<u4").astype(np.float64)
    return (drawn / 2**32).reshape(shape)


def noise(rng: random.Random, partitions: int, steps: int, share: float) -> Table:
    """Values around 1 that change gradually from step to step."""
    walk = np.empty((partitions, steps))
    now = np.zeros(partitions)
    for step, kick in enumerate(uniform(rng, steps, partitions) - 0.5):
        now = 0.9 * now + kick
        walk[:, step] = now
    return np.clip(1 + share * walk, 0.1, None)


def daily(rng: random.Random, partitions: int, steps: int) -> Table:
    """Quiet nights and busy days. A run shorter than a day gets one compressed day."""
    day = min(DAY_S / STEP_S, float(steps))
    own_hour = 0.08 * uniform(rng, partitions, 1)
    phase = np.arange(steps)[None, :] / day - own_hour
    wave = 1 - 0.7 * np.cos(2 * np.pi * phase)
    return _sizes(rng, partitions, 3.0) * wave * noise(rng, partitions, steps, 0.15)


def bursts(rng: random.Random, partitions: int, steps: int) -> Table:
    """A steady load, in which some partitions become several times as fast for some minutes."""
    table = noise(rng, partitions, steps, 0.1)
    for _ in range(max(3, steps // 40)):
        begin, length = rng.randrange(steps), rng.randint(6, 36)
        first, count = rng.randrange(partitions), max(1, partitions // rng.randint(3, 8))
        hit = [(first + n) % partitions for n in range(count)]
        table[hit, begin : begin + length] *= rng.uniform(2.0, 3.5)
    return _sizes(rng, partitions, 2.0) * table


def skew(rng: random.Random, partitions: int, steps: int) -> Table:
    """A few partitions have most of the load (Zipf), and now and then two swap their shares."""
    ranks = list(range(1, partitions + 1))
    rng.shuffle(ranks)
    share = 1 / np.array(ranks, float) ** 0.6
    table = np.empty((partitions, steps))
    for step in range(steps):
        if rng.random() < 0.03:
            one, other = rng.randrange(partitions), rng.randrange(partitions)
            share[[one, other]] = share[[other, one]]
        table[:, step] = share
    return table * noise(rng, partitions, steps, 0.15)


def growth(rng: random.Random, partitions: int, steps: int) -> Table:
    """Three times the load at the end as at the beginning."""
    return _sizes(rng, partitions, 3.0) * np.linspace(0.5, 1.5, steps)[None, :] * noise(rng, partitions, steps, 0.1)


def flash_crowd(rng: random.Random, partitions: int, steps: int) -> Table:
    """A steady load that becomes four times as high within a minute, stays so for a tenth of the run, and fades."""
    begin, length = round(steps * rng.uniform(0.3, 0.5)), max(6, steps // 10)
    crowd = np.ones(steps)
    crowd[begin:] = 4.0
    crowd[begin : begin + 6] = np.linspace(1.0, 4.0, len(crowd[begin : begin + 6]))
    fading = np.arange(max(0, steps - begin - length))
    crowd[begin + length :] = 1 + 3 * np.exp(-fading / max(1.0, length / 3))
    hit = 0.3 + 0.7 * uniform(rng, partitions, 1)  # not every partition sees all of the crowd
    return _sizes(rng, partitions, 2.0) * (1 + (crowd[None, :] - 1) * hit) * noise(rng, partitions, steps, 0.1)


def outage(rng: random.Random, partitions: int, steps: int) -> Table:
    """Producers stop twice, for some minutes, and then send what they kept: three times the load for a while."""
    table = _sizes(rng, partitions, 2.0) * noise(rng, partitions, steps, 0.1)
    for part in (0.35, 0.7):
        begin, length = round(steps * (part + rng.uniform(-0.05, 0.05))), rng.randint(18, 48)
        table[:, begin : begin + length] = 0.0
        table[:, begin + length : begin + length + length // 2] *= 3.0
    return table


GENERATORS: Final[dict[str, Generator]] = {"daily": daily, "bursts": bursts, "skew": skew, "growth": growth}
"""What seeds draw from: another one would change the runs of all of them."""
RARE: Final[dict[str, Generator]] = {"flash-crowd": flash_crowd, "outage": outage}
"""By name only."""


def generated(name: str, rng: random.Random, partitions: int, steps: int, mean: float, most: float) -> Table:
    """`mean` and `most` in bytes/s; no partition exceeds `most`, so that a consumer can carry it."""
    table = {**GENERATORS, **RARE}[name](rng, partitions, steps)
    return np.asarray(np.rint(np.clip(table * (mean / table.mean()), 0, most)))


def surged(table: Table, begin: int, rising: int, factor: float, most: float) -> Table:
    """The same, with a rise to this multiple over `rising` steps from `begin` on, which lasts as long and then ends."""
    end = min(begin + 2 * rising, table.shape[1])
    share = np.minimum(1.0, (np.arange(begin, end) - begin + 1) / rising)
    table = table.copy()
    table[:, begin:end] = np.rint(np.clip(table[:, begin:end] * (1 + (factor - 1) * share), 0, most))
    return table


def silenced(table: Table, begin: int, steps: int) -> Table:
    """The same, with a time in which nothing is written."""
    table = table.copy()
    table[:, begin : begin + steps] = 0.0
    return table


def recorded(trace: Sequence[Speeds], partitions: Sequence[TopicPartition], steps: int, each: int) -> Table:
    """One step of the trace lasts `each` steps here; a trace that is too short repeats."""
    columns = [[speeds.get(partition, 0.0) for partition in partitions] for speeds in trace]
    return np.asarray(np.rint(np.array([columns[step // each % len(columns)] for step in range(steps)], float).T))


def _sizes(rng: random.Random, partitions: int, ratio: float) -> Table:
    """Partitions differ by up to this ratio."""
    return 1 + (ratio - 1) * uniform(rng, partitions, 1)
