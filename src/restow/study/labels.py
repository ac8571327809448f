"""Places labels beside the points of a plot so that they cover neither each other nor the points.

Points that lie on one another share a label. `packing_plot.py` uses it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, NamedTuple

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

# All lengths are in points, 1/72 inch.
FONT_SIZE: Final = 8.5
POINT_SIZE: Final = 7.0
LINE_WIDTH: Final = 4.0
SHARED_WITHIN: Final = 6.0
"""Points closer than this share a label."""
DISTANCES: Final = (5.0, 12.0, 20.0, 30.0, 42.0)
DIRECTIONS: Final = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
"""In order of preference: right, left, above, below, then the corners."""
PARTS_OF_A_LINE: Final = 16

Line = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Label:
    text: str
    x: float
    y: float
    colour: str


class Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float

    def shared_area(self, other: "Box") -> float:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return width * height if width > 0 and height > 0 else 0.0


class Spot(NamedTuple):
    """A candidate place for a label: the offset of its middle from its point, and its box."""

    dx: float
    dy: float
    box: Box
    is_far: bool
    """Needs a thin line to its point."""


def place(axes: Axes, labels: Iterable[Label], lines: Iterable[Line] = ()) -> None:
    """Draws the labels. Call it when size and limits of the axes are final. `lines` are curves to keep free, in data
    units."""
    labels = list(labels)
    obstacles = [_box(*_where(axes, label.x, label.y), POINT_SIZE, POINT_SIZE) for label in labels]
    obstacles += [box for line in lines for box in _boxes_along(axes, line)]
    for label in _shared(axes, labels):
        spots = _spots(label, *_where(axes, label.x, label.y))
        best = min(spots, key=lambda spot: _damage(spot.box, obstacles, _panel(axes)))
        obstacles.append(best.box)
        _draw(axes, label, best)


def _shared(axes: Axes, labels: Sequence[Label]) -> Iterator[Label]:
    """Merges the labels of points that lie on one another, at the first one's place."""
    groups: list[list[Label]] = []
    for label in labels:
        for group in groups:
            first = group[0]
            distance = math.dist(_where(axes, first.x, first.y), _where(axes, label.x, label.y))
            if first.colour == label.colour and distance < SHARED_WITHIN:
                group.append(label)
                break
        else:
            groups.append([label])
    for group in groups:
        yield replace(group[0], text=", ".join(label.text for label in group))


def _spots(label: Label, x: float, y: float) -> Iterator[Spot]:
    width, height, _ = text_to_path.get_text_width_height_descent(label.text, FontProperties(size=FONT_SIZE), False)
    for distance in DISTANCES:
        for right, up in DIRECTIONS:
            dx, dy = right * (distance + width / 2), up * (distance + height / 2)
            yield Spot(dx, dy, _box(x + dx, y + dy, width + 2, height + 2), is_far=distance > DISTANCES[0])


def _damage(box: Box, obstacles: Sequence[Box], panel: Box) -> float:
    """Area that a label there would cover, or lose beyond the edge."""
    lost = box.shared_area(box) - box.shared_area(panel)
    return lost + sum(box.shared_area(obstacle) for obstacle in obstacles)


def _draw(axes: Axes, label: Label, spot: Spot) -> None:
    leader = {"arrowstyle": "-", "color": label.colour, "alpha": 0.5, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 3}
    axes.annotate(
        label.text,
        (label.x, label.y),
        (spot.dx, spot.dy),
        textcoords="offset points",
        ha="center",
        va="center",
        color=label.colour,
        fontsize=FONT_SIZE,
        arrowprops=leader if spot.is_far else None,
    )


def _boxes_along(axes: Axes, line: Line) -> Iterator[Box]:
    for (x0, y0), (x1, y1) in pairwise([_where(axes, x, y) for x, y in line]):
        for part in range(PARTS_OF_A_LINE + 1):
            share = part / PARTS_OF_A_LINE
            yield _box(x0 + (x1 - x0) * share, y0 + (y1 - y0) * share, LINE_WIDTH, LINE_WIDTH)


def _where(axes: Axes, x: float, y: float) -> tuple[float, float]:
    """A data point's place on the page, in points."""
    points_per_dot = 72 / axes.figure.dpi
    across, up = axes.transData.transform((x, y))
    return float(across) * points_per_dot, float(up) * points_per_dot


def _panel(axes: Axes) -> Box:
    points_per_dot = 72 / axes.figure.dpi
    return Box(*(float(edge) * points_per_dot for edge in axes.bbox.extents))


def _box(x: float, y: float, width: float, height: float) -> Box:
    return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
