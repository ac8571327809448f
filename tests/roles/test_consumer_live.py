"""Real consumer processes with the light pipeline on a real Kafka. The test plays the controller."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.live_consumers import Eventually, Group, terminate

from restow.kafka.admin import Admin
from restow.model import SortedMapping
from restow.protocol.messages.commands import StateQuery
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.records import known_versions
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka


@pytest.fixture
def group(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[Group]:
    group = Group(kafka, admin, prefix, tmp_path, eventually)
    try:
        yield group
    finally:
        group.close()


def test_a_partition_changes_hands_while_it_is_written_and_nothing_is_lost_or_stored_twice(group: Group) -> None:
    for number in (1, 2):
        group.start(number)
    for number in (1, 2):
        ready = group.hears(ConsumerReady, number)
        expected = ConsumerReady(ready.consumer, True, (), SortedMapping(), known_versions(), platform=ready.platform)
        assert ready == expected
        assert ready.platform is not None
    group.write(300, 0, 1, 2)
    started = group.answer_to(StartConsumingEvent, 1, group.starts(1, 0, 1, 2))
    assert started.partitions == group.offsets({0: 0, 1: 0, 2: 0})

    giver, taker = 1, 2
    for _ in range(4):  # there and back again, under writes
        group.write(200, 0, 1, 2)
        stopped = group.answer_to(StopConsumingEvent, giver, group.stops(giver, 0, 1))
        group.write(200, 0, 1, 2)
        for partition in (0, 1):
            offset = stopped.partitions[group.partition(partition)]
            assert offset is not None
            answer = group.answer_to(StartConsumingEvent, taker, group.starts(taker, partition, at=offset))
            assert answer.partitions == group.offsets({partition: offset})
        giver, taker = taker, giver
    group.eventually(group.all_stored)


def test_a_killed_consumer_resumes_at_its_tables_offsets(group: Group) -> None:
    group.configure("light_bytes_per_s = 100_000.0")
    process, first = group.ready(1)
    group.write(1000, 0, 1)
    group.answer_to(StartConsumingEvent, 1, group.starts(1, 0, 1))
    group.eventually(lambda: len(group.stored().get(0, [])) > 100)
    process.kill()
    process.wait(10)
    assert sum(map(len, group.stored().values())) < 2000, "it was killed when it had nothing to do"
    group.write(100, 0, 1)
    before = len(group.messages)
    _, second = group.ready(1)
    ready = group.hears(ConsumerReady, 1, after=before)
    assert (ready.clean, ready.partitions) == (False, (group.partition(0), group.partition(1)))
    assert ready.definitions == SortedMapping({group.data: group.service.digest})
    assert second > first
    group.eventually(group.all_stored)
    report = group.hears(
        ConsumerReport, 1, of=lambda report: report.incarnation == second and not any(report.lag_records.values())
    )
    assert report.lag_records == group.offsets({0: 0, 1: 0})


def test_without_its_volume_a_consumer_starts_empty_and_the_table_has_the_offsets(group: Group) -> None:
    process, _ = group.ready(1)
    group.write(500, 0)
    group.answer_to(StartConsumingEvent, 1, group.starts(1, 0))
    group.eventually(group.all_stored)
    process.kill()
    process.wait(10)
    group.lose_volume(1)
    before = len(group.messages)
    group.ready(1)
    assert group.hears(ConsumerReady, 1, after=before).partitions == ()
    group.write(100, 0)
    started = group.answer_to(StartConsumingEvent, 1, group.starts(1, 0))
    assert started.partitions == group.offsets({0: 500})
    group.eventually(group.all_stored)


def test_sigterm_stops_a_consumer_which_reports_its_offsets_and_leaves_a_clean_checkpoint(group: Group) -> None:
    process, incarnation = group.ready(1)
    group.write(500, 0)
    group.answer_to(StartConsumingEvent, 1, group.starts(1, 0))
    group.eventually(group.all_stored)
    assert terminate(process) == 0
    ended = group.hears(StopConsumingEvent, 1)
    assert ended == StopConsumingEvent(
        ended.consumer, incarnation, group.epoch, None, SortedMapping(group.offsets({0: 500}))
    )
    before = len(group.messages)
    group.ready(1)
    ready = group.hears(ConsumerReady, 1, after=before)
    assert (ready.clean, ready.partitions) == (True, ())


def test_a_second_process_on_one_volume_refuses_to_start(group: Group) -> None:
    first, _ = group.ready(1)
    assert group.start(1).wait(20) == 1
    last = group.log(1).splitlines()[-1]
    assert last.endswith(
        f"ERROR   consumer-1  the volume {group.volume(1)} is in use by process {first.pid}; a volume has one process: "
        "end that one, or name another volume"
    )
    assert first.poll() is None


def test_a_consumer_replaced_while_stopped_stores_nothing_and_drops_the_partition(group: Group) -> None:
    sleeper, _ = group.ready(1)
    group.ready(2)
    group.write(300, 0, 1)
    group.answer_to(StartConsumingEvent, 1, group.starts(1, 0, 1))
    group.eventually(group.all_stored)
    sleeper.send_signal(signal.SIGSTOP)
    started = group.answer_to(StartConsumingEvent, 2, group.starts(2, 0))
    assert started.partitions == group.offsets({0: 300})
    group.write(50, 0, 1)
    group.eventually(lambda: len(group.stored()[0]) == 350)
    sleeper.send_signal(signal.SIGCONT)
    group.write(50, 0, 1)
    refused = group.hears(ConsumingRefused, 1)
    assert (refused.sequence, refused.partitions, refused.kind) == (None, (group.partition(0),), "replaced")
    report = group.hears(ConsumerReport, 1, after=len(group.messages))
    assert list(report.lag_records) == [group.partition(1)]
    group.write(50, 0, 1)
    group.eventually(group.all_stored)


def test_an_undecodable_record_is_logged_once_and_ignored(group: Group) -> None:
    group.ready(1)
    group.send_bytes(1, b"{nonsense", group.topics.controller)
    group.send_bytes(1, b"\xff", group.topics.query)
    group.answer_to(StartConsumingEvent, 1, group.starts(1, 0))
    lines = [line for line in group.log(1).splitlines() if "was skipped" in line]
    assert len(lines) == 2
    assert f"{group.topics.controller}-1 at offset 0 was skipped: " in "".join(lines)
    assert f"{group.topics.query}-1 at offset 0 was skipped: " in "".join(lines)


def test_after_a_takeover_the_query_is_answered_and_the_old_controller_is_ignored(group: Group) -> None:
    _, incarnation = group.ready(1)
    group.write(10, 0)
    group.answer_to(StartConsumingEvent, 1, group.starts(1, 0))
    group.eventually(group.all_stored)
    old = group.start_command(1, {1: 0})
    group.take_over()
    group.send(1, StateQuery(group.epoch, query=5))
    response = group.hears(StateQueryResponse, 1)
    assert response == StateQueryResponse(
        response.consumer,
        incarnation,
        group.epoch,
        5,
        group.offsets({0: 10}),
        SortedMapping({group.data: group.service.digest}),
        0,
        platform=response.platform,
    )
    assert response.platform is not None
    group.send(1, old)
    answer = group.answer_to(StopConsumingEvent, 1, group.stops(1, 0, 1))
    assert dict(answer.partitions) == {group.partition(0): 10, group.partition(1): None}


def test_a_missing_transform_and_an_impossible_table_are_refused(group: Group) -> None:
    group.ready(1)
    (group.directory / "a-file").touch()
    broken = {
        "transform": TopicService(table=str(group.table), transform="no_such_module:rows"),
        "table": TopicService(table=str(group.directory / "a-file" / "table.db")),
    }
    for kind, service in broken.items():
        command = group.start_command(1, {0: 0}, service)
        group.send(1, command)
        refused = group.answer_to(ConsumingRefused, 1, command)
        assert (refused.partitions, refused.kind) == ((group.partition(0),), kind)
    group.write(10, 0)
    good = group.start_command(1, {0: 0}, TopicService(table=str(group.table), transform="transforms_for_tests:even"))
    group.send(1, good)
    group.answer_to(StartConsumingEvent, 1, good)
    group.eventually(lambda: group.stored() == {0: [0, 2, 4, 6, 8]})


def test_missing_brokers_are_logged_once_and_sigterm_still_ends_the_consumer(group: Group) -> None:
    group.config.write_text(group.config.read_text().replace(group.kafka.bootstrap, "127.0.0.1:9"))
    process = group.start(1)
    group.eventually(lambda: "127.0.0.1:9 doesn't answer" in group.log(1))
    assert terminate(process) == 0
    waits = ("waiting for the brokers at ", "waited ")  # how many of these there are depends on the machine's speed
    first, ending, last = [line for line in group.log(1).splitlines() if not any(wait in line for wait in waits)]
    assert first.endswith("; retrying")
    assert ending.endswith("ending: finishing the running cycle")
    assert "ended without a last message to the controller: " in last


def test_the_log_has_what_was_stored_after_every_change(group: Group) -> None:
    group.ready(1)
    group.write(300, 0, 1)
    group.answer_to(StartConsumingEvent, 1, group.starts(1, 0, 1))
    group.eventually(group.all_stored)
    group.eventually(lambda: "; holds 2 partitions, stored in " in group.log(1))
    group.answer_to(StopConsumingEvent, 1, group.stops(1, 1))
    group.eventually(lambda: "; holds 1 partition, stored in " in group.log(1))
    [line] = [line for line in group.log(1).splitlines() if "; holds 1 partition, stored in " in line]
    assert " INFO " in line
    assert re.search(r" stored 600 records \(\S+ kB\) in the last \d+ s, in \d+ cycles? of \S+ s each, ", line)
    assert "; lag 0 records; " in line
