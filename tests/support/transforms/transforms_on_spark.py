"""Transforms of the Spark pipeline's tests."""

import json
import time

from pyspark.sql import DataFrame, functions

from restow.pipeline.spark.context import Context

SECONDS = 60


def doubled(records: DataFrame) -> DataFrame:
    """Doubles the even numbers, and selects no lineage columns."""
    number = functions.col("value").cast("string").cast("long")
    twice = functions.explode(functions.array(functions.lit("a"), functions.lit("b")))
    return records.select(number.alias("number")).filter("number % 2 = 0").select("number", twice.alias("copy"))


def counted(records: DataFrame) -> DataFrame:
    return records.groupBy("topic").count()


def kept(records: DataFrame) -> DataFrame:
    """Joins names, and selects the lineage columns itself."""
    names = records.sparkSession.createDataFrame([(0, "zero"), (1, "one")], "partition int, name string")
    joined = records.join(functions.broadcast(names), "partition", how="left")
    return joined.select("name", "_topic", "_partition", "_offset", "_timestamp")


def never_seven(records: DataFrame) -> DataFrame:
    def checked(text: str) -> int:
        if text == "7":
            raise ValueError("a seven")
        return int(text)

    check = functions.udf(lambda text: checked(text), "int")  # noqa: PLW0108  a lambda needs no type hints for Spark
    return records.select(check(functions.col("value").cast("string")).alias("number"))


def undocumented(records: DataFrame) -> DataFrame:
    def parsed(text: str) -> int:
        return int(json.loads("" if text == "7" else text))

    parse = functions.udf(lambda text: parsed(text), "int")  # noqa: PLW0108
    return records.select(parse(functions.col("value").cast("string")).alias("number"))


def strictly_cast(records: DataFrame) -> DataFrame:
    text = functions.regexp_replace(functions.col("value").cast("string"), "^7$", "seven")
    return records.select(text.cast("int").alias("number"))


def eagerly(records: DataFrame) -> DataFrame:
    sevens = records.filter("CAST(value AS string) = '7'").count()
    return records.select(functions.lit(1 // (1 - sevens)).alias("number"))


def joined(records: DataFrame, context: Context) -> DataFrame:
    """Joins a static table, and keeps what is above an option."""
    names = context.table(str(context.options["names"]))
    rows = records.filter(functions.col("n") > context.options["least"]).join(names, "id", how="left")
    return rows.select("id", "name", "_topic", "_partition", "_offset", "_timestamp")


def misspelt(records: DataFrame) -> DataFrame:
    return records.select("valeu")


def slow(records: DataFrame) -> DataFrame:
    def waited(text: str) -> str:
        time.sleep(SECONDS)
        return text

    wait = functions.udf(lambda text: waited(text), "string")  # noqa: PLW0108
    return records.select(wait(functions.col("value").cast("string")).alias("text"))


def no_frame(records: DataFrame) -> int:
    return len(records.columns)


def both(records: DataFrame, context: Context) -> dict[str, DataFrame]:
    """Rows for two tables."""
    first, second = (str(context.options[name]) for name in ("first", "second"))
    return {first: records.select("value"), second: records.select("value", functions.lit(2).alias("table"))}


def countries(records: DataFrame, context: Context) -> DataFrame:
    """Joins the countries of a partitioned table."""
    names = context.table(str(context.options["names"])).select("id", functions.col("country").alias("of"))
    return records.join(names, "id", how="left").select("id", "of", "_topic", "_partition", "_offset", "_timestamp")


def numbers(records: DataFrame) -> DataFrame:
    return records.selectExpr("cast(cast(value AS string) AS int) AS number")


def checked_twice(records: DataFrame, context: Context) -> dict[str, DataFrame]:
    """Rows for two tables: neither takes 7, and the second does not take 5 either."""

    def numbers_but(bad: str) -> DataFrame:
        checked = functions.regexp_replace(functions.col("value").cast("string"), f"^[{bad}]$", "no number")
        return records.select(checked.cast("int").alias("number"))

    first, second = (str(context.options[name]) for name in ("first", "second"))
    return {first: numbers_but("7"), second: numbers_but("57")}


def taken_twice(records: DataFrame, context: Context) -> dict[str, DataFrame]:
    """Rows for the same two tables, which take every number."""
    return {str(context.options[name]): numbers(records) for name in ("first", "second")}
