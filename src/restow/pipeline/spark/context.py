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
from pathlib import Path
from typing import NamedTuple

from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import StructType

from restow.pipeline.delta.compaction import Partition, files_of
from restow.pipeline.delta.errors import STORE_ERRORS, one_line
from restow.pipeline.delta.files import ScratchDirectory, files_below
from restow.pipeline.delta.stores import is_remote, options_of
from restow.pipeline.spark.session import runs_here
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
    copies: ScratchDirectory | None
    """Of its files, if the table is in an object store. Spark reads them when it first needs the rows."""


class StaticTables:
    """The tables that transforms join. Used in Spark's thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loaded: dict[str, Loaded] = {}

    def rows(self, session: SparkSession, path: str) -> DataFrame:
        """Raises TransformError if there is no such table, or if it can't be read."""
        known, uri = self._loaded.get(path), self._settings.located(path)
        try:
            table = DeltaTable(uri, storage_options=options_of(uri)) if known is None else known.table
            table.update_incremental()
            if known is not None and known.version == table.version():
                return known.rows
            _refuse_unreadable(table, path)
            rows, copies = _read(session, table, uri)
        except STORE_ERRORS as error:
            raise TransformError(f"context.table({path!r}) can't be read: {one_line(error)}") from None
        if known is not None:
            known.rows.unpersist()
            if known.copies is not None:
                known.copies.remove()
        self._loaded[path] = Loaded(table, table.version(), rows, copies)
        return rows


def _refuse_unreadable(table: DeltaTable, path: str) -> None:
    metadata = table.metadata()
    has_vectors = metadata.configuration.get("delta.enableDeletionVectors") == "true"
    has_mapping = metadata.configuration.get("delta.columnMapping.mode", "none") != "none"
    if has_vectors or has_mapping:
        raise TransformError(
            f"context.table({path!r}) can't be read: the table has deletion vectors or mapped columns, which its "
            "Parquet files alone don't tell; write a plain copy of it"
        )


def _read(session: SparkSession, table: DeltaTable, uri: str) -> tuple[DataFrame, ScratchDirectory | None]:
    schema, names = StructType.fromJson(json.loads(table.schema().to_json())), table.metadata().partition_columns
    in_files = StructType([field for field in schema.fields if field.name not in names])
    copies = ScratchDirectory("restow-table-") if is_remote(uri) and runs_here(session) else None
    parts = [
        session.read.schema(in_files)
        .parquet(*files)
        .withColumns({name: functions.lit(value).cast(schema[name].dataType) for name, value in values})
        for values, files in (_copied(table, uri, copies.path) if copies else _files(table)).items()
    ]
    if not parts:
        return session.createDataFrame([], schema), copies
    return reduce(DataFrame.union, parts).select(*(f"`{field.name}`" for field in schema.fields)).persist(), copies


def _files(table: DeltaTable) -> dict[Partition, list[str]]:
    """The table's files, by the values of its partition columns, which the files don't have."""
    root, found = table.table_uri.rstrip("/"), dict[Partition, list[str]]()
    for file in files_of(table):
        found.setdefault(file.partition, []).append(f"{root}/{file.path}")
    return found


def _copied(table: DeltaTable, uri: str, to: Path) -> dict[Partition, list[str]]:
    """Copies of the table's files in a directory, by the same values."""
    source, found = files_below(uri), dict[Partition, list[str]]()
    for number, file in enumerate(files_of(table)):
        copy = to / f"{number:06}.parquet"
        source.fetch(file.path, copy)
        found.setdefault(file.partition, []).append(str(copy))
    return found
