"""Java for the embedded broker and for Spark: finding a runtime, and fetching jars into a cache."""
