"""The progress line of a consumer's log."""

from dataclasses import replace

from restow.consumer.events import CycleEnded
from restow.consumer.machine import begin
from restow.consumer.progress import Progress, refusals_line
from restow.consumer.state import State
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages.consumer_events import ConsumingRefused
from restow.protocol.topic_service import TopicService

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def holding(*partitions: TopicPartition, lag: dict[TopicPartition, int] | None = None) -> State:
    state, _ = begin(ConsumerId(1), None, 5.0)
    services = {"a": TopicService(table="lake/orders"), "b": TopicService()}
    return replace(
        state,
        positions=SortedMapping(dict.fromkeys(partitions, 7)),
        topics=SortedMapping({partition.topic: services[partition.topic] for partition in partitions}),
        lag_records=SortedMapping(lag or {}),
    )


def cycle(records: int, size: int, took_s: float) -> CycleEnded:
    return CycleEnded(SortedMapping(), SortedMapping(), records, size, took_s)


def test_the_line_has_rows_bytes_cycles_lag_and_tables() -> None:
    progress = Progress(100.0).with_cycle(cycle(1000, 2_000_000, 0.5)).with_cycle(cycle(200, 500_000, 1.5))
    assert progress.line(holding(A0, A1, lag={A0: 30, A1: 12}), 160.2) == (
        "stored 1,200 records (2.5 MB) in the last 60 s, in 2 cycles of 1.0 s each, the longest 1.5 s; "
        "lag 42 records; holds 2 partitions, stored in lake/orders"
    )


def test_an_idle_consumer_s_waits_are_no_cycles() -> None:
    progress = Progress(0.0).with_cycle(cycle(0, 0, 1.0)).with_cycle(cycle(0, 0, 1.0))
    assert progress.line(holding(A0, B0), 60.0) == (
        "stored nothing in the last 60 s; lag 0 records; holds 2 partitions, stored in lake/orders and no table"
    )


def test_the_lag_of_partitions_that_were_given_up_does_not_count() -> None:
    assert "lag 5 records" in Progress(0.0).line(holding(A0, lag={A0: 5, A1: 1000}), 1.0)


def test_without_partitions_it_holds_none() -> None:
    assert Progress(0.0).line(holding(), 3.0) == "stored nothing in the last 3 s; holds no partitions"


def test_a_line_is_due_once_a_minute() -> None:
    assert [Progress(10.0).is_due(at_s) for at_s in (10.0, 69.9, 70.0)] == [False, False, True]


def refused(reason: str, *partitions: TopicPartition) -> ConsumingRefused:
    return ConsumingRefused(ConsumerId(1), 5, 3, 2, partitions, "table", reason)


def test_all_refused_partitions_are_one_line() -> None:
    assert refusals_line([refused("no table", A0)]) == "not reading a-0: no table"
    assert refusals_line([refused("no table", A1), refused("no table", A0)]) == "not reading a-0 and a-1: no table"
    many = [refused(f"topic {topic} is gone", TopicPartition(topic, 0)) for topic in "abcde"]
    assert refusals_line(many) == "not reading 5 partitions: topic a is gone (and 4 other reasons)"
