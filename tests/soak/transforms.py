"""The soak's transforms: the value of a record is its id and some padding."""

from pyspark.sql import DataFrame, functions


def ids(records: DataFrame) -> DataFrame:
    return records.select(functions.split(functions.col("value").cast("string"), " ")[0].alias("id"))
