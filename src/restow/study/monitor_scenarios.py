"""The scenarios of the monitor study: when a producer writes how much, and its true speed.

The same scenario is applied to a model of a broker's log in accelerated time (monitor_simulation.py) and by a real
producer in real time (`restow.study.monitor_live`).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from restow.errors import InvalidInput
from restow.model import TopicPartition
from restow.study.workload import read_trace

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PUBLISHED_RECORD_BYTES: Final = 123
PUBLISHED_PAUSES_S: Final = (0.01, 2.0)
"""The producer of the published work: one record, then a pause that is uniform in this range, and so on."""

RECORD_BYTES: Final = 1000
REPLAY_RECORDS_PER_S: Final = 500
REPLAY_RECORD_BYTES: Final = (10, 500_000)
"""The limits of a replay's record size, which is chosen so that about this many records a second give its speed."""


class ScenarioPhase(NamedTuple):
    """A time span in which the speed changes linearly from one value to another, or is constant."""

    seconds: float
    from_bytes_per_s: float
    to_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class ProducerScenario:
    name: str
    phases: tuple[ScenarioPhase, ...]
    record_bytes: int = RECORD_BYTES
    pauses_s: tuple[float, float] | None = None
    """The range of uniformly random pauses between records. None: records are evenly spaced by the speed."""

    @property
    def duration_s(self) -> float:
        return sum(phase.seconds for phase in self.phases)

    @property
    def begins_s(self) -> Floats:
        """When each phase begins."""
        return np.concatenate([[0.0], np.cumsum([phase.seconds for phase in self.phases])[:-1]])

    def phase_at(self, time_s: Floats) -> Integers:
        return np.clip(np.searchsorted(self.begins_s, time_s, side="right") - 1, 0, len(self.phases) - 1)

    def speed_at(self, time_s: Floats) -> Floats:
        """In bytes/s of the records without batch overhead."""
        phase = self.phase_at(time_s)
        seconds, first, last = np.array(self.phases, dtype=np.float64).T
        share = np.clip((time_s - self.begins_s[phase]) / seconds[phase], 0.0, 1.0)
        return np.asarray(first[phase] + share * (last[phase] - first[phase]))

    def writes_s(self, random: np.random.Generator) -> Floats:
        """The times at which the producer writes a record."""
        if self.pauses_s:
            return self._after_pauses(random)
        grid = np.arange(0.0, self.duration_s, 0.01)
        written = np.concatenate([[0.0], np.cumsum(self.speed_at(grid + 0.005)) * 0.01])
        wanted = np.arange(self.record_bytes, written[-1], self.record_bytes, dtype=np.float64)
        due_s = np.interp(wanted, written, np.append(grid, self.duration_s))
        # A real producer is never exact: each record comes a little early or late, by up to half a gap.
        gap_s = np.diff(due_s, prepend=0.0)
        return np.asarray(np.clip(due_s + gap_s * random.uniform(-0.5, 0.5, len(due_s)), 0.0, self.duration_s))

    def _after_pauses(self, random: np.random.Generator) -> Floats:
        assert self.pauses_s is not None
        least_s, most_s = self.pauses_s
        enough = int(2 * self.duration_s / (least_s + most_s) * 1.5) + 100
        times_s = np.cumsum(random.uniform(least_s, most_s, enough))
        return np.asarray(times_s[times_s < self.duration_s])


def step() -> ProducerScenario:
    """Up threefold, down by half, up fourfold, down to a twelfth."""
    levels = (200e3, 600e3, 300e3, 1200e3, 100e3)
    return ProducerScenario("step", tuple(ScenarioPhase(60.0, level, level) for level in levels))


def random() -> ProducerScenario:
    mean = PUBLISHED_RECORD_BYTES / (sum(PUBLISHED_PAUSES_S) / 2)
    return ProducerScenario("random", (ScenarioPhase(600.0, mean, mean),), PUBLISHED_RECORD_BYTES, PUBLISHED_PAUSES_S)


def ramp() -> ProducerScenario:
    low, high = 100e3, 1000e3
    return ProducerScenario(
        "ramp", (ScenarioPhase(60.0, low, low), ScenarioPhase(120.0, low, high), ScenarioPhase(60.0, high, high))
    )


def burst() -> ProducerScenario:
    """A burst of one sample, which is no change of speed, then one of 10 s, which is."""
    calm = 200e3
    return ProducerScenario(
        "burst",
        (
            ScenarioPhase(60.0, calm, calm),
            ScenarioPhase(1.0, 10 * calm, 10 * calm),
            ScenarioPhase(60.0, calm, calm),
            ScenarioPhase(10.0, 5 * calm, 5 * calm),
            ScenarioPhase(60.0, calm, calm),
        ),
    )


SCENARIOS: Final[dict[str, Callable[[], ProducerScenario]]] = {
    "step": step,
    "random": random,
    "ramp": ramp,
    "burst": burst,
}


def replay(file: Path, step_s: float) -> ProducerScenario:
    """The fastest partition of a recorded trace, each step for the given seconds."""
    steps = read_trace(file).speeds()
    totals: Counter[TopicPartition] = Counter()
    for speeds in steps:
        totals.update(speeds)
    if not any(totals.values()):
        raise InvalidInput(f"{file}: nothing was written in it; a replay needs a partition with a speed above 0")
    fastest = max(sorted(totals), key=lambda partition: totals[partition])
    return _replayed([speeds.get(fastest, 0.0) for speeds in steps], step_s)


def cut_to(scenario: ProducerScenario, duration_s: float) -> ProducerScenario:
    """The scenario with another duration: cut short, or with a longer last phase."""
    kept, left_s = [], duration_s
    for index, phase in enumerate(scenario.phases):
        is_last = index == len(scenario.phases) - 1 or phase.seconds >= left_s
        seconds = left_s if is_last else phase.seconds
        share = min(1.0, seconds / phase.seconds)
        reached = phase.from_bytes_per_s + share * (phase.to_bytes_per_s - phase.from_bytes_per_s)
        kept.append(ScenarioPhase(seconds, phase.from_bytes_per_s, reached))
        left_s -= seconds
        if is_last:
            break
    return replace(scenario, phases=tuple(kept))


def _replayed(speeds: Sequence[float], step_s: float) -> ProducerScenario:
    least, most = REPLAY_RECORD_BYTES
    record_bytes = int(np.clip(np.mean(speeds) / REPLAY_RECORDS_PER_S, least, most))
    return ProducerScenario("replay", tuple(ScenarioPhase(step_s, speed, speed) for speed in speeds), record_bytes)
