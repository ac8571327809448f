"""A run in a dozen numbers, as `restow simulate` prints them."""

from dataclasses import dataclass
from statistics import fmean

from restow.simulator.measures import SAMPLE_S
from restow.simulator.scenario import HOUR_S
from restow.simulator.world import SimulatedRun

SIGNIFICANT = 4


@dataclass(frozen=True, slots=True)
class Summary:
    seed: int
    consumer_hours: float
    consumers_mean: float
    consumers_max: int
    moves: int
    pause_p50_s: float
    """Pauses: times in which no consumer read a partition, between two consumers or two starts of one."""
    pause_p99_s: float
    latency_p50_s: float
    """From the time a record is written until it is stored."""
    latency_p99_s: float
    overloaded_consumer_s: float
    """Time with a load above the capacity, summed over consumers."""
    backlog_max_bytes: float
    violations: tuple[str, ...]


def summary(outcome: SimulatedRun) -> Summary:
    measures, series = outcome.measures, outcome.measures.series
    consumers = series.consumers or [0]
    return Summary(
        seed=outcome.scenario.seed,
        consumer_hours=_short(sum(series.consumers) * SAMPLE_S / HOUR_S),
        consumers_mean=_short(fmean(consumers)),
        consumers_max=max(consumers),
        moves=measures.moves,
        pause_p50_s=_short(measures.pause_quantile(0.5)),
        pause_p99_s=_short(measures.pause_quantile(0.99)),
        latency_p50_s=_short(measures.latency.quantile(0.5)),
        latency_p99_s=_short(measures.latency.quantile(0.99)),
        overloaded_consumer_s=sum(series.overloaded) * SAMPLE_S,
        backlog_max_bytes=max(series.backlog_bytes, default=0.0),
        violations=outcome.violations,
    )


def _short(value: float) -> float:
    """Rounded: further digits are noise."""
    return float(f"{value:.{SIGNIFICANT}g}")
