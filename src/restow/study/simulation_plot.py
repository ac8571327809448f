"""The plot of a simulated run: load and consumers, moves, backlog and latency over time. `restow simulate --plot` draws
it."""

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from restow.simulator.measures import SAMPLE_S, Series
from restow.study.plots import OTHERS, OURS, OURS_POLISHED

MEGA: Final = 1e6
MINUTES_BELOW_S: Final = 3 * 3600.0
"""Shorter runs are drawn in minutes, longer ones in hours."""


def picture(series: Series, capacity_bytes_per_s: float, title: str) -> Figure:
    unit_s, unit = (60.0, "minutes") if (series.time_s or [0])[-1] < MINUTES_BELOW_S else (3600.0, "hours")
    times = [time_s / unit_s for time_s in series.time_s]
    figure = Figure(figsize=(10, 9.5), layout="constrained")
    figure.suptitle(title, fontsize=12)
    consumers, moves, backlog, latency = figure.subplots(4, 1, sharex=True, height_ratios=(1.6, 1, 1, 1))
    _consumers(consumers, times, series, capacity_bytes_per_s)
    _steps(moves, times, _per_sample(series.moves), f"moves in {SAMPLE_S:g} s", OURS)
    _steps(backlog, times, [size / MEGA for size in series.backlog_bytes], "backlog, MB", OTHERS)
    _steps(latency, times, series.latency_s, "latency, s", OURS_POLISHED)
    latency.set_xlabel(unit)
    for axes in (consumers, moves, backlog, latency):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylim(bottom=0)
    return figure


def _consumers(axes: Axes, times: Sequence[float], series: Series, capacity_bytes_per_s: float) -> None:
    needed = [load / capacity_bytes_per_s for load in series.load_bytes_per_s]
    axes.fill_between(times, needed, color=OTHERS, alpha=0.3, linewidth=0, label="load, in capacities")
    axes.step(times, series.consumers, where="post", color=OURS, linewidth=1.8, label="consumers")
    axes.step(times, series.overloaded, where="post", color=OURS_POLISHED, linewidth=1.2, label="of them overloaded")
    axes.set_ylabel("consumers")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=9, ncols=3)


def _steps(axes: Axes, times: Sequence[float], values: Sequence[float], name: str, colour: str) -> None:
    axes.step(times, values, where="post", color=colour, linewidth=1.4)
    axes.set_ylabel(name)


def _per_sample(totals: Sequence[int]) -> list[int]:
    return [now - before for before, now in zip([0, *totals], totals, strict=False)]
