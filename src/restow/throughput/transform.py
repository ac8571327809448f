"""The transform of restow's consumer and of Structured Streaming: from_json and a filter."""

from typing import Final

from pyspark.sql import DataFrame, functions

from restow.throughput.records import DELIVERED

SCHEMA: Final = "id long, customer string, status string, amount double, note string"


def delivered(records: DataFrame) -> DataFrame:
    order = functions.from_json(functions.col("value").cast("string"), SCHEMA)
    orders = records.select(order.alias("order")).select("order.*")
    is_delivered = functions.col("status") == DELIVERED
    return orders.filter(is_delivered)
