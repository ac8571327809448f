"""Simulated Kafka keeps what Kafka promises, and no more."""

import random
from collections.abc import Callable

import pytest

from restow.simulator.agenda import Agenda
from restow.simulator.topics import DELETED, KEPT_S, LOOK_BACK, Fenced, Kafka, Topic, TopicReader

LONG_S = 60.0


@pytest.fixture
def agenda() -> Agenda:
    return Agenda()


@pytest.fixture
def kafka(agenda: Agenda) -> Kafka:
    return Kafka(agenda, random.Random(1))


def ignore(time_s: float) -> None:
    del time_s


def reader(kafka: Kafka, partition: int = 1, position: int = 0, wake: Callable[[float], None] = ignore) -> TopicReader:
    return TopicReader(kafka, kafka.log(Topic.CONTROLLER, partition), position, wake)


def test_records_of_a_partition_are_read_in_order_after_a_moment(kafka: Kafka) -> None:
    for record in "abc":
        kafka.append(Topic.CONTROLLER, 1, record)
    read = reader(kafka)
    assert read.read(0.0) == []
    assert read.read(LONG_S) == [(0, "a"), (1, "b"), (2, "c")]
    assert read.read(LONG_S) == []


def test_a_transaction_is_seen_whole_and_takes_an_offset_more_on_each_partition(kafka: Kafka) -> None:
    kafka.take_over("controller")
    records = [(Topic.CONTROLLER, 1, "a"), (Topic.CONTROLLER, 2, "b"), (Topic.CONTROLLER, 1, "c")]
    assert kafka.commit("controller", records) == [0, 0, 1]
    assert reader(kafka, 1).read(LONG_S) == [(0, "a"), (1, "c")]
    assert (kafka.log(Topic.CONTROLLER, 1).end, kafka.log(Topic.CONTROLLER, 2).end) == (3, 2)


def test_old_records_are_deleted_but_for_the_last_ones_and_all_of_the_service_topic(
    kafka: Kafka, agenda: Agenda
) -> None:
    for topic in (Topic.CONTROLLER, Topic.MONITOR, Topic.SERVICE):
        for record in range(LOOK_BACK + 10):
            kafka.append(topic, 0, record)
    agenda.run_until(KEPT_S + 1)
    kept = {}
    for topic in (Topic.CONTROLLER, Topic.MONITOR, Topic.SERVICE):
        assert kafka.append(topic, 0, "new") == LOOK_BACK + 10
        log = kafka.log(topic, 0)
        kept[topic] = log.end - log.records.count(DELETED)
    assert kept == {Topic.CONTROLLER: LOOK_BACK, Topic.MONITOR: 1, Topic.SERVICE: LOOK_BACK + 11}
    late = TopicReader(kafka, kafka.log(Topic.MONITOR, 0), 0, ignore)
    with pytest.raises(AssertionError, match="offset 0 is read 660 s late"):
        late.read(KEPT_S + LONG_S)


def test_whoever_was_replaced_can_commit_nothing(kafka: Kafka) -> None:
    kafka.take_over("old")
    kafka.take_over("new")
    with pytest.raises(Fenced):
        kafka.commit("old", [(Topic.CONTROLLER, 1, "a")])
    assert kafka.log(Topic.CONTROLLER, 1).end == 0


def test_while_answers_are_lost_some_records_come_twice_and_the_last_copy_is_confirmed(kafka: Kafka) -> None:
    kafka.repeats_until_s = LONG_S
    offsets = [kafka.append(Topic.CONTROLLER, 0, number) for number in range(20)]
    read = [int(str(record)) for _, record in reader(kafka, 0).read(LONG_S)]
    assert read == sorted(read)
    assert set(read) == set(range(20))
    assert len(read) > 20
    assert [record for offset, record in enumerate(read) if offset in offsets] == list(range(20))


def test_readers_get_nothing_during_an_outage(kafka: Kafka) -> None:
    kafka.append(Topic.CONTROLLER, 1, "a")
    kafka.down_until_s = 30.0
    read = reader(kafka)
    assert read.read(29.0) == []
    assert read.read(30.0) == [(0, "a")]


def test_a_reader_that_is_blocked_is_woken_when_it_can_go_on(kafka: Kafka) -> None:
    woken: list[float] = []
    read = reader(kafka, wake=woken.append)
    read.block(20.0)
    kafka.append(Topic.CONTROLLER, 1, "a")
    assert read.read(19.0) == []
    assert read.is_behind(19.0, by_s=2.0)
    assert woken[0] == 20.0
    assert read.read(20.0) == [(0, "a")]
    assert not read.is_behind(25.0, by_s=2.0)


def test_delay_on_one_partition_reorders_what_is_read_across_two(kafka: Kafka) -> None:
    slow = kafka.log(Topic.CONTROLLER, 1)
    slow.extra_until_s, slow.extra_delay_s = LONG_S, 1000.0
    kafka.append(Topic.CONTROLLER, 1, "first")
    kafka.append(Topic.CONTROLLER, 2, "second")
    assert reader(kafka, 1).read(1.0) == []
    assert reader(kafka, 2).read(1.0) == [(0, "second")]
