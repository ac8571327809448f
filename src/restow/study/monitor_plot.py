"""Plots a run of the monitor study: the producer's speed and the monitor's raw and filtered speeds over time.

`restow study monitor --plot` draws it.
"""

from typing import Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from restow.study.monitor import Row, SpeedSeries
from restow.study.monitor_scenarios import Floats
from restow.study.plots import OTHERS, OURS

PRODUCER: Final = "#c9ced6"
BAR_S: Final = 5.0
TRUE: Final = "#1d2733"
UNITS: Final = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))
NAMES: Final = {
    "step": "Steps of the write speed",
    "random": "The published random producer",
    "ramp": "A ramp",
    "burst": "A burst of 1 s and one of 10 s",
    "replay": "A recorded partition, replayed",
}


def picture(series: SpeedSeries, row: Row, subtitle: str) -> Figure:
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    axes = figure.subplots()
    highest = max(series.true.max(), series.window.max(), series.filtered.max())
    scale, unit = next(((scale, unit) for scale, unit in UNITS if highest >= scale), UNITS[-1])
    axes.stairs(*_producer_bars(series, scale), color=PRODUCER, fill=True, alpha=0.5, label="producer, each 5 s")
    axes.plot(
        *_true_line(series, scale), color=TRUE, linewidth=1.2, linestyle=(0, (4, 2)), label="producer, true speed"
    )
    axes.plot(series.time_s, series.window / scale, color=OTHERS, linewidth=1.8, label="monitor, window of 30 s")
    axes.plot(series.time_s, series.filtered / scale, color=OURS, linewidth=2.2, label="monitor, filtered")
    axes.set_xlabel("time in s")
    axes.set_ylabel(f"speed in {unit} of the log")
    axes.set_xlim(0, series.scenario.duration_s)
    # A burst of seconds may be far above what matters: it may leave the picture, the lines that are compared may not.
    axes.set_ylim(0, 1.15 * max(series.window.max(), series.filtered.max(), np.quantile(series.true, 0.98)) / scale)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda second, _: f"{second:g}"))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    title = f"{NAMES[series.scenario.name]}: the speed at the producer and at the monitor ({subtitle})"
    figure.suptitle(f"{title}\n{_summary(row)}", fontsize=11)
    return figure


def _producer_bars(series: SpeedSeries, scale: float) -> tuple[Floats, Floats]:
    """The producer's mean speed in each 5 s, and the edges between them."""
    edges_s = np.append(np.arange(0.0, series.time_s[-1], BAR_S), series.time_s[-1])
    times_s = np.insert(series.time_s, 0, 0.0)
    written = np.insert(np.cumsum(series.producer * np.diff(times_s)), 0, 0.0)
    return np.diff(np.interp(edges_s, times_s, written)) / np.diff(edges_s) / scale, edges_s


def _true_line(series: SpeedSeries, scale: float) -> tuple[list[float], list[float]]:
    """The true speed, with vertical edges where it jumps."""
    times, speeds = [0.0], [float(series.true[0])]
    begins_s = series.scenario.begins_s[1:].tolist()
    for before, after, time, speed in zip(
        series.time_s, series.time_s[1:], series.time_s[1:], series.true[1:], strict=False
    ):
        jump_s = next((begin_s for begin_s in begins_s if before < begin_s <= after), None)
        if jump_s is not None:
            times += [jump_s, jump_s]
            speeds += [speeds[-1], float(speed)]
        times.append(float(time))
        speeds.append(float(speed))
    return times, [speed / scale for speed in speeds]


def _summary(row: Row) -> str:
    def pair(window: float | None, filtered: float | None, form: str) -> str:
        return "–" if window is None or filtered is None else f"{form.format(window)} → {form.format(filtered)}"

    parts = [f"mean error {pair(row.window_mean_error, row.filtered_mean_error, '{:.1%}')}"]
    if row.window_convergence_s is not None:
        parts.insert(0, f"within 5 % after {pair(row.window_convergence_s, row.filtered_convergence_s, '{:.1f} s')}")
    if row.window_noise is not None:
        parts.append(f"noise {pair(row.window_noise, row.filtered_noise, '{:.2%}')}")
    return f"window → filtered: {',  '.join(parts)}"
