"""Colours of the plots, and writing a plot to a file.

The `*_plot.py` modules draw; the commands save.
"""

from pathlib import Path
from typing import Final

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from restow.study.plot_file import check_plot_file, unwritable

DOTS_PER_INCH: Final = 150

OURS, OURS_POLISHED, OTHERS = "#c8451b", "#1f6f8b", "#6b7785"
"""Colours of restow's packers and of all others."""

__all__ = ["OTHERS", "OURS", "OURS_POLISHED", "check_plot_file", "save"]


def save(figure: Figure, file: Path) -> None:
    """Writes PNG or SVG, by the file's suffix. The same rows give the same bytes: no date, no random ids."""
    check_plot_file(file)
    FigureCanvasAgg(figure)
    date = {"Date": None} if file.suffix.lower() == ".svg" else {}
    try:
        with rc_context({"svg.hashsalt": "restow"}):
            figure.savefig(file, dpi=DOTS_PER_INCH, metadata=date)
    except OSError as error:
        raise unwritable(file, error) from None
