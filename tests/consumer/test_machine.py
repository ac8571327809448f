"""The consumer's machine, case by case: an event, and all effects that follow."""

from dataclasses import replace

import pytest
from tests.support.consumer_machines import (
    A0,
    A1,
    A2,
    B0,
    EPOCH,
    INCARNATION,
    ME,
    NOTHING,
    REPLACED,
    TO_A,
    TO_ELSEWHERE,
    World,
    begins,
    offsets,
    optional_offsets,
    services,
    start,
    started,
    stop,
    stopped,
)

from restow.consumer import outgoing
from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import ChangeAssignment, Effect, End, RunCycle, Save, Send
from restow.consumer.events import (
    AssignmentChanged,
    ClockTicked,
    CommandRead,
    CommandsReadTo,
    CycleEnded,
    EndRequested,
    Event,
    QueryRead,
    ReadySent,
    RefusedPartitions,
)
from restow.consumer.machine import begin, step
from restow.model import ConsumerId, SortedMapping
from restow.protocol.field_types import RECOVER
from restow.protocol.messages.commands import StateQuery
from restow.protocol.messages.consumer_events import ConsumerReady, ConsumingRefused, StateQueryResponse
from restow.protocol.messages.reports import ConsumerReport, Failure, Gap
from restow.protocol.platform_identity import PlatformIdentity
from restow.protocol.records import known_versions
from restow.protocol.topic_service import TopicService

HELD = Checkpoint(ME, epoch=EPOCH, clean=False, positions=offsets(a_0=10, b_0=20), topics=services("a", "b"))


@pytest.fixture
def fresh() -> World:
    """Ready, holding nothing, in its first cycle."""
    return World().ready()


@pytest.fixture
def reading() -> World:
    """Reads a-0 from 15 and b-0 from 20 on, since before a crash."""
    return World(checkpoint=HELD, table={A0: 15, B0: 20}).ready()


def refusal(sequence: int | None, *partitions: object, kind: str, reason: str) -> ConsumingRefused:
    return ConsumingRefused(ME, INCARNATION, EPOCH, sequence, partitions, kind, reason)  # type: ignore[arg-type]


# It begins.


def test_without_a_checkpoint_it_is_ready_and_holds_nothing() -> None:
    world = World().begin()
    assert world.done == [Send(ConsumerReady(ME, True, (), SortedMapping(), known_versions()))]
    assert world.happens(ReadySent(INCARNATION)) == (
        Save(Checkpoint(ME, epoch=0, clean=False)),
        RunCycle(NOTHING, SortedMapping()),
    )


def test_it_names_the_transforms_that_it_cant_run() -> None:
    broken = SortedMapping({"shop:orders": "NameError: x"})
    _, effects = begin(ME, None, 5.0, broken)
    assert effects == (Send(ConsumerReady(ME, True, (), SortedMapping(), known_versions(), broken)),)


def test_after_a_crash_it_resumes_its_partitions_at_their_tables_offsets() -> None:
    world = World(checkpoint=HELD, table={A0: 15, B0: 20}).begin()
    definitions = SortedMapping({topic: service.digest for topic, service in HELD.topics.items()})
    assert world.done == [Send(ConsumerReady(ME, False, (A0, B0), definitions, known_versions()))]
    recover = ChangeAssignment((), begins(a_0=RECOVER, b_0=RECOVER), HELD.topics)
    assert world.happens(ReadySent(INCARNATION)) == (recover,)
    assert world.finish() == (RunCycle(offsets(a_0=15, b_0=20), HELD.topics),)


def test_a_partition_that_cannot_be_reopened_is_given_up_and_reported() -> None:
    world = World(checkpoint=HELD, refuses={A0: "no such table"}).begin()
    world.happens(ReadySent(INCARNATION))
    assert world.finish() == (
        Save(Checkpoint(ME, EPOCH, False, offsets(b_0=0), services("b"))),
        Send(refusal(None, A0, kind="table", reason="no such table")),
        RunCycle(offsets(b_0=0), services("b")),
    )


def test_after_a_clean_end_it_is_ready_and_holds_nothing() -> None:
    world = World(checkpoint=Checkpoint(ME, epoch=EPOCH)).begin()
    assert world.announced == ConsumerReady(ME, True, (), SortedMapping(), known_versions())


