"""The pipeline without Spark: librdkafka reads, SQLite stores rows and offsets in one transaction."""
