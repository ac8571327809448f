"""The plot of the packing study: consumers against moved speed, one panel per d; the lower left is better.

`restow study packing --plot` draws it: the published packers as points, restow's as curves over its worths.
"""

from collections.abc import Sequence
from math import ceil
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from restow.study.labels import Label, place
from restow.study.packing import Row
from restow.study.plots import OTHERS, OURS, OURS_POLISHED

PANEL_INCHES: Final = (5.4, 4.4)
ONLY_PANEL_INCHES: Final = (8.4, 5.6)
HEADER_INCHES: Final = 0.9
MOST_PANELS_A_LINE: Final = 3
CBS_TICKS: Final = (-30, -10, -3, -1, 0, 1, 3, 10, 30, 100, 300)
LINEAR_UP_TO: Final = 1.0
"""The CBS axis is linear up to this many per cent and logarithmic beyond, to show what happens near 0."""
COLOURS: Final = (OURS, OURS_POLISHED)


def picture(rows: Sequence[Row]) -> Figure:
    groups = {d: [row for row in rows if row.d == d] for d in dict.fromkeys(row.d for row in rows)}
    across = min(len(groups), MOST_PANELS_A_LINE)
    down = ceil(len(groups) / across)
    width, height = PANEL_INCHES if len(groups) > 1 else ONLY_PANEL_INCHES
    size = (width * across, height * down + HEADER_INCHES)
    figure = Figure(figsize=size, dpi=100, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08))
    panels = list(figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
    for panel, (d, group) in zip(panels, groups.items(), strict=False):
        panel.set_title("recorded trace" if d is None else f"d = {d}", fontsize=11)
        _points_and_curves(panel, group)
    for panel in panels[len(groups) :]:
        panel.remove()
    for index, panel in enumerate(panels[: len(groups)]):
        _name_axes(panel, is_left=index % across == 0, is_lowest=index + across >= len(groups))
    _scale(panels[0], rows)
    _head(figure, panels[0])
    figure.draw_without_rendering()  # makes sizes and limits final
    for panel, group in zip(panels, groups.values(), strict=False):
        _labels(panel, group)
    return figure


def _published(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.worth is None]


def _curves(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """restow's packers, each with its rows by rising worth."""
    ours = sorted((row for row in rows if row.worth is not None), key=lambda row: row.worth or 0.0)
    return {name: [row for row in ours if row.packer == name] for name in dict.fromkeys(row.packer for row in ours)}


def _colours(rows: Sequence[Row]) -> dict[str, str]:
    return {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(sorted(_curves(rows)))}


def _points_and_curves(panel: Axes, rows: Sequence[Row]) -> None:
    others = _published(rows)
    if others:
        at = [row.r for row in others], [row.cbs for row in others]
        panel.plot(*at, "o", color=OTHERS, markersize=5.5, label="published packers", zorder=3)
    for name, curve in _curves(rows).items():
        at = [row.r for row in curve], [row.cbs for row in curve]
        label = f"{name}, by worth"
        panel.plot(*at, "o-", color=_colours(rows)[name], markersize=5.5, linewidth=1.8, label=label, zorder=4)


def _labels(panel: Axes, rows: Sequence[Row]) -> None:
    colours = _colours(rows)
    ours = [row for curve in _curves(rows).values() for row in curve]
    labels = [Label(f"{row.worth:g}", row.r, row.cbs, colours[row.packer]) for row in ours]
    labels += [Label(row.packer, row.r, row.cbs, OTHERS) for row in _published(rows)]
    place(panel, labels, lines=[[(row.r, row.cbs) for row in curve] for curve in _curves(rows).values()])


def _name_axes(panel: Axes, *, is_left: bool, is_lowest: bool) -> None:
    if is_left:
        panel.set_ylabel("CBS: consumers above the least of the twelve, %")
    if is_lowest:
        panel.set_xlabel("R: speed moved in a step, in capacities")
    panel.tick_params(labelbottom=is_lowest, labelleft=is_left)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def _scale(panel: Axes, rows: Sequence[Row]) -> None:
    """Scales one panel; the others share its axes."""
    highest, lowest = max(row.cbs for row in rows), min(row.cbs for row in rows)
    panel.set_yscale("symlog", linthresh=LINEAR_UP_TO, linscale=0.8)
    panel.set_ylim(min(lowest * 1.3, -0.25), max(highest, LINEAR_UP_TO) * 1.45)
    panel.set_xlim(0, max(1.0, *(row.r for row in rows)) * 1.08)
    panel.yaxis.set_major_locator(FixedLocator(CBS_TICKS))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda per_cent, _: f"{per_cent:g}"))


def _head(figure: Figure, panel: Axes) -> None:
    figure.suptitle("Consumers needed against speed moved: the lower left is better", fontsize=13)
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=10)
