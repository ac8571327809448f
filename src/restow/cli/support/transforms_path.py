"""Makes modules with transforms importable from the directory of restow.toml."""

import os
import sys
from pathlib import Path


def add_transforms_path(config: Path) -> None:
    """For this process, and for the Python workers that Spark starts for UDFs."""
    directory = str(config.absolute().parent)
    if directory not in sys.path:
        sys.path.insert(0, directory)
    others = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([directory, *([others] if others else [])])
