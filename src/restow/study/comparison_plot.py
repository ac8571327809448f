"""The plots of `restow simulate --compare` and `--sweep`."""

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from restow.study.comparison.comparing import Row
from restow.study.comparison.policies import LATENCY_S, OURS
from restow.study.comparison.sweeping import SweepRow
from restow.study.labels import Label, place
from restow.study.plots import OTHERS, OURS_POLISHED
from restow.study.plots import OURS as OURS_COLOUR

LEAST_LATENCY_S: Final = 0.5
"""Below the fastest cycle: keeps a logarithmic axis from 0."""
MEASURES: Final = (
    ("consumer_hours", "consumer-hours"),
    ("moves", "moves"),
    ("latency_p99_s", "latency p99, s"),
    ("overloaded_consumer_s", "overloaded, s"),
)


def compared(rows: Sequence[Row]) -> Figure:
    """One panel a workload: cost against latency. The lower left is better; below the line is fast enough."""
    workloads = list(dict.fromkeys(row.workload for row in rows))
    across = min(3, len(workloads))
    down = -(-len(workloads) // across)
    figure = Figure(figsize=(4.2 * across, 3.6 * down + 0.5), layout="constrained")
    figure.suptitle("What a policy costs, and how late records are read", fontsize=12)
    panels = figure.subplots(down, across, squeeze=False)
    for number, axes in enumerate(panels.flat):
        if number >= len(workloads):
            axes.set_visible(False)
            continue
        own = [row for row in rows if row.workload == workloads[number]]
        _panel(axes, workloads[number], own)
    figure.draw_without_rendering()
    for number, workload in enumerate(workloads):
        own = [row for row in rows if row.workload == workload]
        labels = [Label(row.policy, row.consumer_hours, _shown_s(row), _colour(row)) for row in own]
        place(panels.flat[number], sorted(labels, key=lambda label: label.text != OURS))
    return figure


def _panel(axes: Axes, workload: str, rows: Sequence[Row]) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.axhline(LATENCY_S, color=OURS_POLISHED, linewidth=1, linestyle="--")
    for row in rows:
        axes.plot(row.consumer_hours, _shown_s(row), "o", color=_colour(row), markersize=6, clip_on=False)
    axes.set_title(workload, fontsize=10)
    axes.set_xlabel("consumer-hours")
    axes.set_ylabel("latency p99, s")
    axes.margins(0.18)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)


def _shown_s(row: Row) -> float:
    return max(LEAST_LATENCY_S, row.latency_p99_s)


def _colour(row: Row) -> str:
    return OURS_COLOUR if row.policy == OURS else OTHERS


def swept(name: str, rows: Sequence[SweepRow]) -> Figure:
    """One panel a measure, one line a workload."""
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    figure.suptitle(f"restow with {name} at several values", fontsize=12)
    panels = figure.subplots(1, len(MEASURES))
    values = list(dict.fromkeys(row.value for row in rows))
    for axes, (measure, title) in zip(panels, MEASURES, strict=True):
        for workload in dict.fromkeys(row.workload for row in rows):
            found = {row.value: getattr(row, measure) for row in rows if row.workload == workload}
            axes.plot(range(len(values)), [found[value] for value in values], marker="o", markersize=3, label=workload)
        axes.set_xticks(range(len(values)), values)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(name)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False)
    return figure
