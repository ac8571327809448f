"""After a crash a consumer claims what it held, and reads what it is granted."""

from dataclasses import replace

import pytest
from tests.support.consumer_machines import (
    A0,
    A1,
    B0,
    EPOCH,
    ME,
    World,
    begins,
    offsets,
    optional_offsets,
    services,
    start,
    stop,
    stopped,
)

from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import ChangeAssignment, RunCycle, Save
from restow.consumer.events import ClockTicked, CommandRead, EndRequested, QueryRead
from restow.consumer.machine import RESUME_AFTER_S
from restow.model import SortedMapping
from restow.protocol.messages.commands import StateQuery
from restow.protocol.messages.consumer_events import ConsumerReady, StateQueryResponse
from restow.protocol.topic_service import TopicService

PLAIN = TopicService("files/b", refuses_late_writes=False)
HELD = Checkpoint(
    ME,
    epoch=EPOCH,
    clean=False,
    positions=offsets(a_0=10, b_0=20),
    topics=SortedMapping({**services("a"), "b": PLAIN}),
    will_claim=True,
)


@pytest.fixture
def claiming() -> World:
    """Back after a crash, in its first cycle: a-0 is in a table that refuses late writes, b-0 is not."""
    return World(checkpoint=HELD, table={A0: 15, B0: 20}).ready()


def wait(world: World, seconds: float) -> None:
    """Nothing is heard for so long; then the cycle ends."""
    world.happens(ClockTicked(100.0))
    world.happens(ClockTicked(100.0 + seconds))
    world.finish()


def test_it_claims_what_its_checkpoint_has_and_reads_none_of_it(claiming: World) -> None:
    ready = next(message for message in claiming.sent if isinstance(message, ConsumerReady))
    assert (ready.partitions, ready.claims, ready.definitions) == ((), (A0, B0), SortedMapping())
    assert claiming.state.positions == SortedMapping()
    wait(claiming, RESUME_AFTER_S - 1)
    assert claiming.state.positions == SortedMapping()
    assert claiming.checkpoint == HELD, "another crash claims the same"


def test_a_checkpoint_of_a_controller_that_answers_no_claims_is_resumed_at_once() -> None:
    world = World(checkpoint=replace(HELD, will_claim=False), table={A0: 15, B0: 20}).ready()
    assert world.state.positions == offsets(a_0=15, b_0=20)


def test_it_reads_what_it_is_granted_and_forgets_what_it_is_denied(claiming: World) -> None:
    claiming.happens(CommandRead(0, start(1, A0)))
    claiming.happens(CommandRead(1, stop(2, B0)))
    claiming.finish()
    claiming.finish()
    assert claiming.state.positions == offsets(a_0=15)
    assert stopped(2, optional_offsets(b_0=None)) in claiming.sent
    assert claiming.checkpoint == replace(HELD, positions=offsets(a_0=15), topics=services("a"), will_claim=False)


def test_without_an_answer_it_resumes_what_its_table_protects_and_the_rest_waits(claiming: World) -> None:
    wait(claiming, RESUME_AFTER_S)
    assert claiming.running == ChangeAssignment((), begins(a_0="recover"), services("a"))
    claiming.finish()
    assert claiming.state.positions == offsets(a_0=15)
    assert tuple(claiming.state.claims.positions) == (B0,)
    assert claiming.checkpoint is not None
    assert list(claiming.checkpoint.positions) == [A0, B0]


def test_a_query_of_a_controller_gets_the_claims_and_gives_it_more_time(claiming: World) -> None:
    claiming.happens(ClockTicked(100.0))
    claiming.happens(QueryRead(StateQuery(EPOCH + 1, 1), 0))
    wait(claiming, RESUME_AFTER_S - 1)
    response = claiming.sent[-1]
    assert isinstance(response, StateQueryResponse)
    assert (response.partitions, response.claims, response.will_claim) == (SortedMapping(), (A0, B0), True)
    assert not isinstance(claiming.running, ChangeAssignment)


def test_a_start_of_a_controller_that_answers_claims_is_remembered() -> None:
    world = World().ready()
    world.happens(CommandRead(0, replace(start(1, A1, at=3), answers_claims=True)))
    world.finish()
    world.finish()
    assert world.checkpoint == Checkpoint(ME, EPOCH, False, offsets(a_1=3), services("a"), will_claim=True)
    world.happens(CommandRead(1, replace(start(1, A0, at=3, epoch=EPOCH + 1), answers_claims=False)))
    world.finish()
    world.finish()
    assert not world.state.will_claim, "the newest controller counts"


def test_a_process_that_ends_in_order_claims_nothing(claiming: World) -> None:
    claiming.happens(EndRequested())
    claiming.finish()
    assert claiming.ended
    assert claiming.checkpoint == Checkpoint(ME, EPOCH, clean=True, will_claim=True)
    assert Save(claiming.checkpoint) in claiming.done


def test_a_suspect_is_read_with_care_until_all_that_was_there_is_stored() -> None:
    world = World(table={A0: 10}).ready()
    world.happens(CommandRead(0, replace(start(1, A0), suspects=(A0,))))
    world.finish()
    world.finish()
    for progress, lag, suspects in ((0, 5, (A0,)), (3, 9, (A0,)), (1, 9, (A0,)), (1, 9, ())):
        world.finish(progress, lag)
        assert isinstance(world.running, RunCycle)
        assert world.running.suspects == suspects


def test_a_suspect_is_innocent_after_as_many_records_as_a_cycle_can_read() -> None:
    world = World(table={A0: 10}, record_bytes=100, cycle_bytes=400).ready()
    world.happens(CommandRead(0, replace(start(1, A0), suspects=(A0,))))
    world.finish()
    world.finish()
    for progress, suspects in ((2, (A0,)), (3, (A0,)), (1, ())):  # 4 records after those of the first cycle
        world.finish(progress, lag=1_000)
        assert isinstance(world.running, RunCycle)
        assert world.running.suspects == suspects
