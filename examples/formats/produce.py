"""Writes records of each format to the Kafka of the restow.toml beside it, registers the schemas of the sales, and
makes the static table of countries. Creates the topics if needed.

    python produce.py

fastavro writes Avro: pip install fastavro
"""

import io
import json
import struct
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import write_deltalake
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from restow.pipeline.formats.protobuf import compiled

HERE = Path(__file__).parent
TOPICS = ("events", "sales", "receipts", "logs", "raw", "orders", "eu-visits", "us-visits")
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "string"},
    {"name": "amount", "type": "double"},
    {"name": "country", "type": "string"},
]
SALE = {"type": "record", "name": "Sale", "fields": FIELDS}
SALE_2 = {**SALE, "fields": [*FIELDS, {"name": "currency", "type": "string", "default": "EUR"}]}


def main() -> None:
    settings = tomllib.loads((HERE / "restow.toml").read_text())
    make_topics(settings["kafka"]["bootstrap"])
    countries = {"country": ["de", "se"], "country_name": ["Germany", "Sweden"]}
    write_deltalake(HERE / "countries", pa.table(countries), mode="overwrite")
    ids = [registered(settings["consume"]["sales"]["registry"], schema) for schema in (SALE, SALE_2)]
    producer = Producer({"bootstrap.servers": settings["kafka"]["bootstrap"], "log_level": 3})
    written = 0
    for topic, value in records(ids):
        producer.produce(topic, value, key=str(written))
        written += 1
    producer.flush()
    print(f"wrote {written} records")


def records(ids: list[int]) -> Iterator[tuple[str, bytes | None]]:
    receipt = receipt_class()
    for number in range(20):
        name, at = f"id-{number}", f"2026-03-01T12:00:{number:02}Z"
        yield "events", json.dumps({"id": name, "at": at, "tags": ["a", "b"], "author": {"user": number}}).encode()
        sale = {"id": name, "amount": float(number), "country": "de" if number % 2 else "fr"}
        yield "sales", framed(ids[0], avro(SALE, sale))
        yield "sales", framed(ids[1], avro(SALE_2, {**sale, "currency": "SEK"}))
        yield "receipts", receipt(id=name, cents=number * 100, method=number % 3).SerializeToString()
        yield "logs", f"INFO line {number}".encode()
        yield "raw", bytes([number])
        lines = [{"article": f"article-{line}", "pieces": line + 1} for line in range(2)]
        yield "orders", json.dumps({"id": name, "customer": f"c-{number % 3}", "lines": lines}).encode()
        for topic in ("eu-visits", "us-visits"):
            yield topic, json.dumps({"at": at, "page": "/", "visitor": name}).encode()
    yield "events", None  # a tombstone: a row with nulls


def avro(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, record)
    return body.getvalue()


def framed(schema_id: int, body: bytes) -> bytes:
    """As values of a schema registry are: a zero byte and the schema's id before them."""
    return b"\0" + struct.pack(">I", schema_id) + body


def receipt_class() -> Any:
    pool = descriptor_pool.DescriptorPool()
    text = (HERE / "receipt.proto").read_text()
    for file in descriptor_pb2.FileDescriptorSet.FromString(compiled(text, "receipt.proto", {})).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Receipt"))


def registered(registry: str, schema: dict[str, Any]) -> int:
    body = json.dumps({"schema": json.dumps(schema)}).encode()
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    request = urllib.request.Request(f"{registry}/subjects/sales-value/versions", body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return int(json.load(answer)["id"])


def make_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(name, 1) for name in TOPICS]).values():
        try:
            made.result()
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise
    while not set(TOPICS) <= admin.list_topics(timeout=10).topics.keys():
        time.sleep(0.1)


if __name__ == "__main__":
    main()
