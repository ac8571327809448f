"""Writes rows as Parquet files in a staging directory, with the statistics that a Delta commit needs."""

from typing import Any

from pyspark.sql import DataFrame

from restow.pipeline.delta.footers import TRAILER_BYTES, footer_bytes
from restow.pipeline.delta.staging import WrittenFile
from restow.pipeline.delta.statistics import statistics_of
from restow.pipeline.spark.jvm import java_class


def write_files(rows: DataFrame, root: str, staging: str) -> list[WrittenFile]:
    """Runs the Spark job. `staging` is relative to the table's root. Files without rows are not returned."""
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
                files.append(WrittenFile(f"{staging}/{name}", size, found.rows, found.json))
    return sorted(files, key=lambda file: file.path)


def _footer(store: Any, path: Any, size: int) -> bytes:
    """Read through Hadoop, so that it works on every store that Spark can write to."""
    file = store.open(path)
    try:
        file.seek(size - TRAILER_BYTES)
        length = footer_bytes(bytes(file.readNBytes(TRAILER_BYTES)))
        file.seek(size - TRAILER_BYTES - length)
        return bytes(file.readNBytes(length))
    finally:
        file.close()
