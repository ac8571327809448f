"""The published latency study: how late records are read under a policy. Calculated, not measured on a live system.

Time goes in steps of 30 s. In each step a policy (latency_policies.py) sees the speeds and assigns partitions. What a
consumer kept and what it has just received are two streams of records, each with 30 samples per unit of speed. In a
stream with speed w, sample i is written i/w after the start of the step; a consumer that reads the stream at rate r
reads it i/r after that start. So its latency is (1/r - 1/w) i plus the stream's first latency, and at least 0:

    kept       starts with the latency that the consumer had at the end of the previous step;
               r = 133, the real capacity, or min(133, w) if the consumer also receives partitions
    received   starts with 5 s, the time a move takes;  r = 133 - the r of the kept stream

The first step is free: a first placement is no move. Percentiles are over all samples of a run. A moved partition
starts at 5 s wherever it comes from, and a backlog at the end of a step stays with the consumer.

"Overloaded" is the share, in per cent, of consumer-steps (one consumer in one step) with a speed above the real
capacity. "Stale" is the same run with every decision seeing the speeds of the previous step.

The procedure leaves out the monitor's delay (except in "stale"), the time to start a consumer, differences between
pauses, backlogs that follow their partition, bursts and skew. The published trace is unknown, but it was a light one:
on traces with as little speed (1,325 in total, where the average is 1,600) the published figures come out. `restow
study latency` runs it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Final

import numpy as np
import numpy.typing as npt

from restow.model import Assignment, ConsumerId, Speeds
from restow.study.latency_policies import PACKING_LIMIT, REAL_CAPACITY, policy

STEP_S: Final = 30
"""Duration of a step. A unit of speed is one sample a second."""
MOVE_S: Final = 5.0
"""How long a moving partition has no reader."""
LEAST_READ_RATE: Final = 1.0
"""Read rate of received partitions if the kept ones leave nothing, where the procedure would divide by 0. Happens only
if a recorded trace has partitions faster than a consumer."""

Samples = npt.NDArray[np.float64]
Trace = Sequence[Speeds]
"""Speeds step by step, in the study's unit: a consumer is packed up to 100 and reads 133."""


@dataclass(frozen=True, slots=True)
class Row:
    """A policy's figures: means per step, latencies in seconds, overloads in per cent.

    Moves and R (moved speed, in packing limits) leave out the first step, in which nothing can move.
    """

    policy: str
    consumers: float
    moves: float
    r: float
    p50: float
    p90: float
    p99: float
    p999: float
    overloaded: float
    overloaded_stale: float


@dataclass(frozen=True, slots=True)
class Step:
    speeds: Speeds
    before: Assignment
    after: Assignment


def study(name: str, trace: Trace) -> Row:
    steps = list(decided(name, trace, seen=trace))
    stale = list(decided(name, trace, seen=[trace[0], *trace[:-1]]))
    moved = [[step.speeds[move.partition] for move in step.before.moves_to(step.after)] for step in steps[1:]]
    p50, p90, p99, p999 = percentiles_s(streams(steps), (50, 90, 99, 99.9))
    return Row(
        policy=name,
        consumers=fmean(len(step.after.consumers) for step in steps),
        moves=fmean(len(speeds) for speeds in moved) if moved else 0.0,
        r=fmean(sum(speeds) / PACKING_LIMIT for speeds in moved) if moved else 0.0,
        p50=p50,
        p90=p90,
        p99=p99,
        p999=p999,
        overloaded=overloaded_percent(steps),
        overloaded_stale=overloaded_percent(stale),
    )


def mean(rows: Sequence[Row]) -> Row:
    """Mean of one policy over several traces."""
    [name] = {row.policy for row in rows}
    numbers = (field.name for field in fields(Row) if field.name != "policy")
    return Row(name, *(fmean(getattr(row, number) for row in rows) for number in numbers))


def decided(name: str, trace: Trace, seen: Trace) -> Iterator[Step]:
    """Runs a policy over a trace; each decision sees the speeds in `seen` instead of the real ones."""
    decide = policy(name, {partition for speeds in trace for partition in speeds})
    current, previous = Assignment(), None
    for speeds, visible in zip(trace, seen, strict=True):
        following = decide(visible, current, previous)
        yield Step(speeds, current, following)
        current, previous = following, visible


def overloaded_percent(steps: Sequence[Step]) -> float:
    loads = [load for step in steps for load in step.after.loads(step.speeds).values()]
    return 100.0 * sum(load > REAL_CAPACITY for load in loads) / max(len(loads), 1)


@dataclass(frozen=True, slots=True)
class Stream:
    """Records written and read at these rates for one step; the first is `first_s` late."""

    written: float
    read: float
    first_s: float

    @property
    def samples(self) -> int:
        return round(STEP_S * self.written)

    @property
    def late_s(self) -> Samples:
        """Latencies of the samples that have to wait; later ones are read at once."""
        if not self.samples:
            return np.empty(0)
        slope = 1 / self.read - 1 / self.written
        late = min(self.samples, math.ceil(self.first_s / -slope)) if slope < 0 else self.samples
        return np.arange(late, dtype=np.float64) * slope + self.first_s

    @property
    def last_s(self) -> float:
        """Latency of a record written at the end of the step."""
        share = self.written / self.read if self.written else 0.0
        return max((share - 1) * STEP_S + self.first_s, 0.0)


def streams(steps: Iterable[Step]) -> Iterator[Stream]:
    """For each step and consumer, the stream it kept and the one it received."""
    last_s: dict[ConsumerId, float] = {}
    for step in steps:
        received = {move.partition for move in step.before.moves_to(step.after)}
        last_s_before, last_s = last_s, {}
        for consumer, held in step.after.by_consumer.items():
            speeds_kept = [step.speeds.get(partition, 0.0) for partition in held if partition not in received]
            speeds_received = [step.speeds.get(partition, 0.0) for partition in held if partition in received]
            kept = Stream(
                written=sum(speeds_kept),
                read=min(REAL_CAPACITY, sum(speeds_kept)) if speeds_received else REAL_CAPACITY,
                first_s=last_s_before.get(consumer, 0.0),
            )
            yield kept
            last_s[consumer] = kept.last_s
            if speeds_received:
                moved = Stream(sum(speeds_received), max(REAL_CAPACITY - kept.read, LEAST_READ_RATE), MOVE_S)
                yield moved
                last_s[consumer] = max(kept.last_s, moved.last_s)


def percentiles_s(streams: Iterable[Stream], per_cents: Sequence[float]) -> tuple[float, ...]:
    """Percentiles over all samples, interpolated. Most samples are read at once, so only late ones are stored."""
    samples, parts = 0, [np.empty(0)]
    for stream in streams:
        samples += stream.samples
        parts.append(stream.late_s)
    late = np.sort(np.concatenate(parts))
    on_time = samples - late.size

    def value(rank: int) -> float:
        return float(late[rank - on_time]) if on_time <= rank < samples else 0.0

    found = []
    for per_cent in per_cents:
        rank = per_cent / 100 * max(samples - 1, 0)
        low, high = math.floor(rank), math.ceil(rank)
        found.append(value(low) + (rank - low) * (value(high) - value(low)))
    return tuple(found)
