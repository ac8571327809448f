"""Spark: the session and its JVM, reading exact ranges, running transforms, writing Parquet files."""
