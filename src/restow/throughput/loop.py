"""The contender `loop`: a hand-written consumer. confluent-kafka reads, Polars parses and filters, delta-rs commits;
then the group's offsets are committed. It repeats records after a crash, which restow does not.
"""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from restow.kafka.rereading import Record, Rereader
from restow.settings import Kafka
from restow.study.throughput import Case
from restow.throughput.records import DELIVERED

AT_ONCE: Final = 10_000
BATCH_BYTES: Final = 64_000_000
"""Of one commit. Larger ones are hardly faster."""
SCHEMA: Final = pl.Struct(
    {
        "id": pl.Int64,
        "customer": pl.String,
        "status": pl.String,
        "amount": pl.Float64,
        "note": pl.String,
    }
)


def run(name: str, case: Case, options: Mapping[str, Any], end: threading.Event) -> None:
    reader = Rereader(Kafka(options["bootstrap"]), f"bench-{name}", case.by_topic)
    tables = {topic: str(Path(options["directory"], case.table_of(topic))) for topic in case.by_topic}
    while not end.is_set():
        values: dict[str, list[bytes]] = {table: [] for table in tables.values()}
        for record in _batch(reader, BATCH_BYTES // case.record_bytes, end):
            values[tables[record.topic() or ""]].append(record.value() or b"")
        for table, own in values.items():
            if own:
                delivered(own).write_delta(table, mode="append")
        reader.commit()
    reader.close()


def _batch(reader: Rereader, most: int, end: threading.Event) -> Iterator[Record]:
    left = most
    while left > 0 and not end.is_set():
        records = reader.take(min(left, AT_ONCE), 0.5)
        left -= len(records)
        yield from records


def delivered(values: list[bytes]) -> pl.DataFrame:
    """The transform."""
    records = pl.DataFrame({"value": values}, schema={"value": pl.Binary})
    order = pl.col("value").cast(pl.String).str.json_decode(SCHEMA).alias("order")
    return records.select(order).unnest("order").filter(pl.col("status") == DELIVERED)