def test_an_epoch_of_a_deleted_log_is_void() -> None:
    world = World(checkpoint=Checkpoint(ME, epoch=INCARNATION + 1)).ready()
    world.reads(start(1, A0, epoch=2))
    assert world.turn() == [started(1, offsets(a_0=0), epoch=2)]


# Commands.


def test_a_command_waits_for_the_end_of_the_cycle_and_is_answered_when_it_is_applied_and_saved(fresh: World) -> None:
    fresh.reads(start(1, A0, at=5))
    assert fresh.finish() == (ChangeAssignment((), begins(a_0=5), services("a")),)
    assert fresh.finish() == (
        Save(Checkpoint(ME, EPOCH, False, offsets(a_0=5), services("a"))),
        Send(started(1, offsets(a_0=5))),
        RunCycle(offsets(a_0=5), services("a")),
    )


def test_a_stop_is_answered_with_the_next_offset(reading: World) -> None:
    reading.reads(stop(1, A0))
    assert reading.finish(progress=4) == (ChangeAssignment((A0,), SortedMapping(), services("b")),)
    assert reading.finish() == (
        Save(Checkpoint(ME, EPOCH, False, offsets(b_0=24), services("b"))),
        Send(stopped(1, offsets(a_0=19))),
        RunCycle(offsets(b_0=24), services("b")),
    )


def test_waiting_commands_become_one_change_and_are_answered_in_order(reading: World) -> None:
    reading.reads(start(1, A1, at=3), stop(2, B0), start(4, A2, at=4))
    assert reading.finish() == (ChangeAssignment((B0,), begins(a_1=3, a_2=4), services("a")),)
    assert reading.finish() == (
        Save(Checkpoint(ME, EPOCH, False, offsets(a_0=15, a_1=3, a_2=4), services("a"))),
        Send(started(1, offsets(a_1=3))),
        Send(stopped(2, offsets(b_0=20))),
        Send(started(4, offsets(a_2=4))),
        RunCycle(offsets(a_0=15, a_1=3, a_2=4), services("a")),
    )


def test_a_command_read_during_a_change_waits_for_the_next_cycle(fresh: World) -> None:
    fresh.reads(start(1, A0))
    fresh.finish()
    fresh.reads(stop(2, A0))
    effects = fresh.finish()
    assert effects[-1] == RunCycle(offsets(a_0=0), services("a"))
    assert fresh.state.should_end_cycle
    assert fresh.turn(progress=7) == [stopped(2, offsets(a_0=7))]


def test_starting_a_held_partition_is_answered_with_its_position_and_changes_nothing(reading: World) -> None:
    reading.reads(start(1, A0, at=3))
    assert reading.finish(progress=1) == (
        Send(started(1, offsets(a_0=16))),
        RunCycle(offsets(a_0=16, b_0=21), HELD.topics),
    )


def test_stopping_a_partition_not_held_is_answered_without_an_offset(fresh: World) -> None:
    fresh.reads(stop(1, A0))
    assert fresh.finish() == (
        Save(Checkpoint(ME, EPOCH, False)),
        Send(stopped(1, optional_offsets(a_0=None))),
        RunCycle(NOTHING, SortedMapping()),
    )


def test_a_start_and_a_stop_in_one_batch_open_nothing_and_both_are_answered(fresh: World) -> None:
    fresh.reads(start(1, A0, A1, at=8), stop(2, A0))
    assert fresh.finish() == (ChangeAssignment((), begins(a_1=8), services("a")),)
    assert fresh.finish()[1:3] == (Send(started(1, offsets(a_0=8, a_1=8))), Send(stopped(2, offsets(a_0=8))))
    assert fresh.state.positions == offsets(a_1=8)


def test_a_recovering_partition_that_was_never_opened_has_no_known_offset(fresh: World) -> None:
    fresh.reads(start(1, A0), stop(2, A0))
    assert fresh.finish()[1:3] == (Send(started(1, NOTHING)), Send(stopped(2, optional_offsets(a_0=None))))


