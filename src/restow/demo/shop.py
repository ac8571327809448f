"""A shop's topics as tables: orders and clicks arrive as JSON, and leave typed, cleaned and enriched.

The demonstration's consumers run these. Each is called with the records of a cycle and describes what becomes of them;
the closing `select` is what the table has. examples/shop has one to begin your own with.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

ORDER = "id string, customer string, country string, status string, amount double, currency string"
CLICK = "id string, customer string, page string, agent string"
EUR = {"EUR": 1.0, "USD": 0.92, "GBP": 1.17, "SEK": 0.088}
"""What one of each is worth in euros, for the example."""


def orders(records: DataFrame) -> DataFrame:
    """One row an order, with its value in euros."""
    euros = F.round(F.col("amount") * rate(F.col("currency")), 2)
    return parsed(records, ORDER).select(
        "id",
        cleaned("customer").alias("customer"),
        F.upper(cleaned("country")).alias("country"),
        F.upper("status").alias("status"),
        "amount",
        "currency",
        euros.alias("amount_eur"),
        (euros >= 100).alias("is_large"),
    )


def clicks(records: DataFrame) -> DataFrame:
    """One row a click, with the part of the shop it was in."""
    section = F.coalesce(F.nullif(F.regexp_extract("page", r"^/([a-z]+)", 1), F.lit("")), F.lit("home"))
    is_phone = F.col("agent").rlike("(?i)mobile|android|iphone")
    return parsed(records, CLICK).select(
        "id",
        cleaned("customer").alias("customer"),
        "page",
        section.alias("section"),
        is_phone.alias("is_phone"),
    )


def parsed(records: DataFrame, schema: str) -> DataFrame:
    fields = F.from_json(F.col("value").cast("string"), schema)
    return records.select(fields.alias("fields")).select("fields.*")


def cleaned(name: str) -> Column:
    """Without blanks around it; nothing if nothing is left."""
    return F.nullif(F.trim(F.col(name)), F.lit(""))


def rate(currency: Column) -> Column:
    known = [F.lit(part) for pair in EUR.items() for part in pair]
    return F.coalesce(F.create_map(*known)[currency], F.lit(1.0))
