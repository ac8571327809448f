"""Makes the rows of a cycle: parses its records if their topic has a format, and runs the user's transform or query.

    def delivered_orders(records: DataFrame) -> DataFrame:
        order = F.from_json(F.col("value").cast("string"), "id string, status string")
        return records.select(order.alias("order")).filter("order.status = 'DELIVERED'").select("order.id")

The transform is called in every cycle and only describes the rows: Spark computes them when they are written. Whatever
it raises becomes a TransformError.
"""

import inspect
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from restow.pipeline.formats.frames import Parser, accepted, parsed
from restow.pipeline.spark.context import Context
from restow.pipeline.spark.failures import summary
from restow.pipeline.spark.jvm import java_class
from restow.pipeline.spark.lineage import LINEAGE, LineageLost, carried, renamed, with_lineage
from restow.pipeline.targets import Target
from restow.pipeline.transforms import TransformError, TransformRaised, imported

Transform = Callable[..., DataFrame]

RECORDS = "records"
"""The name of the records in a query."""


def transform_named(name: str) -> Transform:
    """`module:function`."""
    return imported(name, "take a DataFrame and return one")


def transformed(records: DataFrame, target: Target, parser: Parser | None, context: Context) -> DataFrame:
    """The target's rows, with the lineage of their records if it wants that. Raises TransformError."""
    found = all_transformed(records, target, parser, context)
    if target.table not in found:
        raise TransformError(
            f"{target.maker} returned rows for {', '.join(sorted(found))}, and not for {target.table}, as it did when "
            "its partitions were opened; it must return the same tables in every cycle"
        )
    return found[target.table]


def all_transformed(
    records: DataFrame, target: Target, parser: Parser | None, context: Context
) -> dict[str, DataFrame]:
    """The rows of each table: of the target's own, unless the transform returns several."""
    if not target.maker:
        return {target.table: _stored_as_they_are(records, target, parser)}
    source = _source(records, target, parser)
    try:
        rows: object = _queried(source, target.sql) if target.sql else _called(source, target.transform, context)
    except TransformError:
        raise
    except Exception as error:  # noqa: BLE001  the user's code may raise anything
        raise TransformRaised(target.maker, summary(error)) from None
    try:
        return {
            table: carried(source, each) if target.lineage else each for table, each in _by_table(rows, target).items()
        }
    except LineageLost as error:
        raise TransformError(f"{target.maker} can't be used: {error}") from None


def _by_table(rows: object, target: Target) -> dict[str, DataFrame]:
    if isinstance(rows, DataFrame):
        return {target.table: rows}
    if not isinstance(rows, dict):
        kind = type(rows).__name__
        raise TransformError(f"{target.maker} returned a value of type {kind}; it must return a DataFrame")
    if not rows or not all(isinstance(each, DataFrame) for each in rows.values()):
        raise TransformError(f"{target.maker} returned {rows!r}; it must be a DataFrame for each table")
    if target.table and not target.is_output:
        raise TransformError(
            f"{target.maker} returned rows for {', '.join(sorted(map(str, rows)))}, and table is {target.table}; leave "
            "table out, or return one DataFrame"
        )
    for table in rows:
        if not isinstance(table, str) or not table or "{" in table:
            raise TransformError(f"{target.maker} returned rows for {table!r}; it must be a table's name")
    return rows


def _stored_as_they_are(records: DataFrame, target: Target, parser: Parser | None) -> DataFrame:
    if parser is None:
        return renamed(records) if target.lineage else records
    return accepted(parsed(records, parser)).select(*parser.columns.values(), *(LINEAGE if target.lineage else ()))


def _source(records: DataFrame, target: Target, parser: Parser | None) -> DataFrame:
    """What the transform gets."""
    if parser is not None:
        return accepted(parsed(records, parser))
    return with_lineage(records) if target.lineage else records


def _called(source: DataFrame, name: str, context: Context) -> object:
    transform = transform_named(name)
    return transform(source, context) if takes_context(transform) else transform(source)


def takes_context(transform: Transform) -> bool:
    """Whether it has a second parameter that must be given, or one called `context`."""
    try:
        parameters = list(inspect.signature(transform).parameters.values())
    except (TypeError, ValueError):  # of a function that isn't written in Python
        return False
    return any(
        each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        and (each.name == "context" or each.default is each.empty)
        for each in parameters[1:2]
    )


def _queried(source: DataFrame, query: str) -> DataFrame:
    """The view is resolved when the query is analyzed, which is before this returns. Names of subqueries are taken out
    of the analyzed plan: lineage can't be carried through them."""
    session = source.sparkSession
    source.createOrReplaceTempView(RECORDS)
    try:
        plan: Any = session.sql(query)._jdf.queryExecution().analyzed()
    finally:
        session.catalog.dropTempView(RECORDS)
    inlined = java_class(session, "org.apache.spark.sql.catalyst.optimizer.InlineCTE")(True, False).apply(plan)
    aliases = java_class(session, "org.apache.spark.sql.catalyst.analysis.EliminateSubqueryAliases")
    dataset = java_class(session, "org.apache.spark.sql.classic.Dataset")
    return DataFrame(dataset.ofRows(session._jsparkSession, aliases.apply(inlined)), session)
