"""Files for the pictures of the studies: checked before a long run, written after it.

The pictures themselves are made in packing_plot.py and latency_plot.py; the commands of `restow study` write them.
"""

import os
from pathlib import Path
from typing import Final

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from restow.errors import InvalidInput

EXTENSIONS: Final = (".png", ".svg")
DOTS_PER_INCH: Final = 150

OURS, OURS_POLISHED, OTHERS = "#c8451b", "#1f6f8b", "#6b7785"
"""The colours of restow's packers and of everybody else's."""


def check_plot_file(file: Path) -> None:
    """Called before a run, so that hours of work don't end in a mistyped name. Makes the directory."""
    if file.suffix.lower() not in EXTENSIONS:
        raise InvalidInput(f"{file}: can't draw into a '{file.suffix}' file; its name must end in .png or .svg")
    if file.is_dir():
        raise InvalidInput(f"{file}: is a directory; name the picture's file")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(file, error) from None
    if not os.access(file.parent, os.W_OK):
        raise InvalidInput(f"{file}: can't write into {file.parent}; name a directory you may write to")


def save(figure: Figure, file: Path) -> None:
    """PNG or SVG, by the name's ending. The same rows give the same file: no date or random name is written into it."""
    check_plot_file(file)
    FigureCanvasAgg(figure)
    date = {"Date": None} if file.suffix.lower() == ".svg" else {}
    try:
        with rc_context({"svg.hashsalt": "restow"}):
            figure.savefig(file, dpi=DOTS_PER_INCH, metadata=date)
    except OSError as error:
        raise _unwritable(file, error) from None


def _unwritable(file: Path, error: OSError) -> InvalidInput:
    reason = (error.strerror or str(error)).lower()
    return InvalidInput(f"{file}: can't be written ({reason}); name a file in a directory you may write to")
