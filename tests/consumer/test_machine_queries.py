"""The consumer's machine, case by case: queries of its state."""

from tests.support.consumer_machines import (
    A0,
    B0,
    EPOCH,
    HELD,
    INCARNATION,
    ME,
    NOTHING,
    World,
    offsets,
    start,
    started,
)

from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import RunCycle, Save, Send
from restow.consumer.events import (
    ClockTicked,
    CommandRead,
    CommandsReadTo,
    EndRequested,
    Event,
    QueryRead,
    ReadySent,
)
from restow.model import SortedMapping
from restow.protocol.messages.commands import StateQuery
from restow.protocol.messages.consumer_events import StateQueryResponse


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
