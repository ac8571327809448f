"""A shop's orders and clicks: they arrive as JSON and leave as rows, typed, cleaned and enriched.

restow.toml names `orders` and `clicks` as the transforms of their topics. Each is called with the records of a cycle
and describes what becomes of them; the closing `select` is what the table has.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

ORDER = "id string, at timestamp, customer string, country string, amount decimal(12,2), currency string"
CLICK = "id string, at timestamp, customer string, page string, agent string"
EUROS = {"EUR": 1.0, "USD": 0.92, "GBP": 1.17, "SEK": 0.088}
"""What one of each is worth, for the example."""


def orders(records: DataFrame) -> DataFrame:
    """One row an order, with its value in euros. An order in a currency that nobody knows has none."""
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
    """One row a click of a person, with the part of the shop it was in. Robots don't buy shoes."""
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
    """The fields of every record that is JSON and has an id; the others are of no use to anybody."""
    fields = F.from_json(F.col("value").cast("string"), schema)
    return records.select(fields.alias("fields")).select("fields.*").filter(F.col("id").isNotNull())


def cleaned(name: str) -> Column:
    """Without blanks around it; nothing if nothing is left."""
    return F.nullif(F.trim(F.col(name)), F.lit(""))


def looked_up(values: dict[str, float], key: Column) -> Column:
    pairs = [F.lit(part) for pair in values.items() for part in pair]
    return F.create_map(*pairs)[key]
