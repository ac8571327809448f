"""The monitor study: compares the producer's true speed with the monitor's raw and filtered speeds.

`restow study monitor` runs it, simulated or live. Either way a run is a `Series`, summarized by:

    convergence   how long after a change of speed the monitor is within 5 % of the new one, and stays so until the
                  next change; the slowest of the run. Changes to a speed that holds for less than 45 s don't count.
    mean error    mean distance from the true speed, as a share of the mean true speed
    noise         standard deviation as a share of the true speed, where that has stood still for a window
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from restow.study.monitor_scenarios import Floats, Integers, ProducerScenario

TOLERANCE: Final = 0.05
LEAST_PHASE_S: Final = 45.0
SETTLED_AFTER_S: Final = 32.0
"""A window of 30 s, and the sampling interval."""


class Observation(NamedTuple):
    time_s: float
    written_bytes: float
    """Bytes of the log since the start of the run."""
    records: float
    """Records since the start of the run."""
    window_bytes_per_s: float
    filtered_bytes_per_s: float


@dataclass(frozen=True, slots=True, eq=False)
class SpeedSeries:
    """A run: one row per measurement. All speeds are in bytes/s of Kafka's log."""

    scenario: ProducerScenario
    time_s: Floats
    true: Floats
    producer: Floats
    """The producer's mean speed since the previous row."""
    window: Floats
    filtered: Floats

    @classmethod
    def of(cls, scenario: ProducerScenario, rows: Sequence[Observation]) -> "SpeedSeries":
        time_s, written, records, window, filtered = np.array(rows, dtype=np.float64).T
        producer = np.diff(written) / np.diff(time_s)
        return cls(
            scenario,
            time_s,
            scenario.speed_at(time_s) * _framing(scenario, time_s, written, records),
            np.concatenate([producer[:1], producer]),
            window,
            filtered,
        )


def _framing(scenario: ProducerScenario, time_s: Floats, written: Floats, records: Floats) -> Floats:
    """The ratio of the log's bytes to the records' bytes, which a scenario counts, per phase: the slower a producer,
    the fewer records share a batch and its overhead."""

    def factor(rows: Integers) -> float:
        payload = (records[rows[-1]] - records[rows[0]]) * scenario.record_bytes if len(rows) else 0.0
        return float((written[rows[-1]] - written[rows[0]]) / payload) if payload else 0.0

    overall = factor(np.arange(len(time_s))) or 1.0
    phase = scenario.phase_at(time_s)
    of_phase = [factor(np.flatnonzero(phase == number)) or overall for number in range(len(scenario.phases))]
    return np.array(of_phase)[phase]


@dataclass(frozen=True, slots=True)
class Row:
    """What `--json` prints. A field is None if the scenario can't measure it."""

    scenario: str
    window_convergence_s: float | None
    filtered_convergence_s: float | None
    window_mean_error: float
    filtered_mean_error: float
    window_noise: float | None
    filtered_noise: float | None


def figures(series: SpeedSeries) -> Row:
    return Row(
        series.scenario.name,
        convergence_s(series, series.window),
        convergence_s(series, series.filtered),
        mean_error(series, series.window),
        mean_error(series, series.filtered),
        noise(series, series.window),
        noise(series, series.filtered),
    )


def mean(rows: Sequence[Row]) -> Row:
    """Combines several seeds: the slowest convergence, and the means of the other fields."""

    def of(name: str, summary: Callable[[list[float]], float]) -> float | None:
        values = [getattr(row, name) for row in rows]
        return None if None in values else float(summary(values))

    return Row(
        rows[0].scenario,
        of("window_convergence_s", max),
        of("filtered_convergence_s", max),
        float(np.mean([row.window_mean_error for row in rows])),
        float(np.mean([row.filtered_mean_error for row in rows])),
        of("window_noise", _mean),
        of("filtered_noise", _mean),
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def convergence_s(series: SpeedSeries, measured: Floats) -> float | None:
    """The slowest convergence of the run. Returns None if no change can be measured, or if one never converged."""
    slowest: float | None = None
    for begins_s, ends_s in _held_after_a_change(series.scenario):
        rows = (series.time_s >= begins_s) & (series.time_s < ends_s)
        true = series.true[rows]
        off = np.abs(measured[rows] - true) > TOLERANCE * np.maximum(true, TOLERANCE * series.true.max())
        if not len(off) or off[-1]:
            return None
        last_off = int(np.flatnonzero(off)[-1]) + 1 if off.any() else 0
        slowest = max(slowest or 0.0, float(series.time_s[rows][last_off] - begins_s))
    return slowest


def mean_error(series: SpeedSeries, measured: Floats) -> float:
    return float(np.abs(measured - series.true).mean() / series.true.mean())


def noise(series: SpeedSeries, measured: Floats) -> float | None:
    """The deviation around the mean of each phase; the offset of a whole phase counts as error, not as noise."""
    settled, phase = _settled(series), series.scenario.phase_at(series.time_s)
    deviations = [
        (each - each.mean()) / series.true[rows].mean()
        for number in range(len(series.scenario.phases))
        if len(each := measured[rows := settled & (phase == number)])
    ]
    return float(np.sqrt(np.mean(np.concatenate(deviations) ** 2))) if deviations else None


def _held_after_a_change(scenario: ProducerScenario) -> Iterator[tuple[float, float]]:
    """Start and end of the phases that follow another speed and keep theirs long enough to be measured."""
    begins_s = scenario.begins_s.tolist()
    if scenario.pauses_s:
        return  # with so few records, 6 s are too short to know a speed to 5 %
    for before, phase, begin_s in zip(scenario.phases, scenario.phases[1:], begins_s[1:], strict=False):
        is_flat = phase.from_bytes_per_s == phase.to_bytes_per_s
        if is_flat and phase.seconds >= LEAST_PHASE_S and before.to_bytes_per_s != phase.from_bytes_per_s:
            yield begin_s, begin_s + phase.seconds


def _settled(series: SpeedSeries) -> NDArray[np.bool_]:
    """Rows at which the true speed has been constant for a whole window, and above 0."""
    phase = series.scenario.phase_at(series.time_s)
    since_s = series.time_s - series.scenario.begins_s[phase]
    is_flat = np.array([each.from_bytes_per_s == each.to_bytes_per_s for each in series.scenario.phases])
    return np.asarray((since_s >= SETTLED_AFTER_S) & is_flat[phase] & (series.true > 0))
