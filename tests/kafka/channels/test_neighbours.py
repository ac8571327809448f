"""A controller refuses to start if another group uses its topics, or its own consumers use those of older versions."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer

from restow.kafka.admin import Admin
from restow.kafka.channels import neighbours
from restow.kafka.channels.neighbours import TopicsInUse, check_topics, group_of
from restow.kafka.clients import make_producer
from restow.kafka.topics import ensure_topics
from restow.protocol.examples import MEASUREMENT
from restow.protocol.measurement import encode as encode_measurement
from restow.protocol.measurement import headers_of
from restow.protocol.messages.commands import StateQuery
from restow.protocol.records import encode
from restow.settings import Group, Kafka, Settings, Topics

Headers = Sequence[tuple[str, bytes]]
Check = Callable[[str | None], None]
"""Looks as the controller of group `lake` would, whose topics have this prefix."""

CONSUMER = "lake-consumer-2@host:77"


def of(group: str, sender: str = "host-1") -> Headers:
    return encode(StateQuery(1, 1), sender, group)[0]


def of_an_older_version(sender: str) -> Headers:
    return of("", sender)[:3]


@pytest.fixture
def old(prefix: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The prefix that older versions had, for this test alone."""
    monkeypatch.setattr(neighbours, "OLD_PREFIX", f"{prefix}-old")
    monkeypatch.setattr(neighbours, "WATCH_S", 3.0)
    return f"{prefix}-old"


@pytest.fixture
def check(kafka: Kafka, admin: Admin, old: str) -> Check:
    def check(prefix: str | None) -> None:
        settings = Settings(kafka, Group("lake"), Topics(prefix))
        check_topics(settings, admin.cluster().leaders, lambda: False)

    for name in (old, old.removesuffix("-old")):
        ensure_topics(admin, Topics(name, most_consumers=1))
    return check


def put(producer: Producer, topic: str, headers: Headers, at_s: float | None = None) -> None:
    time_ms = round((time.time() if at_s is None else at_s) * 1000)
    value = encode_measurement(MEASUREMENT) if topic.endswith("-monitor") else b"{}"
    producer.produce(topic, value, partition=0, headers=list(headers), timestamp=time_ms)
    assert producer.flush(30) == 0


@pytest.fixture
def producer(kafka: Kafka) -> Producer:
    return make_producer(kafka)


@contextmanager
def writing(producer: Producer, topic: str, headers: Headers) -> Iterator[None]:
    """As a process that goes on writing; it has written before the block begins."""
    ended = threading.Event()

    def write() -> None:
        while not ended.wait(0.1):
            put(producer, topic, headers)

    put(producer, topic, headers)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


@pytest.mark.parametrize(
    ("headers", "group"),
    [
        (of("lake", "host-1"), "lake"),
        (of("lake", "sea-consumer-1@host:7"), "lake"),
        (of_an_older_version(CONSUMER), "lake"),
        (of_an_older_version("a-consumer-1-consumer-12@host:7"), "a-consumer-1"),
        (of_an_older_version("host-1"), None),
        (of_an_older_version("monitor-0a1b2c3d"), None),
        (None, None),
        ([("group", b"\xff")], None),
    ],
)
def test_a_record_s_group_is_in_its_header_or_in_the_name_of_an_older_consumer(headers: Headers, group: str) -> None:
    assert group_of(headers)[0] == group


def test_a_cluster_without_topics_of_restow_is_free(kafka: Kafka) -> None:
    check_topics(Settings(kafka, Group("lake")), ["orders"], lambda: False)


@pytest.mark.parametrize("ending", ["controller", "monitor"])
def test_topics_that_another_group_uses_are_refused_with_a_free_prefix(
    check: Check, producer: Producer, prefix: str, ending: str
) -> None:
    headers = tuple((name, text.encode()) for name, text in headers_of("sea-1", "sea").items())
    with writing(producer, f"{prefix}-{ending}", headers), pytest.raises(TopicsInUse) as refused:
        check(prefix)
    assert str(refused.value) == (
        f'[topics] prefix is "{prefix}", but group sea uses these topics (sea-1 writes to {prefix}-{ending}); write '
        '[topics] prefix = "lake", or end them first'
    )


def test_topics_that_another_group_of_an_older_version_uses_are_refused(
    check: Check, producer: Producer, prefix: str
) -> None:
    headers = of_an_older_version("sea-consumer-1@host:7")
    with writing(producer, f"{prefix}-controller", headers), pytest.raises(TopicsInUse, match="group sea uses"):
        check(prefix)


@pytest.mark.parametrize("headers", [of("lake", CONSUMER), of_an_older_version(CONSUMER)], ids=["new", "older"])
def test_this_group_s_consumers_on_the_old_topics_are_refused_with_the_line_that_keeps_them(
    check: Check, producer: Producer, prefix: str, old: str, headers: Headers
) -> None:
    with writing(producer, f"{old}-controller", headers):
        check(old)  # a group that has written the line finds its consumers
        with pytest.raises(TopicsInUse) as refused:
            check(prefix)
    assert str(refused.value) == (
        f'[topics] prefix is "{prefix}", but consumers of this group use {old}-* ({CONSUMER} writes to '
        f'{old}-controller); write [topics] prefix = "{old}", or end them first'
    )


def test_a_group_s_own_processes_and_other_groups_on_the_old_topics_are_in_nobody_s_way(
    check: Check, producer: Producer, prefix: str, old: str, caplog: pytest.LogCaptureFixture
) -> None:
    for headers in (of("lake", "host-9"), of_an_older_version(CONSUMER), of_an_older_version("host-9")):
        put(producer, f"{prefix}-controller", headers)
    for headers in (of("sea"), of_an_older_version("sea-consumer-1@host:7"), of_an_older_version("host-9")):
        put(producer, f"{old}-controller", headers)
    check(prefix)
    assert caplog.messages == []


def test_a_group_that_ended_just_now_is_watched_and_then_in_nobody_s_way(
    check: Check, producer: Producer, prefix: str, old: str, caplog: pytest.LogCaptureFixture
) -> None:
    put(producer, f"{prefix}-controller", of("sea"))
    put(producer, f"{old}-controller", of("lake"))
    with caplog.at_level("INFO"):
        check(prefix)
    watching, over = caplog.messages
    assert watching.endswith("in the last minutes; watching for 3 s whether it still does")
    assert "no longer writes to" in over


def test_a_group_that_ended_long_ago_costs_no_wait(
    check: Check, producer: Producer, prefix: str, old: str, caplog: pytest.LogCaptureFixture
) -> None:
    long_ago_s = time.time() - 3600
    put(producer, f"{prefix}-controller", of("sea"), long_ago_s)
    put(producer, f"{old}-controller", of("lake"), long_ago_s)
    check(prefix)
    assert caplog.messages == []
