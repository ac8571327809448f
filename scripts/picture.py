"""Draws docs/system.svg and docs/system-dark.svg, the README's picture of the whole system. `make docs` runs it.

The deciding roles are above, the data flow below. The partitions are the demonstration's under high load, each as high
as it is fast, so the consumers' bins are filled as restow fills them.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

WIDTH, HEIGHT = 1000, 556
FONT: Final = "-apple-system, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, sans-serif"
TITLE, TEXT, SMALL = 17, 13, 12


@dataclass(frozen=True, slots=True)
class Palette:
    ink: str
    soft: str
    """Text that explains."""
    line: str
    box: str
    edge: str
    orders: str
    clicks: str
    on_topics: str
    """Text on the two above."""
    accent: str
    """What restow does."""


LIGHT: Final = Palette(
    ink="#1d2733",
    soft="#5b6876",
    line="#8793a0",
    box="#f6f8fa",
    edge="#cdd5dd",
    orders="#3d5f82",
    clicks="#4f8a8b",
    on_topics="#ffffff",
    accent="#c8401b",
)
DARK: Final = Palette(
    ink="#e8edf2",
    soft="#a3b0bd",
    line="#76838f",
    box="#161d25",
    edge="#36424e",
    orders="#4a76a5",
    clicks="#3b7f80",
    on_topics="#ffffff",
    accent="#f0683f",
)


@dataclass(frozen=True, slots=True)
class Block:
    """A partition."""

    topic: str
    number: int
    height: float
    moving: bool = False


SCALE: Final = 155.0
"""Height of a consumer's capacity, in the picture's units."""
APART: Final = 108.0
"""Distance from one consumer to the next."""
SPEEDS: Final = {"orders": (0.48, 0.29, 0.19, 0.1), "clicks": (0.48, 0.29, 0.19, 0.1)}
BINS: Final = (
    (("orders", 0), ("orders", 1)),
    (("clicks", 0), ("clicks", 1)),
    (("orders", 2), ("clicks", 2), ("orders", 3), ("clicks", 3)),
)
MOVING: Final = ("clicks", 3)


def draw(colours: Palette) -> str:
    """The picture as SVG."""
    pen = Pen(colours)
    parts = [
        *_control(pen),
        *_kafka(pen, 40, 240),
        *_consumers(pen, 330, 240),
        *_tables(pen, 772, 240),
        *_flows(pen),
        *_legend(pen),
    ]
    label = "restow: a monitor measures Kafka's partitions, a controller packs them onto consumers, Spark fills tables"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">',
            f'<g font-family="{FONT}" fill="{colours.ink}">',
            *parts,
            "</g>",
            "</svg>",
            "",
        ]
    )


@dataclass(frozen=True, slots=True)
class Pen:
    colours: Palette

    def box(self, x: float, y: float, width: float, height: float, edge: str | None = None) -> str:
        shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="10"'
        return f'{shape} fill="{self.colours.box}" stroke="{edge or self.colours.edge}" stroke-width="1.5"/>'

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = TEXT,
        colour: str = "",
        anchor: str = "start",
        bold: bool = False,
    ) -> str:
        weight = ' font-weight="600"' if bold else ""
        fill = f' fill="{colour}"' if colour else ""
        place = f'x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"'
        return f"<text {place}{weight}{fill}>{escape(words)}</text>"

    def lines(self, x: float, y: float, lines: Iterable[str], anchor: str = "start", size: float = SMALL) -> list[str]:
        """Explaining text."""
        return [self.text(x, y + 16 * row, words, size, self.colours.soft, anchor) for row, words in enumerate(lines)]

    def arrow(self, points: Sequence[tuple[float, float]], colour: str = "", dashed: bool = False) -> str:
        """Along these points, with a head at the last."""
        colour = colour or self.colours.line
        (x0, y0), (x, y) = points[-2:]
        length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
        ux, uy = (x - x0) / length, (y - y0) / length
        left, right = (x - 9 * ux - 5 * uy, y - 9 * uy + 5 * ux), (x - 9 * ux + 5 * uy, y - 9 * uy - 5 * ux)
        head = " ".join(f"{px:.1f},{py:.1f}" for px, py in ((x, y), left, right))
        path = " ".join(f"{px:g},{py:g}" for px, py in (*points[:-1], (round(x - 6 * ux, 1), round(y - 6 * uy, 1))))
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        stroke = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-linejoin="round"{dash}'
        return f'<polyline points="{path}" {stroke}/><polygon points="{head}" fill="{colour}"/>'

    def block(self, x: float, y: float, width: float, block: Block) -> list[str]:
        fill = self.colours.orders if block.topic == "orders" else self.colours.clicks
        edge = f' stroke="{self.colours.accent}" stroke-width="2.5"' if block.moving else ""
        place = f'x="{x:g}" y="{y:.1f}" width="{width:g}" height="{block.height:.1f}"'
        shape = f'<rect {place} rx="3" fill="{fill}"{edge}/>'
        size = min(SMALL, 0.76 * block.height)
        name = f"{block.topic}-{block.number}"
        middle = y + block.height / 2 + 0.35 * size
        return [shape, self.text(x + width / 2, round(middle, 1), name, size, self.colours.on_topics, "middle")]


def _control(pen: Pen) -> list[str]:
    """The roles that decide."""
    accent = pen.colours.accent
    return [
        pen.box(40, 40, 188, 104),
        pen.text(56, 68, "Monitor", TITLE, bold=True),
        *pen.lines(56, 90, ("measures each second", "how fast every", "partition is written")),
        pen.box(330, 24, 340, 136, accent),
        pen.text(348, 54, "Controller", TITLE, accent, bold=True),
        *pen.lines(
            348,
            78,
            (
                "packs the partitions onto as few consumers as can",
                "carry them; moves one only when that pays;",
                "logs why. Recovers from its own crash and theirs.",
            ),
        ),
        pen.text(348, 144, "Synchronize → Sentinel → Reassign → Manage", SMALL, bold=True),
        pen.box(772, 40, 188, 104),
        pen.text(788, 68, "Platform", TITLE, bold=True),
        *pen.lines(788, 90, ("starts, restarts and ends", "consumers: as processes", "or on Kubernetes")),
    ]


def _kafka(pen: Pen, x: float, y: float) -> list[str]:
    """The topics, each partition as long as it is fast."""
    found = [
        pen.box(x, y, 188, 250),
        pen.text(x + 16, y + 28, "Kafka", TITLE, bold=True),
        *pen.lines(x + 16, y + 48, ("your topics, uneven",)),
    ]
    row = y + 66
    for topic, speeds in SPEEDS.items():
        for number, speed in enumerate(speeds):
            fill = pen.colours.orders if topic == "orders" else pen.colours.clicks
            found.append(f'<rect x="{x + 78}" y="{row:g}" width="{speed * 190:.1f}" height="13" rx="3" fill="{fill}"/>')
            found.append(pen.text(x + 70, row + 11, f"{topic}-{number}", SMALL, pen.colours.soft, "end"))
            row += 20
        row += 8
    return found


def _consumers(pen: Pen, x: float, y: float) -> list[str]:
    """Bins of one capacity each, filled with partitions."""
    found = [
        pen.box(x, y, 340, 250),
        pen.text(x + 18, y + 28, "Consumers", TITLE, bold=True),
        *pen.lines(x + 18, y + 48, ("each with its own Spark and your transforms",)),
    ]
    floor, width = y + 226, 88
    for column, names in enumerate(BINS):
        left = x + 18 + column * APART
        top = floor - SCALE
        found.append(
            f'<path d="M{left},{top:g} V{floor:g} H{left + width} V{top:g}" fill="none" stroke="{pen.colours.line}" '
            'stroke-width="1.8"/>'
        )
        level = floor
        for topic, number in names:
            height = SPEEDS[topic][number] * SCALE
            level -= height
            block = Block(topic, number, height - 2, (topic, number) == MOVING)
            found += pen.block(left + 4, level, width - 8, block)
        found += pen.lines(left + width / 2, floor + 18, (f"consumer {column + 1}",), "middle")
    dash = f'stroke="{pen.colours.soft}" stroke-width="1.2" stroke-dasharray="2 3"'
    found.append(f'<path d="M{x + 12},{floor - SCALE:g} H{x + 328}" fill="none" {dash}/>')
    return [*found, *_move(pen, x + 18 + APART, floor, width)]


def _move(pen: Pen, left: float, floor: float, width: float) -> list[str]:
    """The moved partition's old place, and an arrow to the new one."""
    level = floor - SCALE * sum(SPEEDS[topic][number] for topic, number in BINS[1])
    height = SPEEDS[MOVING[0]][MOVING[1]] * SCALE - 2
    target = floor - SCALE * sum(SPEEDS[topic][number] for topic, number in BINS[2])
    accent = f'fill="none" stroke="{pen.colours.accent}" stroke-width="1.8"'
    top = level - height - 2
    ghost = f'<rect x="{left + 4:g}" y="{top:.1f}" width="{width - 8:g}" height="{height:.1f}" rx="3" {accent}'
    high, end = top + height / 2, left + APART + width / 2
    corner = f"{end:g},{high:.1f}"
    curve = f"M{left + width - 4:g},{high:.1f} C{corner} {corner} {end:g},{target - 8:.1f}"
    head = f"{end:g},{target - 1:.1f} {end - 5:g},{target - 10:.1f} {end + 5:g},{target - 10:.1f}"
    return [
        f'{ghost} stroke-dasharray="4 3"/>',
        f'<path d="{curve}" {accent}/><polygon points="{head}" fill="{pen.colours.accent}"/>',
    ]