def test_a_stop_and_a_start_in_one_batch_keep_reading_and_both_are_answered(reading: World) -> None:
    reading.reads(stop(1, A0), start(2, A0, at=2))
    assert reading.finish(progress=1) == (
        Send(stopped(1, offsets(a_0=16))),
        Send(started(2, offsets(a_0=16))),
        RunCycle(offsets(a_0=16, b_0=21), HELD.topics),
    )


def test_a_stop_and_a_start_with_another_definition_in_one_batch_close_and_open(reading: World) -> None:
    topics = SortedMapping({"a": TO_ELSEWHERE, "b": HELD.topics["b"]})
    reading.reads(stop(1, A0), start(2, A0, service=TO_ELSEWHERE))
    assert reading.finish() == (ChangeAssignment((A0,), begins(a_0=RECOVER), topics),)
    assert reading.finish() == (
        Save(Checkpoint(ME, EPOCH, False, offsets(a_0=15, b_0=20), topics)),
        Send(stopped(1, offsets(a_0=15))),
        Send(started(2, offsets(a_0=15))),
        RunCycle(offsets(a_0=15, b_0=20), topics),
    )


def test_a_start_with_a_contradicting_definition_is_refused_and_held_partitions_continue(reading: World) -> None:
    reading.reads(start(1, A0, A1, service=TO_ELSEWHERE))
    reason = "other partitions of a are read here by another definition; stop them first"
    assert reading.finish() == (
        Send(started(1, offsets(a_0=15))),
        Send(refusal(1, A1, kind="table", reason=reason)),
        RunCycle(offsets(a_0=15, b_0=20), HELD.topics),
    )


def test_another_start_position_contradicts_nothing(reading: World) -> None:
    later = TopicService(table=TO_A.table, start="latest")
    reading.reads(start(1, A1, at=1, service=later))
    topics = SortedMapping({"a": later, "b": HELD.topics["b"]})
    assert reading.finish() == (ChangeAssignment((), begins(a_1=1), topics),)


def test_refused_partitions_are_reported_by_kind_and_the_rest_starts(fresh: World) -> None:
    fresh.reads(start(1, A0, A1, A2, B0))
    fresh.finish()
    refused = (RefusedPartitions((A1, A0), "transform", "no module m"), RefusedPartitions((B0,), "table", "no room"))
    fresh.running = None
    assert fresh.happens(AssignmentChanged(offsets(a_2=3), NOTHING, refused)) == (
        Save(Checkpoint(ME, EPOCH, False, offsets(a_2=3), services("a"))),
        Send(started(1, offsets(a_2=3))),
        Send(refusal(1, A0, A1, kind="transform", reason="no module m")),
        Send(refusal(1, B0, kind="table", reason="no room")),
        RunCycle(offsets(a_2=3), services("a")),
    )


# Who commands.


def test_commands_of_a_smaller_epoch_or_for_another_incarnation_are_ignored(fresh: World) -> None:
    fresh.reads(start(1, A0), start(9, A1, epoch=EPOCH - 1), stop(9, A0, incarnation=INCARNATION - 1))
    assert fresh.turn() == [started(1, offsets(a_0=0))]
    assert fresh.state.ignored == 2


def test_commands_read_before_it_is_announced_are_for_another_incarnation() -> None:
    world = World().begin()
    world.reads(start(1, A0))
    world.happens(ReadySent(INCARNATION))
    assert (world.turn(), world.state.ignored) == ([], 1)


def test_a_greater_epoch_voids_waiting_commands_and_restarts_sequences(fresh: World) -> None:
    fresh.reads(start(1, A0))
    fresh.turn()
    fresh.reads(stop(2, A0), start(1, A1, epoch=EPOCH + 1))
    assert fresh.turn() == [started(1, offsets(a_1=0), epoch=EPOCH + 1)]
    assert fresh.checkpoint == Checkpoint(ME, EPOCH + 1, False, offsets(a_0=0, a_1=0), services("a"))
    assert fresh.state.ignored == 1


def test_a_running_change_of_a_replaced_controller_is_answered_and_not_remembered(fresh: World) -> None:
    fresh.reads(start(5, A0))
    fresh.finish()
    fresh.reads(stop(5, A1, epoch=EPOCH + 1))
    assert fresh.finish()[1] == Send(started(5, offsets(a_0=0)))
    assert fresh.turn() == [stopped(5, optional_offsets(a_1=None), epoch=EPOCH + 1)]


