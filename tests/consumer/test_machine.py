"""The consumer's machine, case by case: it begins and it ends. An event, and all effects that follow."""

from dataclasses import replace

import pytest
from tests.support.consumer_machines import (
    A0,
    A1,
    A2,
    B0,
    EPOCH,
    HELD,
    INCARNATION,
    ME,
    NOTHING,
    World,
    begins,
    offsets,
    optional_offsets,
    refusal,
    services,
    start,
    started,
    stop,
    stopped,
)

from restow.consumer import outgoing
from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import ChangeAssignment, End, RunCycle, Save, Send
from restow.consumer.events import (
    AssignmentChanged,
    ClockTicked,
    CommandRead,
    CycleEnded,
    EndRequested,
    QueryRead,
    ReadySent,
)
from restow.consumer.machine import begin, step
from restow.model import ConsumerId, SortedMapping
from restow.protocol.field_types import RECOVER
from restow.protocol.messages.commands import StateQuery
from restow.protocol.messages.consumer_events import ConsumerReady, StateQueryResponse
from restow.protocol.platform_identity import PlatformIdentity
from restow.protocol.records import known_versions

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
