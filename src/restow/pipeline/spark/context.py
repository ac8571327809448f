"""The second argument of a transform: the session, the topic's options, and static tables to join.

    def orders(records: DataFrame, context: Context) -> DataFrame:
        customers = context.table("lake/customers")
        return records.join(customers, "customer_id", how="left").filter(f"amount > {context.options['least']}")

A table is a Delta table. It is read again when its version changes, and kept in Spark's memory until then.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import StructType

from restow.pipeline.delta.compaction import Partition, files_of
from restow.pipeline.delta.errors import STORE_ERRORS, one_line
from restow.pipeline.transforms import TransformError
from restow.settings import Settings

Option = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Context:
    """What a transform gets beside the records."""

    spark: SparkSession
    options: Mapping[str, Option]
    """[consume.NAME.options] of restow.toml."""
    table: Callable[[str], DataFrame]
    """The rows of a Delta table, by its path, relative to restow.toml, or its URI."""


class Loaded(NamedTuple):
    table: DeltaTable
    version: int
    rows: DataFrame


class StaticTables:
    """The tables that transforms join. Used in Spark's thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loaded: dict[str, Loaded] = {}

    def rows(self, session: SparkSession, path: str) -> DataFrame:
        """Raises TransformError if there is no such table, or if it can't be read."""
        known = self._loaded.get(path)
        try:
            table = DeltaTable(self._settings.located(path)) if known is None else known.table
            table.update_incremental()
            if known is not None and known.version == table.version():
                return known.rows
            rows = _read(session, table, path)
        except STORE_ERRORS as error:
            raise TransformError(f"context.table({path!r}) can't be read: {one_line(error)}") from None
        if known is not None:
            known.rows.unpersist()
        self._loaded[path] = Loaded(table, table.version(), rows)
        return rows


def _read(session: SparkSession, table: DeltaTable, path: str) -> DataFrame:
    metadata = table.metadata()
    has_vectors = metadata.configuration.get("delta.enableDeletionVectors") == "true"
    has_mapping = metadata.configuration.get("delta.columnMapping.mode", "none") != "none"
    if has_vectors or has_mapping:
        raise TransformError(
            f"context.table({path!r}) can't be read: the table has deletion vectors or mapped columns, which its "
            "Parquet files alone don't tell; write a plain copy of it"
        )
    schema = StructType.fromJson(json.loads(table.schema().to_json()))
    names = metadata.partition_columns
    in_files = StructType([field for field in schema.fields if field.name not in names])
    parts = [
        session.read.schema(in_files)
        .parquet(*uris)
        .withColumns({name: functions.lit(value).cast(schema[name].dataType) for name, value in values})
        for values, uris in _files(table).items()
    ]
    if not parts:
        return session.createDataFrame([], schema)
    return reduce(DataFrame.union, parts).select(*(f"`{field.name}`" for field in schema.fields)).persist()


def _files(table: DeltaTable) -> dict[Partition, list[str]]:
    """The table's files, by the values of its partition columns, which the files don't have."""
    root, found = table.table_uri.rstrip("/"), dict[Partition, list[str]]()
    for file in files_of(table):
        found.setdefault(file.partition, []).append(f"{root}/{file.path}")
    return found
