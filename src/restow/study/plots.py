"""What the pictures of the studies share: their colours, and how they get into a file.

The pictures themselves are made in packing_plot.py and latency_plot.py; the commands of `restow study` write them.
"""

from pathlib import Path
from typing import Final

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from restow.study.plot_file import check_plot_file, unwritable

DOTS_PER_INCH: Final = 150

OURS, OURS_POLISHED, OTHERS = "#c8451b", "#1f6f8b", "#6b7785"
"""The colours of restow's packers and of everybody else's."""

__all__ = ["OTHERS", "OURS", "OURS_POLISHED", "check_plot_file", "save"]


def save(figure: Figure, file: Path) -> None:
    """PNG or SVG, by the name's ending. The same rows give the same file: no date or random name is written into it."""
    check_plot_file(file)
    FigureCanvasAgg(figure)
    date = {"Date": None} if file.suffix.lower() == ".svg" else {}
    try:
        with rc_context({"svg.hashsalt": "restow"}):
            figure.savefig(file, dpi=DOTS_PER_INCH, metadata=date)
    except OSError as error:
        raise unwritable(file, error) from None
