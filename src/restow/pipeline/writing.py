"""Writes rows as Parquet files that are not part of any table yet. `sinks.py` has them made part of one."""

from typing import Any

from pyspark.sql import DataFrame

from restow.pipeline.statistics import read_footer
from restow.pipeline.table import WrittenFile


def write_files(rows: DataFrame, root: str, staging: str) -> list[WrittenFile]:
    """Into `staging`, below the root of a table. A file without rows is left where it is."""
    target = f"{root.rstrip('/')}/{staging}"
    rows.write.parquet(target)
    session = rows.sparkSession
    jvm: Any = session._jvm
    configuration: Any = session.sparkContext._jsc.hadoopConfiguration()
    path = jvm.org.apache.hadoop.fs.Path(target)
    files = []
    for status in path.getFileSystem(configuration).listStatus(path):
        name = str(status.getPath().getName())
        if name.endswith(".parquet"):
            footer = read_footer(jvm, status, configuration, rows.schema)
            if footer.rows:
                files.append(WrittenFile(f"{staging}/{name}", int(status.getLen()), footer.rows, footer.stats))
    return sorted(files, key=lambda file: file.path)
