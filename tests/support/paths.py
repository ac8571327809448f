"""The repository, for tests that read its files or run its programs."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TRANSFORMS: Final = Path(__file__).with_name("transforms")


def line_in(file: Path, part: str) -> str:
    """The place of the one line of a file that contains this, as restow's errors name it."""
    [number] = [number for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1) if part in line]
    return f"{file}, line {number}"
