"""The plot of `restow advise`: members as bars filled with their partitions, now and in other ways, and the lag."""

import math
from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from restow.advice.advice import Advice
from restow.advice.ways import Way
from restow.model import Speeds
from restow.study.plots import OTHERS, OURS, OURS_POLISHED

MOST_BARS: Final = 60
"""Wider groups are cut off: their busiest consumers are shown."""


def picture(advice: Advice) -> Figure:
    ways = _shown(advice)
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    figure.suptitle(
        f"{advice.facts.group}: needs {advice.needed} consumers, has {len(advice.facts.members)}", fontsize=12
    )
    above, below = figure.subfigures(2, 1, height_ratios=(2.2, 1))  # type: ignore[misc]  # two of them, as asked
    bars = above.subplots(1, len(ways), sharey=True, width_ratios=[_width(way) for way in ways], squeeze=False)[0]
    for axes, way in zip(bars, ways, strict=True):
        _bars(axes, way, advice.facts.speeds, advice.capacity.bytes_per_s)
    bars[0].set_ylabel("load, in capacities")
    _lag(below.subplots(), advice.facts.lags)
    return figure


def _shown(advice: Advice) -> list[Way]:
    """The group as it is, Kafka's best assignor, KEDA and restow."""
    ways = {way.name: way for way in advice.ways}
    assignors = [way for name, way in ways.items() if name.startswith("Kafka")]
    best = min(assignors, key=lambda way: (way.overloaded, way.consumers))
    return [way for way in (ways.get("now"), ways["KEDA"], best, ways["restow"]) if way is not None]


def _width(way: Way) -> float:
    return math.sqrt(max(2, min(way.consumers, MOST_BARS)))


def _bars(axes: Axes, way: Way, speeds: Speeds, capacity: float) -> None:
    colour = OURS if way.name == "restow" else OTHERS
    held = list(way.assignment.by_consumer.values())
    held.sort(key=lambda partitions: -math.fsum(speeds.get(each, 0.0) for each in partitions))
    for place, partitions in enumerate(held[:MOST_BARS]):
        bottom = 0.0
        for partition in sorted(partitions, key=lambda each: -speeds.get(each, 0.0)):
            height = speeds.get(partition, 0.0) / capacity
            axes.bar(place, height, 0.8, bottom, color=colour, edgecolor="white", linewidth=0.6)
            bottom += height
    axes.axhline(1.0, color=OURS_POLISHED, linewidth=1, linestyle="--")
    axes.set_title(f"{way.name}: {way.consumers}", fontsize=10, color=colour)
    axes.set_xticks([])
    axes.set_xlim(-0.7, max(1, min(len(held), MOST_BARS)) - 0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _lag(axes: Axes, lags: Sequence[tuple[float, int]]) -> None:
    times, records = zip(*lags, strict=True)
    axes.plot(times, records, color=OURS_POLISHED, linewidth=1.6, marker="o", markersize=3)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("lag, records")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
