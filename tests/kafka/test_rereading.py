"""Topics that are read again and again, as by the bare client and the loop of `restow bench consumer`."""

from collections.abc import Callable

import pytest

from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.rereading import Rereader
from restow.kafka.topics import wait_until_shown
from restow.settings import Kafka

pytestmark = pytest.mark.kafka


def test_a_topic_is_read_again_at_its_end_and_a_commit_without_records_is_no_error(
    kafka: Kafka, admin: Admin, prefix: str, eventually: Callable[..., None]
) -> None:
    topic = f"{prefix}-again"
    admin.create_topic(topic, 2)
    wait_until_shown(admin, {topic: 2})
    reader = Rereader(kafka, prefix, {topic: 2})
    reader.commit()
    producer = make_producer(kafka)
    for number in range(2):
        producer.produce(topic, b"record", partition=number)
    assert producer.flush(30) == 0
    found: list[int] = []

    def are_read_three_times() -> bool:
        found.extend(record.partition() or 0 for record in reader.take(10, 0.1))
        return min(found.count(0), found.count(1)) >= 3

    eventually(are_read_three_times)
    reader.commit()
    reader.close()
