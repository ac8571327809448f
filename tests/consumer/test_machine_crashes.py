"""A consumer crashes between any two effects, and the next process resumes from its checkpoint and tables."""

import pytest
from tests.support.consumer_machines import A0, A1, A2, B0, EPOCH, INCARNATION, ME, Crash, World, start, stop

from restow.consumer.checkpoint import Checkpoint
from restow.consumer.events import EndRequested
from restow.model import TopicPartition
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.unions import Command, FromConsumer

NEXT = INCARNATION + 100

COMMANDS: tuple[tuple[Command, ...], ...] = (
    (start(1, A0, A1, at=3),),
    (start(2, B0), stop(3, A0)),
    (start(4, A2), stop(5, A2), start(6, A0, at=9)),
    (stop(7, A1), start(8, A1, at=5), start(1, A0, at=3)),
    (stop(1, B0, epoch=EPOCH + 1),),
)


def life(world: World) -> None:
    """All that can happen to a consumer, from its start to its end."""
    world.ready()
    for commands in COMMANDS:
        world.reads(*commands)
        world.turn(progress=10)
        world.turn(progress=10)
    world.asked(1, epoch=EPOCH + 2)
    world.turn(progress=10)
    world.loses(A0)
    world.happens(EndRequested())
    world.turn(progress=10)


def held_by(sent: list[FromConsumer]) -> set[TopicPartition]:
    """What the controller believes."""
    held: set[TopicPartition] = set()
    for message in sent:
        match message:
            case StartConsumingEvent():
                held |= set(message.partitions)
            case StopConsumingEvent() | ConsumingRefused():
                held -= set(message.partitions)
            case StateQueryResponse():
                held = set(message.partitions)
            case _:
                pass
    return held


def whole() -> World:
    world = World()
    life(world)
    assert world.ended
    return world


EFFECTS = whole().done


@pytest.mark.parametrize("effects", range(len(EFFECTS)), ids=lambda n: f"{n}-{type(EFFECTS[n]).__name__}")
def test_a_restart_repairs_what_a_crash_before_any_effect_left(effects: int) -> None:
    before = World(crash_after=effects)
    with pytest.raises(Crash):
        life(before)
    after = World(checkpoint=before.checkpoint, table=dict(before.table), incarnation=NEXT).ready()

    saved = before.checkpoint or Checkpoint(ME)
    assert isinstance(after.sent[0], ConsumerReady)
    assert set(after.announced.partitions) == set(saved.positions)
    assert after.announced.clean == saved.clean
    assert before.checkpoint is None or not saved.clean or before.state.ending, "a crash is never taken for a clean end"

    # What the messages say and what is held differ at most by unanswered commands.
    believed, holds = held_by(before.sent), set(after.announced.partitions)
    assert believed ^ holds <= unanswered(before)

    # It goes on where the tables are, and knows the controller that it knew.
    assert dict(after.state.positions) == {partition: before.table[partition] for partition in sorted(holds)}
    after.asked(1, epoch=EPOCH + 5)
    [response] = after.turn(progress=1)
    assert isinstance(response, StateQueryResponse)
    assert response.partitions == after.state.positions


def unanswered(world: World) -> set[TopicPartition]:
    """Partitions of unanswered commands, and partitions that were taken away; all if it was about to end."""
    if world.state.ending:
        return {A0, A1, A2, B0}
    answers = (StartConsumingEvent, StopConsumingEvent, ConsumingRefused)
    answered = {(message.epoch, message.sequence) for message in world.sent if isinstance(message, answers)}
    read = [command for batch in COMMANDS for command in batch][: world.offset]
    return world.dropped.union(
        *(command.partitions for command in read if (command.epoch, command.sequence) not in answered)
    )
