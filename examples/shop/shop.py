"""A shop's orders and clicks: JSON records become typed, cleaned and enriched rows.

restow.toml names `orders` and `clicks` as the transforms of their topics. Each gets the records of a cycle as a
DataFrame; its closing `select` is the table's schema.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

ORDER = "id string, at timestamp, customer string, country string, amount decimal(12,2), currency string"
CLICK = "id string, at timestamp, customer string, page string, agent string"
EUROS = {"EUR": 1.0, "USD": 0.92, "GBP": 1.17, "SEK": 0.088}
"""Exchange rates to the euro, for the example."""


def orders(records: DataFrame) -> DataFrame:
    """One row per order, with its value in euros: null if the currency is unknown."""
    euros = F.round(F.col("amount") * looked_up(EUROS, F.col("currency")), 2)
    return parsed(records, ORDER).select(
        "id",
        F.col("at").alias("ordered_at"),
        cleaned("customer").alias("customer"),
        F.upper(cleaned("country")).alias("country"),
        "amount",
        "currency",
        euros.alias("euros"),
        (euros >= 100).alias("is_large"),
    )


def clicks(records: DataFrame) -> DataFrame:
    """One row per click, with its section of the shop, without robots: they don't buy shoes."""
    is_robot = F.col("agent").rlike("(?i)bot|crawler|spider")
    is_phone = F.col("agent").rlike("(?i)mobile|android|iphone")
    section = F.regexp_extract("page", "^/([a-z]+)", 1)
    return (
        parsed(records, CLICK)
        .filter(~F.coalesce(is_robot, F.lit(False)))
        .select(
            "id",
            F.col("at").alias("clicked_at"),
            cleaned("customer").alias("customer"),
            "page",
            F.when(section == "", "home").otherwise(section).alias("section"),
            F.when(is_phone, "phone").otherwise("desk").alias("device"),
        )
    )


def parsed(records: DataFrame, schema: str) -> DataFrame:
    """The fields of every record that is JSON and has an id; drops the others."""
    fields = F.from_json(F.col("value").cast("string"), schema)
    return records.select(fields.alias("fields")).select("fields.*").filter(F.col("id").isNotNull())


def cleaned(name: str) -> Column:
    """Trimmed; null if empty."""
    return F.nullif(F.trim(F.col(name)), F.lit(""))


def looked_up(values: dict[str, float], key: Column) -> Column:
    pairs = [F.lit(part) for pair in values.items() for part in pair]
    return F.create_map(*pairs)[key]
