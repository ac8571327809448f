"""Runs a user's transform on the records of a cycle.

    def delivered_orders(records: DataFrame) -> DataFrame:
        order = F.from_json(F.col("value").cast("string"), "id string, status string")
        return records.select(order.alias("order")).filter("order.status = 'DELIVERED'").select("order.id")

The transform is called in every cycle and only describes the rows: Spark computes them when they are written. Whatever
it raises becomes a TransformError.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame

from restow.pipeline.spark.failures import summary
from restow.pipeline.spark.lineage import LineageLost, carried, renamed, with_lineage
from restow.pipeline.transforms import TransformError, TransformRaised, imported

Transform = Callable[[DataFrame], DataFrame]


def transform_named(name: str) -> Transform:
    """`module:function`."""
    return imported(name, "take a DataFrame and return one")


def transformed(records: DataFrame, name: str | None, lineage: bool) -> DataFrame:
    """The transform's rows, with the lineage of their records if `lineage` is set. Raises TransformError."""
    if name is None:
        return renamed(records) if lineage else records
    transform, source = transform_named(name), with_lineage(records) if lineage else records
    try:
        rows: object = transform(source)
    except Exception as error:  # noqa: BLE001  the user's code may raise anything
        raise TransformRaised(name, summary(error)) from None
    if not isinstance(rows, DataFrame):
        kind = type(rows).__name__
        raise TransformError(f"the transform {name} returned a value of type {kind}; it must return a DataFrame")
    try:
        return carried(source, rows) if lineage else rows
    except LineageLost as error:
        raise TransformError(f"the transform {name} can't be used: {error}") from None
