"""Queries both tables with DuckDB, an engine that wrote neither: revenue by country, clicks by section.

    python revenue.py

The log of a Delta table lists its files. DuckDB's own Delta reader, `delta_scan('lake/orders')`, does the same, but is
an extension that it downloads.
"""

from pathlib import Path

import duckdb
from deltalake import DeltaTable

LAKE = Path(__file__).with_name("lake")

orders, clicks = DeltaTable(LAKE / "orders").file_uris(), DeltaTable(LAKE / "clicks").file_uris()
duckdb.read_parquet(orders).aggregate(
    "country, count(*) AS orders, count(*) FILTER (is_large) AS large, round(sum(euros), 2) AS euros", "country"
).order("country").show()
duckdb.read_parquet(clicks).aggregate("section, device, count(*) AS clicks", "section, device").order(
    "section, device"
).show()
