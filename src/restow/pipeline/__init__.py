"""Where records become rows of lake tables: Spark reads, transforms and writes files; delta-rs makes them part of a table."""
