"""The policies of a comparison, and the settings over which each is tuned.

A setting is chosen on some seeds by one rule for all: the fewest consumer-hours among those with a 99th percentile of
latency below 30 s; if there is none, the lowest latency. It is shown on other seeds.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from restow.settings import Controller
from restow.study.comparison import ours, packers, sizers
from restow.study.comparison.accounting import Outcome
from restow.study.comparison.loads import Load
from restow.study.comparison.times import Times

Setting = Mapping[str, Any]
"""Numbers, and the name of a preset."""
Run = Callable[[Load, Times, Setting], Outcome]

LATENCY_S: Final = 30.0
"""A policy with a higher 99th percentile is no choice."""
OURS: Final = "restow"
MWF: Final = "MWF"
HOUR_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    run: Run
    settings: Callable[[Load], Sequence[Setting]]
    """What it is tuned over, for this load."""


def _grid(**values: Sequence[Any]) -> Callable[[Load], Sequence[Setting]]:
    found = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    return lambda load: found  # noqa: ARG005  the same for every load


def _sizes(load: Load) -> Sequence[Setting]:
    """From what the mean load needs to what twice the peak does."""
    total = load.speeds.sum(axis=0) / load.capacity_bytes_per_s
    least, most = max(1, math.ceil(total.mean())), math.ceil(2 * total.max())
    sizes = sorted({round(least * (most / least) ** (step / 11)) for step in range(12)})
    return [{"size": size} for size in sizes if size <= len(load.partitions)]


def _fixed(protocol: str, assignor: str) -> Run:
    return lambda load, times, at: sizers.run(load, times, sizers.Fixed(), protocol, assignor, int(at["size"]))


def _keda(*, is_even: bool) -> Run:
    def run(load: Load, times: Times, at: Setting) -> Outcome:
        sizer = sizers.Keda(load, at["lag_threshold_s"], is_even, at["stabilisation_s"])
        return sizers.run(load, times, sizer, "cooperative", "cooperative-sticky")

    return run


def _flink(load: Load, times: Times, at: Setting) -> Outcome:
    sizer = sizers.Flink(load, at["utilisation"], at["scale_down_interval_s"])
    return sizers.run(load, times, sizer, "kip848", "uniform")


def _uforwarder(load: Load, times: Times, at: Setting) -> Outcome:
    return sizers.run(load, times, sizers.Uber(load, at["fill"], at["down_window_s"]), "restow", "load")


def _packer(name: str) -> Run:
    return lambda load, times, at: packers.PackedGroup(load, times, name, at["fill_to"]).run(at["every_s"])


def _ours(load: Load, times: Times, at: Setting) -> Outcome:
    return ours.simulate(load, times, Controller.of_preset(at["preset"]))


_THRESHOLDS_S: Final = (0.4, 0.6, 0.7, 0.85, 1.0, 2.0, 5.0, 15.0)

POLICIES: Final = (
    Policy(OURS, _ours, _grid(preset=tuple(Controller.presets))),
    Policy("KEDA", _keda(is_even=False), _grid(lag_threshold_s=_THRESHOLDS_S, stabilisation_s=(300.0,))),
    Policy("KEDA, even", _keda(is_even=True), _grid(lag_threshold_s=_THRESHOLDS_S, stabilisation_s=(300.0,))),
    Policy("Kafka, eager", _fixed("eager", "range"), _sizes),
    Policy("Kafka, sticky", _fixed("cooperative", "cooperative-sticky"), _sizes),
    Policy("Kafka, KIP-848", _fixed("kip848", "uniform"), _sizes),
    Policy("Flink", _flink, _grid(utilisation=(0.7, 0.8, 0.9), scale_down_interval_s=(HOUR_S, 600.0))),
    Policy("uForwarder", _uforwarder, _grid(fill=(0.6, 0.7, 0.85), down_window_s=(24 * HOUR_S, HOUR_S))),
    Policy(MWF, _packer("mwf"), _grid(fill_to=(0.75, 0.85, 0.95), every_s=(60.0,))),
    Policy("BFD", _packer("bfd"), _grid(fill_to=(0.75, 0.85, 0.95), every_s=(60.0,))),
)


def chosen(outcomes: Sequence[tuple[Setting, Outcome]]) -> Setting:
    """By the rule of the module."""
    good = [each for each in outcomes if each[1].latency_p99_s < LATENCY_S]
    if good:
        return min(good, key=lambda each: each[1].consumer_hours)[0]
    return min(outcomes, key=lambda each: each[1].latency_p99_s)[0]
