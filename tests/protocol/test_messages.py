"""Messages that can't be meant can't be made."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from restow.errors import InvalidInput
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady, ConsumingRefused, StopConsumingEvent
from restow.protocol.messages.controller_events import PlatformChangeIntended
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.topic_service import TopicService

O0, O1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
ONE = ConsumerId(1)
SERVICE = SortedMapping({"orders": TopicService()})


def ready(partitions: tuple[TopicPartition, ...], versions: dict[str, int] | None = None) -> ConsumerReady:
    return ConsumerReady(ONE, True, partitions, SortedMapping(), SortedMapping(versions or {}))


def report(lag: int = 0, records_per_s: float = 0.0, cycle_s_max: float = 0.0) -> ConsumerReport:
    return ConsumerReport(
        ONE, 5, SortedMapping({O0: lag}), SortedMapping(), records_per_s, 0.0, False, 0.0, cycle_s_max
    )


def test_messages_that_name_the_same_partitions_are_equal_whatever_the_order() -> None:
    assert StopConsumingCommand(8, 1, 5, (O1, O0)) == StopConsumingCommand(8, 1, 5, (O0, O1))
    assert ready((O1, O0)) == ready((O0, O1))
    assert ConsumingRefused(ONE, 5, 8, None, (O1, O0), "table", "").partitions == (O0, O1)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: StopConsumingCommand(-1, 1, 5, (O0,)), "epoch is -1; it must be 0 or more"),
        (lambda: StopConsumingCommand(8, 0, 5, (O0,)), "sequence is 0; it must be 1 or more"),
        (lambda: StopConsumingCommand(8, 1, -5, (O0,)), "incarnation is -5; it must be 0 or more"),
        (lambda: StopConsumingCommand(8, 1, 5, ()), "partitions is empty; it must name one or more"),
        (lambda: StopConsumingCommand(8, 1, 5, (O0, O1, O0)), "partitions has orders-0 twice; it must be there once"),
        (
            lambda: StartConsumingCommand(8, 1, 5, SERVICE, SortedMapping({O0: -1})),
            "partitions.orders.0 is -1; it must be 0 or more, or recover",
        ),
        (
            lambda: StartConsumingCommand(8, 1, 5, SortedMapping(), SortedMapping({O0: 1})),
            "topics and partitions name different topics; each topic must be in both",
        ),
        (
            lambda: StopConsumingEvent(ONE, 5, 8, None, SortedMapping({O0: None, O1: -2})),
            "partitions.orders.1 is -2; it must be 0 or more",
        ),
        (lambda: StopConsumingEvent(ConsumerId(0), 5, 8, None, SortedMapping()), "consumer is 0; it must be 1 or more"),
        (lambda: PlatformChangeIntended(-1), "epoch is -1; it must be 0 or more"),
        (lambda: PlatformChangeIntended(8, delete=(ONE, ConsumerId(0))), "delete[1] is 0; it must be 1 or more"),
        (lambda: ready((), {"least": 0}), "versions.least is 0; it must be 1 or more"),
        (lambda: StateQuery(8, 0), "query is 0; it must be 1 or more"),
        (lambda: report(lag=-1), "lag_records.orders.0 is -1; it must be 0 or more"),
        (lambda: report(records_per_s=float("nan")), "records_per_s is nan; it must be a finite number, 0 or more"),
        (lambda: report(cycle_s_max=float("inf")), "cycle_s_max is inf; it must be a finite number, 0 or more"),
        (lambda: ConsumerSettings(memory_mb=0), "memory_mb is 0; it must be 1 or more"),
        (lambda: ConsumerSettings(cores=0.0), "cores is 0.0; it must be a number above 0"),
        (
            lambda: ConsumerSettings(env=SortedMapping({"A=B": "c"})),
            "env has 'A=B'; it must be the name of a variable, like LOG_LEVEL",
        ),
        (
            lambda: ConsumerSettings(env=SortedMapping({"A": "\0"})),
            "env.A contains a NUL character; it must be text without one",
        ),
        (lambda: ServiceUpdate("add", "orders"), "action add needs 'service'"),
        (lambda: ServiceUpdate("remove", "orders", TopicService()), "action remove has no 'service'"),
        (lambda: ServiceUpdate("consumers"), "action consumers needs 'consumers'"),
        (
            lambda: ServiceUpdate("consumers", consumers=ConsumerSettings(code="1a2b")),
            "consumers.code can't be set; the controller finds the code beside its restow.toml",
        ),
        (lambda: ServiceUpdate("remove", "a b"), "topic is 'a b'; it must be a topic's name"),
        (lambda: ServiceUpdate("remove", ".."), "topic is '..'; it must be a topic's name"),
    ],
)
def test_an_invalid_message_is_rejected(made: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        made()
    assert str(refused.value) == message


@pytest.mark.parametrize("start", ["earliest", "latest", "2026-03-01T12:00:00Z", "2024-02-29T23:59:59.123456Z"])
def test_a_start_is_a_word_or_a_moment_in_utc(start: str) -> None:
    assert TopicService(start=start).start == start


@pytest.mark.parametrize(
    "start",
    [
        *("", "Earliest", "2026-03-01", "2026-03-01T12:00:00", "2026-03-01T12:00:00+01:00", "2026-03-01T12:00:00Z\n"),
        *("2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-13-01T00:00:00Z"),
        *("2026-03-01T24:00:00Z", "2026-03-01T12:60:00Z", "0000-01-01T00:00:00Z", "٢٠٢٦-03-01T12:00:00Z"),
    ],
)
def test_an_invalid_start_is_rejected(start: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        TopicService(start=start)
    assert str(refused.value) == f"start is '{start}'; it must be earliest, latest or a time like 2026-03-01T12:00:00Z"


@pytest.mark.parametrize("transform", ["shop:orders", "shop.tables:Orders.rows", "größe:größe"])
def test_a_transform_is_a_function_of_a_module(transform: str) -> None:
    assert TopicService(transform=transform).transform == transform


@pytest.mark.parametrize(
    "transform", ["", "shop", "shop:", ":rows", "..:..", "shop.:rows", "1shop:rows", "a:b:c", "a b:c"]
)
def test_a_transform_that_could_not_be_imported_is_rejected(transform: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        TopicService(transform=transform)
    assert str(refused.value) == f"transform is '{transform}'; it must be module:function"


def test_a_digest_differs_where_a_running_partition_must_start_again() -> None:
    service = TopicService("lake/orders", "shop:orders")
    others = (
        TopicService("lake/other", "shop:orders"),
        TopicService("lake/orders", "shop:other"),
        TopicService("lake/orders", "shop:orders", refuses_late_writes=False),
    )
    assert len({service.digest, *(other.digest for other in others)}) == 4
    assert TopicService("lake/orders", "shop:orders", start="latest").digest == service.digest


def test_a_definition_without_newer_fields_keeps_its_digest() -> None:
    service = TopicService("lake/orders", "shop.tables:orders")
    assert service.digest == "7d6d26731f0e"
    newer = (
        replace(service, format="text"),
        replace(service, format="bytes"),
        replace(service, format="json", schema="a.json"),
        replace(service, format="json", schema="b.json"),
        replace(service, format="avro", registry="http://a"),
        replace(service, format="avro", registry="http://b"),
        replace(service, transform=None, sql="select 1"),
        replace(service, options=SortedMapping({"least": 1})),
        replace(service, options=SortedMapping({"least": 2})),
    )
    assert len({service.digest, *(other.digest for other in newer)}) == 10
    assert all(other.readers_version == 2 for other in newer)
    newest = (replace(service, evolve="none"), replace(service, partition_by=("country",)))
    assert len({service.digest, *(other.digest for other in newest)}) == 3
    assert all(other.readers_version == 3 for other in newest)
    assert service.readers_version == 1


def test_names_are_made_from_the_topic_s() -> None:
    service = TopicService("lake/{topic}/raw", format="avro", registry="http://registry")
    assert service.readers_version == 2
    orders = service.for_topic("orders.eu")
    assert (orders.table, orders.subject) == ("lake/orders.eu/raw", "orders.eu-value")
    assert service.for_topic("clicks").digest != orders.digest
    assert orders.for_topic("other") == orders
    plain = TopicService("lake/orders", format="text")
    assert plain.for_topic("orders") is plain


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"format": "xml"}, "format is 'xml'; it must be json, avro, protobuf, text or bytes"),
        (
            {"format": "json"},
            (
                "format is 'json'; it must come with schema, a file, which `restow check --infer` can write, or "
                "registry, a URL"
            ),
        ),
        ({"format": "avro"}, "format is 'avro'; it must come with schema, a file, or registry, a URL"),
        (
            {"format": "text", "schema": "a.json"},
            "schema is 'a.json'; it must be left out unless format is json or avro or protobuf",
        ),
        (
            {"registry": "http://a"},
            "registry is 'http://a'; it must be left out unless format is json or avro or protobuf",
        ),
        (
            {"format": "avro", "registry": "registry:8081"},
            "registry is 'registry:8081'; it must be a URL like http://registry:8081",
        ),
        (
            {"format": "avro", "registry": "http://user:hush@registry:8081"},
            "registry is '…@registry:8081'; it must be without credentials: [registry] has those",
        ),
        (
            {"format": "avro", "schema": "a.avsc", "subject": "x"},
            "subject is 'x'; it must be left out without registry",
        ),
        (
            {"format": "avro", "schema": "a.avsc", "message": "x"},
            "message is 'x'; it must be left out unless format is protobuf",
        ),
        ({"transform": "a:b", "sql": "select 1"}, "sql is given beside transform; it must be one of them"),
        ({"sql": " "}, "sql is empty; it must be a query, like select id, amount from records"),
        (
            {"options": SortedMapping({"a": 1})},
            "options are given without transform; it must be there, because only a transform gets them",
        ),
        ({"table": "lake/{name}"}, "table is 'lake/{name}'; it must have no other name in braces than {topic}"),
    ],
)
def test_a_definition_that_contradicts_itself_is_rejected(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        TopicService(**fields)
    assert str(refused.value) == reason


def test_a_fingerprint_covers_what_a_process_is_started_with_and_shows_no_value_of_a_variable() -> None:
    settings = ConsumerSettings("restow:2", 2048, 2, 100.0, SortedMapping({"TOKEN": "hush", "LOG_LEVEL": "debug"}))
    assert settings.fingerprint == (
        '{"image": "restow:2", "memory_mb": 2048, "cores": 2.0, "env": "LOG_LEVEL,TOKEN e3040d395745"}'
    )
    assert ConsumerSettings().fingerprint == '{"image": null, "memory_mb": null, "cores": null, "env": ""}'


@pytest.mark.parametrize(
    "other",
    [
        ConsumerSettings("restow:3", 1024, 1.0, env=SortedMapping({"A": "1"})),
        ConsumerSettings("restow:2", 1025, 1.0, env=SortedMapping({"A": "1"})),
        ConsumerSettings("restow:2", 1024, 1.5, env=SortedMapping({"A": "1"})),
        ConsumerSettings("restow:2", 1024, 1.0, env=SortedMapping({"A": "2"})),
        ConsumerSettings("restow:2", 1024, 1.0),
    ],
)
def test_a_fingerprint_differs_with_everything_but_the_capacity(other: ConsumerSettings) -> None:
    settings = ConsumerSettings("restow:2", 1024, 1.0, env=SortedMapping({"A": "1"}))
    assert other.fingerprint != settings.fingerprint
    assert replace(settings, capacity_bytes_per_s=5.0).fingerprint == settings.fingerprint


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"evolve": "widen"}, "evolve is 'widen'; it must be add columns or none"),
        (
            {"partition_by": ("week(at)",)},
            "partition_by has 'week(at)'; it must be a column, or year, month, day or hour of one, as day(at)",
        ),
        ({"partition_by": ("at_day", "day(at)")}, "partition_by is at_day, day(at); it must name each column once"),
    ],
)
def test_a_table_s_columns_are_checked(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        TopicService("lake/orders", **given)
    assert str(refused.value) == reason
