"""Writes rows as Parquet files that are not part of any table yet. `sinks.py` has them made part of one."""

from typing import Any

from pyspark.sql import DataFrame

from restow.pipeline.delta.footers import TRAILER_BYTES, footer_bytes
from restow.pipeline.delta.statistics import statistics_of
from restow.pipeline.spark.jvm import java_class
from restow.pipeline.table import WrittenFile


def write_files(rows: DataFrame, root: str, staging: str) -> list[WrittenFile]:
    """Into `staging`, below the root of a table. A file without rows is left where it is."""
    target = f"{root.rstrip('/')}/{staging}"
    rows.write.parquet(target)
    session = rows.sparkSession
    path = java_class(session, "org.apache.hadoop.fs.Path")(target)
    store: Any = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    files = []
    for status in store.listStatus(path):
        name = str(status.getPath().getName())
        if name.endswith(".parquet"):
            size = int(status.getLen())
            found = statistics_of(_footer(store, status.getPath(), size), rows.schema)
            if found.rows:
                files.append(WrittenFile(f"{staging}/{name}", size, found.rows, found.text))
    return sorted(files, key=lambda file: file.path)


def _footer(store: Any, path: Any, size: int) -> bytes:
    """Read as Spark reads it, from whichever store."""
    file = store.open(path)
    try:
        file.seek(size - TRAILER_BYTES)
        length = footer_bytes(bytes(file.readNBytes(TRAILER_BYTES)))
        file.seek(size - TRAILER_BYTES - length)
        return bytes(file.readNBytes(length))
    finally:
        file.close()
