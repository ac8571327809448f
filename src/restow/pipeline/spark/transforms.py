"""A person's transform: finding it by its name, and running it. `spark.py` and `restow check` do.

    def delivered_orders(records: DataFrame) -> DataFrame:
        order = F.from_json(F.col("value").cast("string"), "id string, status string")
        return records.select(order.alias("order")).filter("order.status = 'DELIVERED'").select("order.id")

It is called in every cycle with a frame of the records, and only describes what is to be done: Spark does it when the
rows are written. Whatever it raises is told as its failure.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame

from restow.pipeline.spark.failures import told
from restow.pipeline.spark.lineage import LineageLost, carried, with_lineage
from restow.pipeline.transforms import TransformTrouble, function_named

Transform = Callable[[DataFrame], DataFrame]


def transform_of(name: str | None) -> Transform:
    """`module:function`; nothing: the records as they are."""
    return (lambda records: records) if name is None else function_named(name, "take a DataFrame and give one")


def rows_of(records: DataFrame, name: str | None, lineage: bool) -> DataFrame:
    """What the transform makes of the records, with their lineage if that is wanted."""
    transform, source = transform_of(name), with_lineage(records) if lineage else records
    try:
        rows: object = transform(source)
    except Exception as error:  # noqa: BLE001  a person's code may raise anything
        raise TransformTrouble(f"the transform {name} failed: {told(error)}") from None
    if not isinstance(rows, DataFrame):
        kind = type(rows).__name__
        raise TransformTrouble(f"the transform {name} gave a value of type {kind}; it must give a DataFrame")
    try:
        return carried(source, rows) if lineage else rows
    except LineageLost as error:
        raise TransformTrouble(f"the transform {name} can't be used: {error}") from None
