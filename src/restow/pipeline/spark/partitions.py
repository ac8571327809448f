"""Partition columns of `partition_by` that are made from a date or timestamp: `day(created_at)` adds `created_at_day`.

Delta tables are partitioned by columns, and have no hidden partitions as Iceberg's do: what a reader can filter by, and
what a directory is named after, has to be a column. Days are those of the session's time zone, which is UTC unless
[spark] says otherwise.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame

from restow.pipeline.transforms import TransformError
from restow.protocol.definitions import PARTITION, partition_column

UNITS: Final = {
    "year": "year({0})",
    "month": "date_format({0}, 'yyyy-MM')",
    "day": "to_date({0})",
    "hour": "date_format({0}, 'yyyy-MM-dd-HH')",
}
"""In Spark's SQL. A month and an hour are texts in the order of time."""
TYPES: Final = ("date", "timestamp", "timestamp_ntz")


def with_partition_columns(rows: DataFrame, partition_by: Sequence[str]) -> DataFrame:
    """Raises TransformError if the rows don't have what is wanted."""
    kinds = dict(rows.dtypes)
    added = []
    for entry in partition_by:
        parts = PARTITION.fullmatch(entry)
        assert parts is not None, entry
        name, source = partition_column(entry), parts["column"] or parts["of"]
        if source not in kinds:
            raise TransformError(f"partition_by has {entry}, but the rows have only {', '.join(rows.columns)}")
        if parts["unit"] is None:
            continue
        if kinds[source] not in TYPES:
            raise TransformError(
                f"partition_by has {entry}, but {source} is {kinds[source]}; it must be a date or timestamp"
            )
        if name in kinds:
            raise TransformError(f"partition_by has {entry}, but the rows have {name} already; write {name} instead")
        added.append(f"{UNITS[parts['unit']].format(f'`{source}`')} as `{name}`")
    return rows.selectExpr("*", *added) if added else rows
