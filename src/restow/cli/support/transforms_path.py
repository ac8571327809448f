"""Where a person's modules with transforms are found: beside restow.toml, besides wherever Python looks anyway."""

import os
import sys
from pathlib import Path


def let_transforms_be_found(config: Path) -> None:
    """Here, and in the Python processes that Spark starts for functions written in Python."""
    directory = str(config.absolute().parent)
    if directory not in sys.path:
        sys.path.insert(0, directory)
    others = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([directory, *([others] if others else [])])
