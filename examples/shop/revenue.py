"""Reads both tables with DuckDB, an engine that wrote neither: what was sold where, and what people looked at.

    python revenue.py

The log of a Delta table says which files belong to it. DuckDB's own reader of Delta tables is an extension that it
fetches from the network; with it, `delta_scan('lake/orders')` does the same.
"""

import duckdb
from deltalake import DeltaTable

orders, clicks = DeltaTable("lake/orders").file_uris(), DeltaTable("lake/clicks").file_uris()
duckdb.read_parquet(orders).aggregate(
    "country, count(*) AS orders, count(*) FILTER (is_large) AS large, round(sum(euros), 2) AS euros", "country"
).order("country").show()
duckdb.read_parquet(clicks).aggregate("section, device, count(*) AS clicks", "section, device").order(
    "section, device"
).show()
