"""Where records become rows of tables: Spark reads, transforms and writes files, delta-rs takes them into tables."""
