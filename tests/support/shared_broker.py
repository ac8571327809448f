"""One broker for all processes that run tests: pytest's main process owns it, and starts it when a worker first asks.

A broker of its own for each worker would cost a few per cent of a core each, for as long as the tests run.
"""

import threading
from multiprocessing.connection import Client, Listener
from typing import Final

from confluent_kafka.admin import AdminClient

from restow.errors import RestowError
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.settings import Kafka

EAGER: Final = {  # Kafka tidies up every few minutes by default; a test that waits for it can't
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "200",
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "200",
}


class SharedBroker:
    """In pytest's main process."""

    def __init__(self) -> None:
        self._listener = Listener(family="AF_UNIX", backlog=16)
        self._broker: EmbeddedKafka | None = None
        self._thread = threading.Thread(target=self._serve, name="shared broker", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        assert isinstance(self._listener.address, str)
        return self._listener.address

    def close(self) -> None:
        with Client(self.address) as connection:
            connection.send("close")
        self._thread.join()
        self._listener.close()
        if self._broker is not None:
            self._broker.stop()

    def _serve(self) -> None:
        while True:
            with self._listener.accept() as connection:
                if connection.recv() == "close":
                    return
                connection.send(self._bootstrap())

    def _bootstrap(self) -> str | RestowError:
        if self._broker is None:
            broker = EmbeddedKafka(server=EAGER)
            try:
                broker.start()
            except RestowError as error:
                return error
            self._broker = broker
        return self._broker.bootstrap


def shared_bootstrap(address: str) -> str:
    """In a worker: the bootstrap servers of the broker that `address` leads to. Raises RestowError."""
    with Client(address) as connection:
        connection.send("bootstrap")
        answer: str | RestowError = connection.recv()
    if isinstance(answer, RestowError):
        raise answer
    return answer


def delete_topics(kafka: Kafka, prefix: str) -> None:
    """Each partition that exists costs the broker time, whether it is used or not."""
    client = AdminClient({"bootstrap.servers": kafka.bootstrap})
    names = [name for name in client.list_topics(timeout=60).topics if name.startswith(prefix)]
    for deleted in client.delete_topics(names, request_timeout=60).values() if names else ():
        deleted.result()
