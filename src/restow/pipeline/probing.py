"""Tries whether files can be created in a directory, and says why not. `restow check` calls it before anything is
written, and spark/writing.py after a failure: Hadoop's own errors don't tell why a directory can't be made."""

import tempfile
from pathlib import Path


def probe(directory: Path) -> str | None:
    """Why no file can be created in this directory, or in the nearest one above it that exists; None if one can. The
    file that it tries with has no name and is gone at once."""
    nearest = directory
    try:
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        if not nearest.is_dir():
            return f"{nearest} is not a directory"
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(b"restow")
            file.flush()
    except OSError as error:
        return f"{nearest}: {error.strerror}"
    return None
