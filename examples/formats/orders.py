"""The transform of orders: rows for two tables, one for the orders and one for their lines.

Each table has its own positions, so that each gets every order exactly once, whatever happens between their commits.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def with_lines(records: DataFrame) -> dict[str, DataFrame]:
    lines = records.select("id", F.explode("lines").alias("line"))
    return {
        "lake/orders": records.select("id", "customer"),
        "lake/order_lines": lines.select("id", "line.article", "line.pieces"),
    }