def test_a_repeat_is_answered_with_the_same_and_changes_nothing(fresh: World) -> None:
    fresh.reads(start(1, A0, at=4))
    fresh.turn()
    fresh.reads(stop(2, A0))
    fresh.turn(progress=3)
    fresh.reads(start(1, A0, at=4), stop(2, A0))
    assert fresh.finish() == (
        Send(started(1, offsets(a_0=4))),
        Send(stopped(2, offsets(a_0=7))),
        RunCycle(NOTHING, SortedMapping()),
    )


def test_a_repeat_in_the_same_batch_is_answered_too(fresh: World) -> None:
    fresh.reads(start(1, A0, at=4), start(1, A0, at=4))
    assert fresh.turn() == [started(1, offsets(a_0=4)), started(1, offsets(a_0=4))]


def test_the_last_64_answers_are_remembered(fresh: World) -> None:
    fresh.reads(*(stop(2 * number, A0) for number in range(1, 66)))
    fresh.turn()
    fresh.reads(stop(2, A0), stop(4, A0))
    assert fresh.turn() == [stopped(4, optional_offsets(a_0=None))]
    assert fresh.state.ignored == 1


# Queries.


def response(query: int, world: World, last_sequence: int, epoch: int = EPOCH) -> StateQueryResponse:
    state = world.state
    return StateQueryResponse(ME, INCARNATION, epoch, query, state.positions, state.definitions, last_sequence)


def test_a_query_is_answered_when_all_commands_before_it_are_applied(fresh: World) -> None:
    fresh.asked(1, commands_end=2)
    assert fresh.turn() == []
    fresh.reads(start(5, A0))
    assert fresh.turn() == [started(5, offsets(a_0=0))]
    fresh.happens(CommandsReadTo(2))
    assert fresh.turn() == [response(1, fresh, last_sequence=5)]
    assert fresh.turn() == []


def test_an_idle_cycle_is_cut_short_if_something_can_be_answered(fresh: World) -> None:
    def wants(event: Event) -> bool:
        fresh.happens(event)
        return fresh.state.should_end_cycle

    query, command = QueryRead(StateQuery(EPOCH, 1), commands_end=2), CommandRead(1, start(1, A0))
    assert [wants(CommandsReadTo(1)), wants(query), wants(CommandsReadTo(2))] == [False, False, True]
    fresh.turn()
    assert [wants(CommandsReadTo(2)), wants(command)] == [False, True]
    fresh.turn()
    assert [wants(ClockTicked(0.0)), wants(EndRequested())] == [False, True]


def test_a_query_is_answered_after_the_commands_of_the_same_cycle(fresh: World) -> None:
    fresh.reads(start(1, A0))
    fresh.asked(1)
    assert fresh.turn() == [started(1, offsets(a_0=0)), response(1, fresh, last_sequence=1)]


def test_the_epoch_of_a_query_is_saved_before_it_is_answered(fresh: World) -> None:
    fresh.asked(3, epoch=EPOCH + 2)
    assert fresh.finish() == (
        Save(Checkpoint(ME, EPOCH + 2, False)),
        Send(response(3, fresh, last_sequence=0, epoch=EPOCH + 2)),
        RunCycle(NOTHING, SortedMapping()),
    )


def test_commands_of_an_older_controller_than_the_queries_are_ignored(fresh: World) -> None:
    fresh.asked(1, epoch=EPOCH + 1, commands_end=1)
    fresh.reads(start(1, A0))
    assert fresh.turn() == [response(1, fresh, last_sequence=0, epoch=EPOCH + 1)]


def test_a_query_of_a_smaller_epoch_is_ignored_and_the_newest_counts(fresh: World) -> None:
    fresh.asked(1)
    fresh.asked(2)
    fresh.asked(9, epoch=EPOCH - 1)
    assert fresh.turn() == [response(2, fresh, last_sequence=0)]
    assert fresh.state.ignored == 1


def test_a_query_that_comes_before_the_announcement_is_answered_after_it() -> None:
    world = World(checkpoint=HELD, table={A0: 15, B0: 20}).begin()
    world.asked(1)
    world.happens(ReadySent(INCARNATION))
    assert world.finish()[0] == Send(response(1, world, last_sequence=0))
    assert world.state.positions == offsets(a_0=15, b_0=20)


