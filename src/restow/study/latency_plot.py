"""The plot of the latency study: latency, consumers and moves of each policy. `restow study latency --plot` draws
it."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from restow.study.latency import Row
from restow.study.plots import OTHERS, OURS

PERCENTILES = (("p50", "|"), ("p90", "v"), ("p99", "o"), ("p999", "D"))
PERCENTILE_NAMES = {"p50": "50 %", "p90": "90 %", "p99": "99 %", "p999": "99.9 %"}
SECONDS = (0, 1, 5, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000)
LINEAR_UP_TO_S = 1.0
"""The latency axis is logarithmic above this and linear below, so that it has 0 s."""


def picture(rows: Sequence[Row], subtitle: str) -> Figure:
    """One line per policy, in the order of the rows; restow's in colour."""
    figure = Figure(figsize=(11, 1.9 + 0.46 * len(rows)), layout="constrained")
    latency, consumers, moves = figure.subplots(1, 3, sharey=True, width_ratios=(2.2, 1, 1))
    figure.suptitle(f"How late records are read, and what it takes\n{subtitle}", fontsize=12)
    _latencies(latency, rows)
    _bars(consumers, rows, [row.consumers for row in rows], "consumers")
    _bars(moves, rows, [row.moves for row in rows], "moves a step")
    latency.set_yticks(range(len(rows)), [row.policy for row in rows])
    for label, row in zip(latency.get_yticklabels(), rows, strict=True):
        label.set(color=_colour(row), fontweight="bold" if _is_ours(row) else "normal")
    latency.invert_yaxis()
    return figure


def _is_ours(row: Row) -> bool:
    return "restow" in row.policy


def _colour(row: Row) -> str:
    return OURS if _is_ours(row) else OTHERS


def _latencies(axes: Axes, rows: Sequence[Row]) -> None:
    highest = max(1.0, *(row.p999 for row in rows))
    for line, row in enumerate(rows):
        axes.plot([row.p50, row.p999], [line, line], color=_colour(row), linewidth=2, alpha=0.35, clip_on=False)
        for name, marker in PERCENTILES:
            axes.plot(
                getattr(row, name), line, marker, color=_colour(row), markersize=7, markeredgewidth=2, clip_on=False
            )
        axes.annotate(
            f"{row.p99:,.0f} s" if row.p99 >= 10 else f"{row.p99:.3g} s",
            (row.p99, line),
            (0, 9),
            textcoords="offset points",
            ha="center",
            color=_colour(row),
            fontsize=8,
        )
    for name, marker in PERCENTILES:
        axes.plot(
            [], [], marker, color="black", label=PERCENTILE_NAMES[name], markersize=6, markeredgewidth=2, linestyle=""
        )
    axes.set_xscale("symlog", linthresh=LINEAR_UP_TO_S, linscale=0.5)
    axes.set_xlim(-0.12, highest * 1.6)
    axes.xaxis.set_major_locator(FixedLocator([second for second in SECONDS if second <= highest * 1.6]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda second, _: f"{second:,.0f}"))
    axes.set_xlabel("latency in s that this share of the records stays under (figures: 99 %)")
    axes.grid(axis="x", alpha=0.25)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False, fontsize=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _bars(axes: Axes, rows: Sequence[Row], values: Sequence[float], title: str) -> None:
    bars = axes.barh(range(len(rows)), values, color=[_colour(row) for row in rows], height=0.6)
    axes.bar_label(
        bars, labels=[f"{value:.4g}" if value >= 10 else f"{value:.2f}" for value in values], padding=3, fontsize=9
    )
    axes.set_xlabel(title)
    axes.margins(x=0.22)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
