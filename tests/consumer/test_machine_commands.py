"""The consumer's machine, case by case: commands, and who may give them."""

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
    TO_A,
    TO_ELSEWHERE,
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

from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import ChangeAssignment, RunCycle, Save, Send
from restow.consumer.events import (
    AssignmentChanged,
    ReadySent,
    RefusedPartitions,
)
from restow.model import SortedMapping
from restow.protocol.field_types import RECOVER
from restow.protocol.topic_service import TopicService

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
