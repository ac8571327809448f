"""Plots the throughput of a consumer and of its peers: the base case, and each case that differs from it.

`restow bench consumer --plot` draws it.
"""

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from restow.study.plots import OTHERS, OURS, OURS_POLISHED
from restow.study.throughput import BARE, LOOP, RESTOW, STREAMING, TUNED, Case, Row

COLOURS: Final = {RESTOW: OURS, LOOP: OURS_POLISHED, TUNED: OTHERS, STREAMING: "#a9b2bd", BARE: "#dfe3e8"}
"""In the order of the bars. The bare client, which only reads, has a panel of its own scale."""
HEIGHT: Final = 0.8
"""Of the bars of one case together."""


def picture(rows: Sequence[Row]) -> Figure:
    cases = list(dict.fromkeys(row.case for row in rows))
    figure = Figure(figsize=(11, 1.6 + 0.75 * len(cases)), layout="constrained")
    storing, reading = figure.subplots(1, 2, width_ratios=(4, 1), sharey=True)
    _bars(storing, cases, [row for row in rows if row.contender != BARE])
    _bars(reading, cases, [row for row in rows if row.contender == BARE])
    storing.set_yticks(range(len(cases)), [str(case) for case in cases])
    storing.invert_yaxis()
    storing.set_xlabel("read and stored, in MB/s")
    reading.set_xlabel("only read, in MB/s")
    storing.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    figure.suptitle("One consumer at full load, by contender", fontsize=11)
    return figure


def _bars(axes: Axes, cases: Sequence[Case], rows: Sequence[Row]) -> None:
    names = [name for name in COLOURS if any(row.contender == name for row in rows)]
    for name in names:
        own = [row for row in rows if row.contender == name]
        places = []
        for row in own:
            present = [each for each in names if any(r.case == row.case and r.contender == each for r in rows)]
            step = HEIGHT / len(present)
            places.append(cases.index(row.case) - HEIGHT / 2 + step * (present.index(name) + 0.5))
        step = HEIGHT / max(1, len(names))
        bars = axes.barh(places, [row.mb_per_s for row in own], height=step, color=COLOURS[name], label=name)
        axes.bar_label(bars, fmt="{:.3g}", padding=3, fontsize=8)
    axes.margins(x=0.15)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
