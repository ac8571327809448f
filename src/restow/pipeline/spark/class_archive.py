"""Class-data sharing: an archive of Spark's classes, which the JVM maps into memory instead of loading them one by one.

A session uses the archive if there is one (docs/decisions/030-spark-starts-and-cycles.md has the gain);
build_archive.py builds it. It fits one Java, one Spark and one list of jars at their paths; the JVM ignores an archive
that doesn't fit.
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
"""Set for the process whose JVM writes the archive as it exits."""
EDITION: Final = 2
"""Raise it when sessions come to need other classes: then `make` builds a new archive."""


def options() -> tuple[str, ...]:
    """JVM options of a session."""
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
    """Name, size and modification time of Spark's jars, as the JVM compares them: a reinstalled Spark needs a new
    archive."""
    if spark is None:
        return ()
    stats = ((jar.name, jar.stat()) for jar in sorted(Path(spark).with_name("jars").glob("*.jar")))
    return tuple((name, stat.st_size, int(stat.st_mtime)) for name, stat in stats)
