"""A consumer's mailbox on a real broker: a query is answered although the first look at the commands' end fails."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from restow.consumer.events import QueryRead
from restow.kafka.admin import Admin
from restow.kafka.channels.consumer import Letter, Mailbox
from restow.kafka.clients import make_producer
from restow.kafka.topics import ensure_topics
from restow.model import ConsumerId
from restow.protocol.messages.commands import StateQuery
from restow.protocol.records import encode
from restow.settings import Group, Kafka, Settings, Topics

Eventually = Callable[..., None]

QUERY = StateQuery(epoch=3, query=1)


class Suspended:
    """A Kafka client whose process is suspended during its next requests for the end of a log: they time out."""

    def __init__(self, client: Any, requests: int) -> None:
        self._client, self._left = client, requests

    def get_watermark_offsets(self, *arguments: Any, **options: Any) -> Any:
        if self._left:
            self._left -= 1
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return self._client.get_watermark_offsets(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


class Letters:
    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._arrived: list[Letter] = []

    def arrived(self) -> list[Letter]:
        self._arrived += self._mailbox.poll()
        return self._arrived


@pytest.fixture
def settings(kafka: Kafka, admin: Admin, prefix: str) -> Settings:
    topics = Topics(prefix, most_consumers=1)
    ensure_topics(admin, topics)
    return Settings(kafka, Group("lake"), topics)


@pytest.fixture
def mailbox(settings: Settings) -> Iterator[Mailbox]:
    with Mailbox(settings, ConsumerId(1), "test") as mailbox:
        mailbox.open()
        yield mailbox


def ask(settings: Settings) -> None:
    headers, value = encode(QUERY, "controller", settings.group.name)
    producer = make_producer(settings.kafka)
    producer.produce(settings.topics.query, value, partition=1, headers=list(headers))
    assert producer.flush(30) == 0


def test_a_process_that_was_suspended_during_its_request_asks_again(
    settings: Settings, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    monkeypatch.setattr(mailbox, "_reader", Suspended(mailbox._reader, requests=1))
    ask(settings)
    letters = Letters(mailbox)
    eventually(lambda: QueryRead(QUERY, commands_end=0) in letters.arrived())


def test_a_query_that_cannot_be_answered_is_left_to_the_controller(
    settings: Settings,
    mailbox: Mailbox,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Eventually,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(mailbox, "_reader", Suspended(mailbox._reader, requests=2))
    ask(settings)
    letters = Letters(mailbox)
    eventually(lambda: letters.arrived() and "not answering query 1 of epoch 3" in caplog.text)
    assert not [letter for letter in letters.arrived() if isinstance(letter, QueryRead)]
