"""Which messages are allowed on which topic, and decoding of the monitor's records."""

from collections import Counter

import pytest

from restow.kafka.topics import wanted_topics
from restow.protocol import records
from restow.protocol.channels import (
    CHANNELS,
    CONTROLLER,
    MONITOR,
    QUERY,
    SERVICE,
    Channel,
    decode_measurement,
    decode_on,
)
from restow.protocol.examples import EXAMPLES, MEASUREMENT
from restow.protocol.measurement import Measurement, encode, headers_of
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message
from restow.protocol.records import Undecodable
from restow.protocol.versions import MESSAGES
from restow.settings import Topics

PREFIX = "shop"


def test_every_message_has_one_topic_and_one_direction() -> None:
    placed = Counter(kind for channel in CHANNELS for lane in channel.lanes for kind in lane.messages)
    assert placed == Counter([*MESSAGES, Measurement])


def test_the_channels_are_the_topics_that_are_made() -> None:
    made = wanted_topics(Topics(PREFIX), most_consumers=4)
    assert {channel.topic(PREFIX) for channel in CHANNELS} == set(made)
    for channel in CHANNELS:
        by_consumer = any(lane.partition == "i" for lane in channel.lanes)
        assert made[channel.topic(PREFIX)].partitions == (5 if by_consumer else 1)


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_a_message_is_decoded_where_it_belongs_and_rejected_elsewhere(message: Message) -> None:
    headers, value = records.encode(message, "anna@host-a", PREFIX)

    def read(channel: Channel, partition: int) -> Message | Undecodable:
        return decode_on(channel, channel.topic(PREFIX), partition, 7, headers, value, group=PREFIX)

    for channel in (CONTROLLER, QUERY, SERVICE):
        for partition in (0, 3):
            belongs = type(message) in channel.expected(partition)
            here = (channel.topic(PREFIX), partition, 7)
            out_of_place = Undecodable(*here, f"a {type(message).__name__} does not belong here")
            assert read(channel, partition) == (message if belongs else out_of_place)
    assert sum(type(message) in channel.expected(p) for channel in CHANNELS for p in (0, 3)) == 1


def test_a_tombstone_counts_on_the_service_topic_alone() -> None:
    def read(channel: Channel) -> Message | Undecodable:
        return decode_on(channel, channel.topic(PREFIX), 0, 7, None, None, b"orders", group=PREFIX)

    assert read(SERVICE) == ServiceUpdate("reset", "orders")
    assert read(CONTROLLER) == Undecodable("shop-controller", 0, 7, "a ServiceUpdate does not belong here")


def test_a_measurement_is_read_from_the_monitor_topic() -> None:
    assert decode_measurement(MONITOR.topic(PREFIX), 0, 7, None, encode(MEASUREMENT), group=PREFIX) == MEASUREMENT


def test_a_measurement_of_another_group_is_foreign() -> None:
    def read(group: str) -> object:
        headers = [(name, text.encode()) for name, text in headers_of("monitor-1", group).items()]
        return decode_measurement(MONITOR.topic(PREFIX), 0, 7, headers, encode(MEASUREMENT), group=PREFIX)

    assert read(PREFIX) == MEASUREMENT
    assert isinstance(read("lake"), records.Foreign)


TIME = '"time":"2026-03-01T12:00:00.250Z","window_s":'


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "there is no value; it must be a measurement"),
        (b"{", "a measurement must be JSON, and this is not: b'{'"),
        (b"{}", "a measurement of version None can't be read; known are 1 and 2"),
        (
            b'{"version":1,"time":"zzz","window_s":1,"topics":{}}',
            'time is "zzz"; it must be a time in UTC, like 2026-03-01T12:00:00.250Z',
        ),
        (
            f'{{"version":1,{TIME}{10**4000},"topics":{{}}}}'.encode(),
            "a number is too long, or it is nested too deeply",
        ),
        (
            encode(MEASUREMENT).replace(b'"orders"', b'"\\ud800"'),
            'topics has "\\ud800"; it must be a topic\'s name',
        ),
    ],
)
def test_an_invalid_measurement_is_reported_with_its_place_and_a_reason(value: bytes | None, reason: str) -> None:
    read = decode_measurement("shop-monitor", 0, 7, None, value, group=PREFIX)
    assert read == Undecodable("shop-monitor", 0, 7, reason)
