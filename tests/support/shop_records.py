"""What a shop's topics hold besides good records, and the rows that examples/shop makes of it, for README's tests."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import duckdb
from deltalake import DeltaTable

from restow.kafka.clients import make_producer
from restow.settings import Kafka

NOON_MS: Final = int(datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp() * 1000)
PRODUCED_MS: Final = NOON_MS + 250
PARTITION: Final = 2
NOON: Final = "2026-03-01T12:00:00Z"


def order(number: int, **fields: object) -> bytes:
    usual = {"at": NOON, "customer": " Ada ", "country": " gb", "amount": 100, "currency": "USD"}
    return json.dumps({"id": f"odd-{number}", **usual, **fields}).encode()


def click(number: int, **fields: object) -> bytes:
    usual = {"at": NOON, "customer": "Ada", "page": "/shoes/42", "agent": "Mobile Safari"}
    return json.dumps({"id": f"odd-{number}", **usual, **fields}).encode()


ORDERS: Final[Mapping[bytes | None, tuple[Any, ...] | None]] = {
    order(1): (NOON_MS, "Ada", "GB", Decimal("100.00"), "USD", 92.0, False),
    order(2, currency="EUR", country="de"): (NOON_MS, "Ada", "DE", Decimal("100.00"), "EUR", 100.0, True),
    order(3, currency="XAU"): (NOON_MS, "Ada", "GB", Decimal("100.00"), "XAU", None, None),
    order(4, customer="  ", amount=12.345): (NOON_MS, None, "GB", Decimal("12.35"), "USD", 11.36, False),
    order(5, amount="many"): (NOON_MS, "Ada", "GB", None, "USD", None, None),
    b"<order>6</order>": None,
    b'{"customer": "nobody knows which"}': None,
    None: None,
}
CLICKS: Final[Mapping[bytes | None, tuple[Any, ...] | None]] = {
    click(1): (NOON_MS, "Ada", "/shoes/42", "shoes", "phone"),
    click(2, page="/", agent="Mozilla/5.0 (X11; Linux)"): (NOON_MS, "Ada", "/", "home", "desk"),
    click(3, agent="SearchBot/2.1"): None,
    click(4, agent=None, page=None): (NOON_MS, "Ada", None, None, "desk"),
    b"": None,
}
TOPICS: Final = {"orders": ORDERS, "clicks": CLICKS}
COLUMNS: Final = {
    "orders": "id, epoch_ms(ordered_at), customer, country, amount, currency, euros, is_large",
    "clicks": "id, epoch_ms(clicked_at), customer, page, section, device",
}


def produce(kafka: Kafka) -> dict[str, list[tuple[Any, ...]]]:
    """Writes all of them; the rows that must come of it, with their lineage."""
    producer = make_producer(kafka, {"enable.idempotence": True})
    offsets: dict[tuple[str, bytes | None], int] = {}

    def note(topic: str, record: bytes | None) -> Any:
        return lambda _, taken: offsets.update({(topic, record): taken.offset()})

    for topic, records in TOPICS.items():
        for record in records:
            producer.produce(topic, record, partition=PARTITION, timestamp=PRODUCED_MS, on_delivery=note(topic, record))
    assert producer.flush(60) == 0
    return {
        topic: [
            (f"odd-{number}", *row, topic, PARTITION, offsets[topic, record], PRODUCED_MS)
            for number, (record, row) in enumerate(records.items(), 1)
            if row is not None
        ]
        for topic, records in TOPICS.items()
    }


def odd_rows(lake: Path, topic: str) -> list[tuple[Any, ...]]:
    """Those of the records above, as DuckDB reads them from the table."""
    lineage = "_topic, _partition, _offset, epoch_ms(_timestamp)"
    return _asked(lake / topic, f"SELECT {COLUMNS[topic]}, {lineage} FROM files WHERE id LIKE 'odd-%' ORDER BY id")


def columns(lake: Path, topic: str) -> list[str]:
    return [name for name, *_ in _asked(lake / topic, "DESCRIBE files")]


def count(lake: Path, topic: str) -> int:
    [(rows,)] = _asked(lake / topic, "SELECT count(*) FROM files")
    return int(rows)


def _asked(table: Path, query: str) -> list[tuple[Any, ...]]:
    files = DeltaTable(str(table)).file_uris()
    with duckdb.connect() as database:
        database.read_parquet(files).create_view("files")
        return database.execute(query).fetchall()
