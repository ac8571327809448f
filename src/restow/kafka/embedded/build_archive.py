"""Builds the archive of the broker's classes, once: `python -m restow.kafka.embedded.build_archive`, as `make` does.

A node that uses it is up sooner, at half the CPU time. It works without one.
"""

import logging

from confluent_kafka import TopicPartition

from restow.durable import locked_file
from restow.errors import RestowError
from restow.java.class_data import archive_for, remove_unused
from restow.java.jars import KAFKA, fetch
from restow.java.runtime import find_java
from restow.kafka.admin import Admin
from restow.kafka.clients import make_consumer, make_producer
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.logs import to_terminal
from restow.settings import Kafka

log = logging.getLogger(__name__)

TOPIC = "warm-up"


def build_archive() -> None:
    """Does nothing if the archive exists. Raises RestowError, or OSError if its directory can't be written."""
    archive = archive_for(find_java(), fetch(KAFKA))
    archive.parent.mkdir(parents=True, exist_ok=True)
    with locked_file(archive.with_suffix(".lock")):
        if archive.exists():
            return
        log.info("archiving the broker's classes once, in %s, for faster starts", archive)
        draft = archive.with_suffix(".draft")
        try:
            with EmbeddedKafka(archive=draft) as broker:
                _use(Kafka(broker.bootstrap))
                broker.stop_node(1)
            if not draft.exists():
                raise RestowError("the broker's classes can't be archived: Java wrote no archive")
            draft.rename(archive)
            remove_unused(archive.parent)
        finally:
            draft.unlink(missing_ok=True)


def _use(kafka: Kafka) -> None:
    """What most users of a broker do, so that its classes are in the archive: a topic, a transaction, a read."""
    with Admin(kafka) as admin:
        admin.create_topic(TOPIC, 1)
    producer = make_producer(kafka, {"transactional.id": TOPIC})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(TOPIC, b"{}", partition=0)
    producer.commit_transaction(60)
    consumer = make_consumer(kafka, {"group.id": TOPIC, "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    consumer.poll(30)
    consumer.commit(asynchronous=False)
    consumer.close()


def main() -> None:
    with to_terminal():
        try:
            build_archive()
        except (RestowError, OSError) as error:
            log.warning("%s; brokers work without the archive, but start more slowly", error)


if __name__ == "__main__":
    main()
