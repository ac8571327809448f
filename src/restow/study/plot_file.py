"""Checks a plot's file name before a long run. Apart from plots.py, which loads matplotlib."""

import os
from pathlib import Path
from typing import Final

from restow.errors import InvalidInput

EXTENSIONS: Final = (".png", ".svg")


def check_plot_file(file: Path) -> None:
    """Raises InvalidInput if the file can't be written. Creates its directory."""
    if file.suffix.lower() not in EXTENSIONS:
        raise InvalidInput(f"{file}: can't draw into a '{file.suffix}' file; its name must end in .png or .svg")
    if file.is_dir():
        raise InvalidInput(f"{file}: is a directory; name a file")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(file, error) from None
    if not os.access(file.parent, os.W_OK):
        raise InvalidInput(f"{file}: can't write into {file.parent}; name a directory you may write to")


def unwritable(file: Path, error: OSError) -> InvalidInput:
    reason = (error.strerror or str(error)).lower()
    return InvalidInput(f"{file}: can't be written ({reason}); name a file in a directory you may write to")
