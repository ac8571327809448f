"""Writes orders and clicks to the Kafka of the restow.toml beside it, as a shop would. Creates the topics if needed.

python produce.py
python produce.py --orders 5000 --seconds 120
"""

import argparse
import json
import random
import time
import tomllib
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 4
CLICKS_OF_AN_ORDER = 4
CUSTOMERS = ("Ada ", " Grace", "Edsger", "Barbara", "  ", "Tony")
COUNTRIES, CURRENCIES = ("de", "se", " gb", "us "), ("EUR", "SEK", "GBP", "USD", "XAU")
PAGES = ("/", "/shoes/42", "/hats", "/sale/today")
AGENTS = ("Mozilla/5.0 (X11; Linux)", "Mobile Safari", "Android 16", "searchbot/2.1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--orders", type=int, default=200, help="number of orders, with four clicks each (default: 200)"
    )
    parser.add_argument("--seconds", type=float, default=0.0, help="spread over this time (default: 0)")
    args = parser.parse_args()
    bootstrap = tomllib.loads(Path(__file__).with_name("restow.toml").read_text())["kafka"]["bootstrap"]
    make_topics(bootstrap)
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 3})
    begun_s = time.monotonic()
    for number in range(args.orders):
        for topic, record in records_of_a_sale():
            producer.produce(topic, json.dumps(record).encode(), key=record["customer"].encode())
        pause(producer, begun_s + args.seconds * (number + 1) / args.orders)
    producer.flush()
    print(f"wrote {args.orders} orders and {args.orders * CLICKS_OF_AN_ORDER} clicks to {bootstrap}")


def pause(producer: Producer, until_s: float) -> None:
    """`poll` returns as soon as it has delivered something, so that one call may be shorter than the pause."""
    producer.poll(0.0)
    while (left_s := until_s - time.monotonic()) > 0.0:
        time.sleep(min(left_s, 0.1))
        producer.poll(0.0)


def make_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for topic, made in admin.create_topics([NewTopic(name, PARTITIONS) for name in ("orders", "clicks")]).items():
        try:
            made.result()
            print(f"made the topic {topic} with {PARTITIONS} partitions")
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise
    while not {"orders", "clicks"} <= admin.list_topics(timeout=10).topics.keys():
        time.sleep(0.1)


def records_of_a_sale() -> Iterator[tuple[str, dict[str, Any]]]:
    customer = random.choice(CUSTOMERS)
    for _ in range(CLICKS_OF_AN_ORDER):
        yield "clicks", {**new(customer), "page": random.choice(PAGES), "agent": random.choice(AGENTS)}
    money = {"amount": round(random.expovariate(1 / 80), 2), "currency": random.choice(CURRENCIES)}
    yield "orders", {**new(customer), "country": random.choice(COUNTRIES), **money}


def new(customer: str) -> dict[str, Any]:
    return {"id": uuid.uuid4().hex, "at": datetime.now(UTC).isoformat(timespec="milliseconds"), "customer": customer}


if __name__ == "__main__":
    main()
