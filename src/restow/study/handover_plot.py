"""Plots the pauses of moved partitions by contender, a panel for each change: `restow bench handover --plot`."""

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from restow.study.handover import CHANGES, CONTENDERS, LIGHT, SPARK, Row
from restow.study.plots import OTHERS, OURS

TITLES: Final = {"join": "a member joins", "leave": "a member leaves", "kill": "a member is killed"}
LEAST_S: Final = 0.01
"""What is shorter is drawn so long: the axis is logarithmic."""


def picture(rows: Sequence[Row]) -> Figure:
    names = [name for name in CONTENDERS if any(row.contender == name for row in rows)]
    figure = Figure(figsize=(11, 1.5 + 0.42 * len(names)), layout="constrained")
    panels: Sequence[Axes] = figure.subplots(1, len(CHANGES), sharey=True, sharex=True)
    for axes, change in zip(panels, CHANGES, strict=True):
        _panel(axes, names, [row for row in rows if row.change == change])
        axes.set_title(TITLES[change], fontsize=10)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    panels[1].set_xlabel("pause of a partition that moves, in seconds: bar to the median, line to the 99th percentile")
    return figure


def _panel(axes: Axes, names: Sequence[str], rows: Sequence[Row]) -> None:
    for row in rows:
        place, colour = names.index(row.contender), OURS if row.contender in (LIGHT, SPARK) else OTHERS
        median_s, most_s = max(row.pause_p50_s, LEAST_S), max(row.pause_p99_s, LEAST_S)
        axes.barh(place, median_s, height=0.6, color=colour)
        axes.plot([median_s, most_s], [place, place], color=colour, linewidth=2)
        doubled = f", {row.duplicates} doubled" if row.duplicates else ""
        axes.annotate(
            f"{row.pause_p50_s:.2g} / {row.pause_p99_s:.2g}{doubled}",
            (most_s, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.set_xlim(LEAST_S / 2, 2000.0)
    axes.set_xticks([0.01, 0.1, 1.0, 10.0], ["0.01", "0.1", "1", "10"])
    axes.minorticks_off()
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
