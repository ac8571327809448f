"""Whatever a message, an event or an effect of a controller, or a consumer's saved state holds: what is written is read
as the same."""

from dataclasses import fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from restow.consumer.checkpoint import Checkpoint, WritePlan
from restow.controller import effects, events
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.protocol.codec import from_plain, to_plain
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.json_text import as_json, parse_json
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly
from restow.protocol.messages.reports import Gap
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message
from restow.protocol.records import decode, encode, key_of
from restow.protocol.topic_service import TopicService
from restow.protocol.versions import MESSAGES

thoroughly = settings(max_examples=examples(50))

topics = st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,12}", fullmatch=True)
partitions = st.builds(TopicPartition, topics, st.integers(0, 2**31 - 1))
offsets = st.integers(0, 2**63 - 1)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
functions = st.sampled_from(["shop:orders", "shop.tables:rows", "größe:größe"])
starts = st.sampled_from(["earliest", "latest", "2026-03-01T12:00:00Z", "2024-02-29T00:00:00.5Z"])
paths = st.text(st.characters(exclude_characters="{}", codec="utf-8"))
options = st.dictionaries(st.text(), st.text() | st.integers(-(2**63) + 1, 2**63 - 1) | st.booleans(), min_size=1)
services = st.one_of(
    st.builds(TopicService, st.none() | paths, st.none() | functions, starts, st.booleans()),
    st.builds(
        TopicService,
        st.just("lake/{topic}"),
        functions,
        format=st.sampled_from(["json", "avro", "protobuf"]),
        schema=paths.filter(bool),
        registry=st.none() | st.just("http://registry:8081"),
        options=options.map(SortedMapping),
    ),
    st.builds(TopicService, sql=st.sampled_from(["select * from records", "select 'ö' from records"])),
)
variables = st.dictionaries(
    st.sampled_from(["A", "LOG_LEVEL", "_x1"]), st.text(st.characters(exclude_characters="\0", codec="utf-8"))
)
consumer_settings = st.builds(
    ConsumerSettings,
    *(st.none() | st.text(), st.none() | st.integers(1, 2**40), st.none() | positive, st.none() | positive),
    variables.map(SortedMapping),
)
updates = st.one_of(
    st.builds(ServiceUpdate, st.sampled_from(["add", "change"]), topics, services),
    st.builds(ServiceUpdate, st.sampled_from(["remove", "reset"]), topics),
    st.builds(lambda wanted: ServiceUpdate("consumers", consumers=wanted), consumer_settings),
)
words = st.text(st.characters(categories=["L", "N", "P"]), max_size=20)
moments = starts.filter(lambda start: start[0].isdigit())
consumers = st.integers(1, 2**31 - 1).map(ConsumerId)
authors: tuple[st.SearchStrategy[Any], ...] = (words, st.none() | moments, words)
pauses = st.one_of(
    st.builds(GroupPause, st.just(True), st.none() | moments, *authors),
    st.builds(GroupPause, st.just(False), st.none(), *authors),
)
recommends = st.builds(RecommendOnly, st.booleans(), *authors)
restarts = st.builds(ConsumerRestart, consumers, st.none() | offsets, *authors)
pins = st.one_of(
    st.builds(PartitionPin, partitions, consumers, moments, *authors),
    st.builds(PartitionPin, partitions, st.none(), st.none(), *authors),
)

gaps = st.builds(
    lambda partition, ends: Gap(partition, *sorted(ends)), partitions, st.sets(offsets, min_size=2, max_size=2)
)


@st.composite
def start_commands(draw: st.DrawFn) -> StartConsumingCommand:
    where = draw(st.dictionaries(partitions, offsets | st.just("recover"), min_size=1, max_size=5))
    of_topic = {partition.topic: draw(services) for partition in sorted(where)}
    number = draw(st.integers(1, 2**63 - 1))
    return StartConsumingCommand(
        draw(offsets), number, draw(offsets), SortedMapping(of_topic), SortedMapping[Any, Any](where)
    )


SPECIAL: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(),
    int: st.integers(1, 2**63 - 1),
    float: positive,
    bool: st.booleans(),
    NoneType: st.none(),
    ConsumerId: consumers,
    TopicService: services,
    ConsumerSettings: consumer_settings,
    Gap: gaps,
    ServiceUpdate: updates,
    GroupPause: pauses,
    RecommendOnly: recommends,
    ConsumerRestart: restarts,
    PartitionPin: pins,
    StartConsumingCommand: start_commands(),
    Speeds: st.dictionaries(partitions, st.just(0.0) | positive, max_size=5).map(Speeds),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of any type that occurs in a message, an event or an effect."""
    if kind in SPECIAL:
        return SPECIAL[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return st.one_of(*map(values_of, inner))
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is tuple and inner[0] is TopicPartition:
        return st.sets(partitions, min_size=1, max_size=5).map(tuple)
    if origin is tuple:
        return st.lists(values_of(inner[0]), max_size=3).map(tuple)
    if origin is SortedMapping:
        keys = {TopicPartition: partitions, str: st.text(), ConsumerId: SPECIAL[ConsumerId]}[inner[0]]
        values = st.just(0) | values_of(int) if inner[1] is int and inner[0] is TopicPartition else values_of(inner[1])
        return st.dictionaries(keys, values, max_size=5).map(SortedMapping)
    if issubclass(kind, StrEnum):
        return st.sampled_from(kind)
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: values_of(hints[field.name]) for field in fields(kind)})


@pytest.mark.parametrize("kind", MESSAGES)
@thoroughly
@given(data=st.data())
def test_a_message_is_read_as_it_was_sent(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(values_of(kind))
    headers, value = encode(message, "anna@host-a", "lake")
    assert decode("t", 3, 7, headers, value, key_of(message)) == message
    assert encode(decode("t", 3, 7, headers, value), "anna@host-a", "lake") == (headers, value)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [*get_args(events.Event), *get_args(effects.Effect), Checkpoint, WritePlan])
@thoroughly
@given(data=st.data())
def test_what_a_controller_logs_and_a_consumer_saves_is_read_as_the_same(kind: Any, data: st.DataObject) -> None:
    value = data.draw(values_of(kind))
    read_as = next((union for union in (events.Event, effects.Effect) if kind in get_args(union)), kind)
    assert from_plain(read_as, parse_json(as_json(to_plain(value, read_as)))) == value
