"""The controller: step(state, event) -> (state, effects). Pure: the clock is an event, what is to be done a value.

Called by the process (restow.roles.controller), by the simulator and by `restow replay`, with the same events and the
same answers.
"""

from typing import assert_never

from restow.controller import manage, patience, reassign, roll, sentinel, synchronize
from restow.controller.consumer_events import hear
from restow.controller.effects import Effect
from restow.controller.events import (
    ClockTicked,
    ConsumersListed,
    Event,
    PlatformRefused,
    Received,
    ServiceChanged,
    SpeedsMeasured,
    TookOver,
)
from restow.controller.state import Rules, State
from restow.controller.transition import Turn
from restow.controller.transitions import Cause, Stage
from restow.platform.interface import ConsumerFailing, ConsumerGone, ConsumerUp


def begin(rules: Rules) -> State:
    return State(rules)


def step(state: State, event: Event) -> tuple[State, tuple[Effect, ...]]:
    turn = Turn(state)
    match event:
        case ClockTicked():
            patience.tick(turn, event)
            sentinel.watch(turn)
        case TookOver(epoch):
            synchronize.take_over(turn, epoch)
        case SpeedsMeasured():
            sentinel.measure(turn, event)
        case Received(heard):
            for record in heard:
                hear(turn, record.offset, record.message)
        case ServiceChanged(update, env_digest):
            sentinel.update_service(turn, update, env_digest)
        case ConsumersListed(consumers):
            synchronize.compare(turn, consumers)
        case ConsumerUp(consumer):
            patience.up(turn, consumer)
        case ConsumerFailing(consumer, reason):
            patience.failing(turn, consumer, reason)
        case ConsumerGone(consumer):
            patience.gone(turn, consumer)
        case PlatformRefused(consumer, action, reason):
            patience.refused(turn, consumer, action, reason)
        case _:
            assert_never(event)
    _proceed(turn, event)
    return turn.state, tuple(turn.effects)


def _proceed(turn: Turn, event: Event) -> None:
    """What follows in the stage that we are in."""
    if turn.state.stage is Stage.SYNCHRONIZE and synchronize.is_done(turn.state):
        turn.go(Stage.SENTINEL, Cause.ALL_KNOWN)
    if turn.state.stage is Stage.SENTINEL:
        cause = turn.upset or sentinel.reason_to_look(turn, event)
        if cause is not None:
            turn.go(Stage.REASSIGN, cause)
            reassign.reassign(turn)
            if cause is Cause.OUTDATED and turn.state.stage is Stage.SENTINEL:
                roll.begin(turn)  # nothing else is to be done, and nobody is about to be closed
    elif turn.state.stage is Stage.MANAGE and turn.upset is not None:
        turn.go(Stage.REASSIGN, turn.upset)
        reassign.reassign(turn)
    if turn.state.stage is Stage.MANAGE and manage.is_news(turn.before, turn.state):
        manage.manage(turn)
