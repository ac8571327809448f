"""Writes rows as Parquet files in a staging directory, with the statistics that a Delta commit needs.

Files of a table in an object store are written to this machine's disk first and uploaded then: Spark needs no jars for
the store, and no credentials. Executors on other machines have no common disk, so that Spark has to write to the store
itself there.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from restow.pipeline.delta.errors import STORE_ERRORS, DeltaTableError, one_line
from restow.pipeline.delta.files import upload_all
from restow.pipeline.delta.footers import TRAILER_BYTES, footer_bytes
from restow.pipeline.delta.staging import WrittenFile
from restow.pipeline.delta.statistics import statistics_of
from restow.pipeline.delta.stores import is_remote
from restow.pipeline.probing import probe
from restow.pipeline.spark.jvm import java_class
from restow.pipeline.spark.session import runs_here

NULL_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"


def write_files(rows: DataFrame, root: str, staging: str, partition_by: Sequence[str] = ()) -> list[WrittenFile]:
    """Runs the Spark job. `staging` is relative to the table's root. Files without rows are not returned. With
    partition columns there is a directory for each value, like `country=AT`; the files don't have those columns. Raises
    DeltaTableError if the files can't be uploaded, or if the table's disk or its rights are to blame."""
    if not is_remote(root):
        return _write_here(rows, root, staging, partition_by)
    if not runs_here(rows.sparkSession):
        return _write(rows, root, staging, partition_by)
    with tempfile.TemporaryDirectory(prefix="restow-upload-", ignore_cleanup_errors=True) as scratch:
        files = _write(rows, scratch, staging, partition_by)
        try:
            upload_all(root, Path(scratch), [file.path for file in files])
        except STORE_ERRORS as error:
            raise DeltaTableError(f"the table {root} can't be written: {one_line(error)}") from None
        return files


def _write_here(rows: DataFrame, root: str, staging: str, partition_by: Sequence[str]) -> list[WrittenFile]:
    try:
        return _write(rows, root, staging, partition_by)
    except Exception as error:
        if reason := probe(Path(root, staging)):
            raise DeltaTableError(f"the table {root} can't be written: {reason}") from error
        raise


def _write(rows: DataFrame, root: str, staging: str, partition_by: Sequence[str]) -> list[WrittenFile]:
    target = f"{root.rstrip('/')}/{staging}"
    if partition_by:
        rows.write.partitionBy(*partition_by).parquet(target)
    else:
        rows.write.parquet(target)
    session, schema = rows.sparkSession, rows.schema
    path = java_class(session, "org.apache.hadoop.fs.Path")(target)
    store: Any = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    files = [_written(store, status, staging, schema, ()) for status in store.listStatus(path) if status.isFile()]
    if partition_by:
        files += _partitioned(store, path, staging, schema, len(partition_by))
    return sorted((file for file in files if file is not None), key=lambda file: file.path)


def _partitioned(store: Any, path: Any, directory: str, schema: StructType, depth: int) -> list[WrittenFile | None]:
    """The files of the partitions below a directory, `depth` levels of them."""
    found: list[tuple[Any, str, tuple[str, ...]]] = [(path, directory, ())]
    for _ in range(depth):
        found = [
            (status.getPath(), f"{name}/{child}", (*values, child))
            for parent, name, values in found
            for status in store.listStatus(parent)
            if status.isDirectory() and "=" in (child := str(status.getPath().getName()))
        ]
    return [
        _written(store, status, name, schema, tuple(map(partition_value, values)))
        for parent, name, values in found
        for status in store.listStatus(parent)
    ]


def partition_value(directory: str) -> tuple[str, str | None]:
    """Column and value of a directory's name, as Spark writes it."""
    column, _, value = directory.partition("=")
    return unquote(column), None if value == NULL_PARTITION else unquote(value)


def _written(
    store: Any, status: Any, directory: str, schema: StructType, partition: tuple[tuple[str, str | None], ...]
) -> WrittenFile | None:
    """None if it is no Parquet file, or has no rows."""
    name, size = str(status.getPath().getName()), int(status.getLen())
    if not name.endswith(".parquet"):
        return None
    found = statistics_of(_footer(store, status.getPath(), size), schema)
    return WrittenFile(f"{directory}/{name}", size, found.rows, found.json, partition) if found.rows else None


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
