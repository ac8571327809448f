"""The repository, for tests that read its files or run its programs."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TRANSFORMS: Final = Path(__file__).with_name("transforms")
