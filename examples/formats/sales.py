"""The transform of sales: those above a limit, with the name of their country.

restow parsed the records: they have the columns of their schema, and Kafka's own with an underscore.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from restow.pipeline.spark.context import Context


def enriched(records: DataFrame, context: Context) -> DataFrame:
    """A join loses what leads from a row to its record, unless the closing `select` keeps it."""
    countries = context.table(str(context.options["countries"]))
    is_large = F.col("amount") >= context.options["least"]
    return (
        records.filter(is_large)
        .join(F.broadcast(countries), "country", how="left")
        .select("id", "amount", "currency", "country_name", "_topic", "_partition", "_offset", "_timestamp")
    )
