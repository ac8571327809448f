"""Makes the rows of tables from records, with the target's parser and transform. The engine's threads call it."""

import json
import threading
from collections.abc import Callable
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from restow.pipeline.formats.frames import Parser
from restow.pipeline.formats.schemas import Schemas
from restow.pipeline.spark.context import Context, StaticTables
from restow.pipeline.spark.jvm import java_class
from restow.pipeline.spark.partitions import with_partition_columns
from restow.pipeline.spark.transforms import all_transformed, transformed
from restow.pipeline.targets import Target
from restow.settings import Settings


class RowMaker:
    def __init__(self, settings: Settings, session: Callable[[], SparkSession]) -> None:
        """`session` returns the running session."""
        self._session = session
        self._tables = StaticTables(settings)
        self._thread = threading.local()
        self.schemas = Schemas(settings)

    def rows(self, records: DataFrame, target: Target) -> DataFrame:
        """Of the target's own table."""
        return _partitioned(transformed(records, target, *self._tools(target)), target)

    def all_rows(self, records: DataFrame, target: Target) -> dict[str, DataFrame]:
        """Of each table that the target's transform returns."""
        found = all_transformed(records, target, *self._tools(target))
        return {table: _partitioned(rows, target) for table, rows in found.items()}

    def activate_session(self) -> None:
        """A transform may ask for the active session, which Spark keeps for each thread."""
        if not getattr(self._thread, "has_session", False):
            session = self._session()
            java_class(session, "org.apache.spark.sql.classic.SparkSession").setActiveSession(session._jsparkSession)
            self._thread.has_session = True

    def _tools(self, target: Target) -> tuple[Parser | None, Context]:
        self.activate_session()
        session, options = self._session(), json.loads(target.options or "{}")
        parser = self.schemas.parser(target.parsing) if target.parsing.format else None
        return parser, Context(session, options, partial(self._tables.rows, session))


def _partitioned(rows: DataFrame, target: Target) -> DataFrame:
    return with_partition_columns(rows, target.partition_by) if target.partition_by else rows