# What cycles tell.


def test_a_partition_taken_over_is_dropped_saved_and_reported_and_the_rest_continues(reading: World) -> None:
    assert reading.loses(A0) == (
        Save(Checkpoint(ME, EPOCH, False, offsets(b_0=20), services("b"))),
        Send(refusal(None, A0, kind="replaced", reason=REPLACED)),
        RunCycle(offsets(b_0=20), services("b")),
    )


def test_new_positions_alone_are_not_saved(reading: World) -> None:
    assert reading.finish(progress=9) == (RunCycle(offsets(a_0=24, b_0=29), HELD.topics),)


def test_it_reports_a_gap_once(reading: World) -> None:
    gap = Gap(A0, 3, 7)
    reading.happens(ClockTicked(100.0))
    reading.running = None
    reading.happens(CycleEnded(reading.state.positions, offsets(a_0=0, b_0=0), gaps=(gap,)))
    reports = [_the_report(reading.happens(ClockTicked(now_s))) for now_s in (105.0, 110.0)]
    assert [report.gaps for report in reports] == [(gap,), ()]
    assert str(gap) == "a-0: the records from 3 to 6, 4 in all, were deleted before they were read"


def test_it_reports_what_it_cannot_store_for_as_long_as_its_cycles_say_so(reading: World) -> None:
    failures = (Failure("a", "the transform failed"), Failure("c", "of a topic that it does not hold"))
    reading.happens(ClockTicked(100.0))
    seen = []
    for now_s, found in ((105.0, failures), (110.0, failures), (115.0, ())):
        reading.running = None
        reading.happens(CycleEnded(reading.state.positions, offsets(a_0=0, b_0=0), failures=found))
        seen.append(_the_report(reading.happens(ClockTicked(now_s))).failures)
    assert seen == [failures[:1], failures[:1], ()]


def _the_report(effects: tuple[Effect, ...]) -> ConsumerReport:
    [tell] = effects
    assert isinstance(tell, Send)
    assert isinstance(tell.message, ConsumerReport)
    return tell.message


def test_it_reports_what_it_did_since_its_last_report(reading: World) -> None:
    assert reading.happens(ClockTicked(100.0)) == ()
    for records, took_s, lag in ((30, 1.0, 500), (50, 3.0, 450)):
        reading.running = None
        lags = offsets(a_0=lag, b_0=0)
        reading.happens(CycleEnded(reading.state.positions, lags, records, 1000 * records, took_s, saturated=True))
    assert reading.happens(ClockTicked(104.9)) == ()
    assert reading.happens(ClockTicked(105.0)) == (
        Send(
            ConsumerReport(
                ME,
                INCARNATION,
                offsets(a_0=450, b_0=0),
                reading.state.definitions,
                records_per_s=16.0,
                bytes_per_s=16_000.0,
                saturated=True,
                cycle_s_mean=2.0,
                cycle_s_max=3.0,
                next_offsets=reading.state.positions,
            )
        ),
    )
    assert reading.happens(ClockTicked(109.0)) == ()


def report_of(world: World, now_s: float) -> ConsumerReport:
    [tell] = world.happens(ClockTicked(now_s))
    assert isinstance(tell, Send)
    assert isinstance(tell.message, ConsumerReport)
    return tell.message


def test_a_window_with_an_unsaturated_cycle_is_not_saturated(reading: World) -> None:
    reading.happens(ClockTicked(0.0))
    for saturated in (True, False):
        reading.running = None
        reading.happens(CycleEnded(reading.state.positions, NOTHING, saturated=saturated))
    assert not report_of(reading, 5.0).saturated


def test_a_cycle_longer_than_the_time_between_reports_counts_over_all_its_time(reading: World) -> None:
    reading.happens(ClockTicked(0.0))
    first = report_of(reading, 5.0)
    reading.finish(progress=100)
    second = report_of(reading, 10.0)
    assert (first.records_per_s, second.records_per_s) == (0.0, 10.0)


