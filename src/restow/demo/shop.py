"""A shop's topics as tables: orders and clicks arrive as JSON and become typed, cleaned and enriched rows.

The demonstration's consumers run these transforms. Each gets the records of a cycle as a DataFrame; its closing
`select` is the table's schema. Start your own from examples/shop.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

ORDER = "id string, customer string, country string, status string, amount double, currency string"
CLICK = "id string, customer string, page string, agent string"
EUR = {"EUR": 1.0, "USD": 0.92, "GBP": 1.17, "SEK": 0.088}
"""Exchange rates to the euro, for the example."""


def orders(records: DataFrame) -> DataFrame:
    """One row per order, with its value in euros."""
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
    """One row per click, with its section of the shop."""
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
    """Trimmed; null if empty."""
    return F.nullif(F.trim(F.col(name)), F.lit(""))


def rate(currency: Column) -> Column:
    known = [F.lit(part) for pair in EUR.items() for part in pair]
    return F.coalesce(F.create_map(*known)[currency], F.lit(1.0))