def _tables(pen: Pen, x: float, y: float) -> list[str]:
    found = [
        pen.box(x, y, 188, 250),
        pen.text(x + 16, y + 28, "Delta tables", TITLE, bold=True),
        *pen.lines(x + 16, y + 48, ("every record in them, once",)),
    ]
    for row, (topic, fill) in enumerate((("orders", pen.colours.orders), ("clicks", pen.colours.clicks))):
        top = y + 66 + row * 60
        place = f'x="{x + 16:g}" y="{top:g}" width="156"'
        found += [
            f'<rect {place} height="48" rx="4" fill="none" stroke="{fill}" stroke-width="1.5"/>',
            f'<rect {place} height="17" rx="4" fill="{fill}"/>',
            pen.text(x + 26, top + 13, topic, SMALL, pen.colours.on_topics),
        ]
        rule = f'stroke="{pen.colours.edge}" stroke-width="3"'
        found += [f'<path d="M{x + 26:g},{top + line:g} H{x + 162:g}" {rule}/>' for line in (28, 38)]
    return [*found, *pen.lines(x + 16, y + 206, ("read by whatever engine", "knows Delta"))]


def _flows(pen: Pen) -> list[str]:
    accent = pen.colours.accent
    return [
        pen.arrow(((134, 240), (134, 144))),
        *pen.lines(146, 196, ("sizes of the logs",)),
        pen.arrow(((228, 92), (330, 92))),
        *pen.lines(279, 82, ("speeds",), "middle"),
        pen.arrow(((450, 160), (450, 240)), accent),
        *pen.lines(440, 204, ("start, stop",), "end"),
        pen.arrow(((500, 240), (500, 160))),
        *pen.lines(510, 204, ("answers, reports",)),
        pen.arrow(((670, 92), (772, 92)), accent),
        *pen.lines(721, 82, ("create,",), "middle"),
        *pen.lines(721, 110, ("delete",), "middle"),
        pen.arrow(((866, 144), (866, 200), (644, 200), (644, 240))),
        *pen.lines(755, 191, ("runs them",), "middle"),
        pen.arrow(((228, 375), (330, 375))),
        *pen.lines(279, 365, ("records",), "middle"),
        pen.arrow(((670, 375), (772, 375))),
        *pen.lines(721, 349, ("rows, and the", "next offsets,"), "middle"),
        *pen.lines(721, 394, ("in one commit",), "middle"),
    ]


def _legend(pen: Pen) -> list[str]:
    return [
        *pen.lines(
            WIDTH / 2,
            522,
            (
                "A partition is as high as it is fast, a consumer as high as what it carries. The framed partition is",
                "being moved: its old consumer stops and reports its offset; its new one starts there.",
            ),
            "middle",
            TEXT,
        ),
    ]


DOCS: Final = Path(__file__).parent.parent / "docs"
PICTURES: Final = {"system.svg": LIGHT, "system-dark.svg": DARK}


def main() -> int:
    for name, colours in PICTURES.items():
        (DOCS / name).write_text(draw(colours), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