def test_a_report_names_all_held_partitions_before_any_cycle(fresh: World) -> None:
    fresh.happens(ClockTicked(0.0))
    fresh.reads(start(1, A0))
    fresh.turn()
    assert report_of(fresh, 5.0).lag_records == offsets(a_0=0)


def test_nothing_is_reported_before_it_is_announced() -> None:
    world = World().begin()
    world.happens(ClockTicked(0.0))
    assert world.happens(ClockTicked(100.0)) == ()


# It ends.


def test_it_ends_after_the_cycle_with_everything_stopped_saved_and_reported(reading: World) -> None:
    assert reading.happens(EndRequested()) == ()
    assert reading.finish(progress=5) == (ChangeAssignment((A0, B0), SortedMapping(), SortedMapping()),)
    assert reading.finish() == (
        Save(Checkpoint(ME, EPOCH, clean=True)),
        Send(stopped(None, offsets(a_0=20, b_0=25))),
        End(),
    )
    assert reading.happens(ClockTicked(1e9)) == ()


def test_without_partitions_it_ends_after_the_cycle(fresh: World) -> None:
    fresh.happens(EndRequested())
    assert fresh.finish() == (Save(Checkpoint(ME, 0, clean=True)), Send(stopped(None, NOTHING, epoch=0)), End())


def test_it_ends_after_the_running_change_and_answers_its_commands(fresh: World) -> None:
    fresh.reads(start(1, A0, at=6))
    fresh.finish()
    fresh.happens(EndRequested())
    assert fresh.finish() == (
        Save(Checkpoint(ME, EPOCH, False, offsets(a_0=6), services("a"))),
        Send(started(1, offsets(a_0=6))),
        ChangeAssignment((A0,), SortedMapping(), SortedMapping()),
    )


def test_waiting_commands_are_answered_at_the_end_and_a_start_is_reported_as_stopped(reading: World) -> None:
    reading.reads(stop(1, A0), start(2, A1, at=30), start(3, A2))
    reading.asked(4)
    reading.happens(EndRequested())
    reading.finish()
    assert reading.finish() == (
        Save(Checkpoint(ME, EPOCH, clean=True)),
        Send(stopped(None, optional_offsets(a_0=15, a_1=30, a_2=None, b_0=20))),
        Send(stopped(1, offsets(a_0=15))),
        Send(StateQueryResponse(ME, INCARNATION, EPOCH, 4, NOTHING, SortedMapping(), 3)),
        End(),
    )


def test_commands_after_the_request_to_end_are_not_applied(reading: World) -> None:
    reading.happens(EndRequested())
    reading.reads(start(1, A1))
    assert reading.turn() == [stopped(None, offsets(a_0=15, b_0=20))]
    assert reading.state.ignored == 1


def test_a_request_to_end_before_it_is_announced_opens_nothing() -> None:
    world = World(checkpoint=HELD).begin()
    world.happens(EndRequested())
    assert world.happens(ReadySent(INCARNATION)) == (
        Save(Checkpoint(ME, EPOCH, clean=True)),
        Send(stopped(None, optional_offsets(a_0=None, b_0=None))),
        End(),
    )


# Bugs are assertions.


def test_an_event_that_was_not_requested_is_a_bug(fresh: World) -> None:
    with pytest.raises(AssertionError, match="nothing was changed"):
        fresh.happens(AssignmentChanged(NOTHING, NOTHING))
    fresh.reads(start(1, A0))
    fresh.finish()
    with pytest.raises(AssertionError, match="no cycle was run"):
        fresh.happens(CycleEnded(NOTHING, NOTHING))
    assert fresh.happens(CommandRead(99, stop(2, A0))) == ()


def test_it_says_where_it_runs_in_what_a_controller_learns_its_holdings_from() -> None:
    platform = PlatformIdentity("processes-1", "host-a:/srv/restow-data")
    state, (send,) = begin(ConsumerId(1), None, 5.0, platform=platform)
    assert isinstance(send, Send)
    assert isinstance(send.message, ConsumerReady)
    assert send.message.platform == platform
    state, _ = step(state, ReadySent(7))
    query = replace(state, query=QueryRead(StateQuery(epoch=3, query=1), 0))
    assert (outgoing.report(state, 1.0).platform, outgoing.response(query).platform) == (platform, platform)
