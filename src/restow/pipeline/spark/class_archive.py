"""Spark's classes as an archive that the JVM maps into memory instead of reading, checking and linking them one by one.

Sessions that find one start with it (docs/decisions/030-spark-starts-and-cycles.md has what it gives); `archiving.py`
makes it. It belongs to one Java, one Spark and one list of jars, each where it is: the JVM passes over one that
doesn't fit.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
from pathlib import Path
from typing import Final

from restow.java.jars import cache_dir
from restow.java.runtime import find_java
from restow.pipeline.spark.jars import CONNECTOR

DUMP: Final = "RESTOW_DUMP_CLASSES"
"""Set for the one process whose JVM writes the archive when it ends."""
EDITION: Final = 2
"""To be raised when sessions come to need other classes: then `make` writes another archive."""


def options() -> tuple[str, ...]:
    """For the JVM of a session."""
    dump = os.environ.get(DUMP)
    if dump:
        return (f"-XX:ArchiveClassesAtExit={dump}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")
    archive = archive_path()
    if not archive.exists():
        return ()
    return (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def archive_path() -> Path:
    java, spark = find_java().resolve(), importlib.util.find_spec("pyspark")
    where = None if spark is None else spark.origin
    version = importlib.metadata.version("pyspark")
    parts = (
        str(java),
        java.stat().st_mtime_ns,
        where,
        version,
        _jars(where),
        str(cache_dir()),
        str(CONNECTOR),
        EDITION,
    )
    return cache_dir().parent / "classes" / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.jsa"


def _jars(spark: str | None) -> tuple[tuple[str, int, int], ...]:
    """Spark's, as the JVM compares them, by whole seconds: those of a Spark that was installed anew are others."""
    if spark is None:
        return ()
    stats = ((jar.name, jar.stat()) for jar in sorted(Path(spark).with_name("jars").glob("*.jar")))
    return tuple((name, stat.st_size, int(stat.st_mtime)) for name, stat in stats)
