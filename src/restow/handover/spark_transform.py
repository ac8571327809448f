"""The Spark consumers' transform: it keeps each record's size. The table's log has the times and the processes."""

from pyspark.sql import DataFrame, functions


def sizes(records: DataFrame) -> DataFrame:
    return records.select(functions.length("value").alias("bytes"))
