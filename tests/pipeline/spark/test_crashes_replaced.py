"""Spark consumers that lose partitions while paused, lose their broker, and get SIGTERM at the worst moments: the table
refuses late commits, and nothing stays half done."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.delta.lake import on_disk
from tests.support.shared_broker import EAGER
from tests.support.spark.crashes import GRACE_S, SparkGroup, saved_state, send
from tests.support.spark.crashing import FILES_WRITTEN

from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StopConsumingEvent,
)
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

Eventually = Callable[..., None]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedKafka]:
    """This file's own broker: it is restarted."""
    with EmbeddedKafka(server=EAGER) as kafka:
        yield kafka


@pytest.fixture
def group(broker: EmbeddedKafka, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[SparkGroup]:
    kafka = Kafka(broker.bootstrap)
    with Admin(kafka) as admin:
        group = SparkGroup(kafka, admin, prefix, tmp_path, lambda condition: eventually(condition, within_s=120.0))
        yield group
        group.close()


def test_a_late_consumer_is_refused_drops_what_it_lost_and_continues_with_the_rest(
    group: SparkGroup, broker: EmbeddedKafka
) -> None:
    p0, p1, p2, more = group.partitions
    first, second = group.start(1), group.start(2)
    group.hears(ConsumerReady, 1)
    group.hears(ConsumerReady, 2)

    # Moved with an answer: the next consumer starts where the last one stopped.
    group.produce(10)
    group.start_all(1, *group.partitions)
    group.eventually(group.all_are_stored)
    stopped = group.answer_to(StopConsumingEvent, 1, group.stops(1, 2))
    assert dict(stopped.partitions) == {p2: 10}
    command = group.start_command(2, {2: 10})
    group.send(2, command)
    assert dict(group.answer_to(StartConsumingEvent, 2, command).partitions) == {p2: 10}

    # Moved without an answer while the consumer is paused, between reading and storing.
    group.arm(1, FILES_WRITTEN, signal.SIGSTOP)
    group.produce(10, p0, p1)
    group.eventually(lambda: group.is_stopped(first))
    taken = group.start_all(2, p0)
    assert dict(group.answer_to(StartConsumingEvent, 2, taken).partitions) == {p0: 10}
    group.eventually(lambda: len(group.rows()[p0]) == 20)
    send(first, signal.SIGCONT)
    refused = group.hears(ConsumingRefused, 1)
    assert (refused.partitions, refused.kind) == ((p0,), "replaced")
    group.produce(10)
    group.audit()
    group.eventually(lambda: group.left_behind() == set())

    # The broker restarts.
    broker.stop_node(1)
    broker.start_node(1)
    group.produce(10)
    group.audit()
    assert (first.poll(), second.poll()) == (None, None)

    # SIGTERM during a cycle that is about to be stored: it is stored.
    before = group.count()
    group.arm(1, FILES_WRITTEN, signal.SIGSTOP)
    group.produce(10, p1, more)
    group.eventually(lambda: group.is_stopped(first))
    send(first, signal.SIGTERM)
    send(first, signal.SIGCONT)
    ends_in_time(group, 1, first)
    ended = group.hears(StopConsumingEvent, 1, of=lambda message: message.sequence is None)
    stored = group.next_offsets()
    assert dict(ended.partitions) == {partition: stored[partition] for partition in (p1, more)}
    assert group.count() > before
    group.start_all(2, p1, more)
    group.audit()

    # SIGTERM during a cycle that never ends: it is cancelled.
    slow = TopicService(table=str(group.directory / "slow"), transform="slowly:slow")
    group.produce(1, group.slow)
    group.answer_to(StartConsumingEvent, 2, group.start_all(2, group.slow, service=slow))
    group.eventually(lambda: "slow" in group.plan_of(2))
    send(second, signal.SIGTERM)
    ends_in_time(group, 2, second)
    ended = group.hears(StopConsumingEvent, 2, of=lambda message: message.sequence is None)
    assert dict(ended.partitions) == {**group.reached(*group.partitions), group.slow: 0}
    assert on_disk(group.directory / "slow") == set()

    for number in (1, 2):
        assert (saved_state(group, number)["clean"], group.is_planned(number)) == (True, False)
    group.produced.pop(group.slow)
    group.audit()
    assert group.left_behind() == set()


def test_sigterm_while_spark_starts_or_without_a_broker_ends_it_in_time(
    group: SparkGroup, broker: EmbeddedKafka
) -> None:
    warming = group.start(1)
    group.eventually(lambda: group.java_of(warming))
    java = group.java_of(warming)
    send(warming, signal.SIGTERM)
    ends_in_time(group, 1, warming)
    left = {path.name for path in group.volume(1).iterdir()}
    assert left == {"lock", "scratch"}, "it held nothing, and leaves what its next start sweeps"
    group.eventually(lambda: not any(Path(f"/proc/{child}").exists() for child in java))

    group.configure(f"grace_s = {GRACE_S}", pipeline="light")
    group.service = TopicService(table=str(group.directory / "table.db"))
    reading, _ = group.ready(2)
    group.answer_to(StartConsumingEvent, 2, group.start_all(2, *group.partitions))
    broker.kill_node(1)
    send(reading, signal.SIGTERM)
    ends_in_time(group, 2, reading)
    broker.start_node(1)
    assert "ended without a last message to the controller" in group.log(2)


def ends_in_time(group: SparkGroup, number: int, process: "subprocess.Popen[bytes]") -> None:
    sent = datetime.now(UTC)
    try:
        assert process.wait(GRACE_S) == 0
    except subprocess.TimeoutExpired:
        raise AssertionError(
            f"SIGTERM was sent at {sent}; it would be killed now\n{group.log(number)[-3000:]}"
        ) from None
