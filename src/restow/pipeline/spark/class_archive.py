"""The archive of Spark's classes. A session uses it if there is one (docs/decisions/030-spark-starts-and-cycles.md has
the gain); build_archive.py builds it.
"""

import importlib.metadata
import importlib.util
import os
from pathlib import Path
from typing import Final

from restow.java import class_data
from restow.java.jars import cache_dir
from restow.java.runtime import find_java
from restow.pipeline.spark.jars import CONNECTOR

DUMP: Final = "RESTOW_DUMP_CLASSES"
"""Set for the process whose JVM writes the archive as it exits."""
EDITION: Final = 3
"""Raise it when sessions come to need other classes: then `make` builds a new archive."""


def options() -> tuple[str, ...]:
    """JVM options of a session."""
    dump = os.environ.get(DUMP)
    return class_data.writing(Path(dump)) if dump else class_data.using(archive_path())


def archive_path() -> Path:
    spark = importlib.util.find_spec("pyspark")
    where = Path("" if spark is None or spark.origin is None else spark.origin)
    version = importlib.metadata.version("pyspark")
    return class_data.archive_for(
        find_java(), where.with_name("jars"), version, str(cache_dir()), str(CONNECTOR), EDITION
    )
