"""Restarts that people ask for (`restow restart`), carried out in the way of a roll.

The record is a state and not an act: consumer 2 must not run as incarnation 790 or earlier. A later controller that
reads it again finds it fulfilled, so that no consumer is restarted twice for one record. The consumer is restarted only
while exactly that incarnation runs. A record that names an incarnation which never existed, because it was written by
hand or is older than the controller topic, restarts nothing.

One consumer at a time is restarted, whether for new settings or for a person, and only while every consumer is healthy;
an unhealthy one is restarted anyway (timeouts.py). Its partitions wait for it. It comes back with the current settings.
If a consumer failed to start with these, a new one must start with them first. Restarts work while the group is paused
or only recommends, and without speeds.
"""

from restow.controller import roll
from restow.controller.pin_checks import NOT_READY, no_such_consumer
from restow.controller.state import State
from restow.controller.transition import Transition
from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId
from restow.protocol.messages.desired import ConsumerRestart
from restow.text import said_by


def change(transition: Transition, record: ConsumerRestart, offset: int | None) -> None:
    """A record of the service topic. What a starting controller reads was answered before."""
    desired = transition.state.desired.with_restart(record)
    if record.up_to is not None and transition.state.stage is not Stage.SYNCHRONIZE:
        is_taken, words = _answer(transition.state, record, record.up_to)
        desired = (desired if is_taken else desired.without_restart(record.consumer)).answered(offset, is_taken, words)
        transition.note(record.consumer, f"a restart is requested{said_by(record.by, record.reason)}; {words}")
    transition.set(desired=desired)


def asked(state: State) -> tuple[ConsumerId, ...]:
    """The consumers whose present process people want replaced, and that are not restarting yet."""
    return tuple(
        consumer
        for consumer, record in state.desired.restarts.items()
        if (view := state.consumers.get(consumer)) is not None
        and view.phase is Phase.READY
        and view.incarnation == record.up_to
    )


def is_due(state: State) -> bool:
    return _next(state) is not None


def wants_canary(state: State) -> bool:
    """Whether the last consumer did not start with the settings that the restarted one would come back with."""
    return state.roll_halted and is_due(state)


def waits_for(state: State) -> str:
    """What comes before the next restart, in words."""
    if not state.roll_halted:
        return "every consumer is healthy"
    held = "; none is created while the group is paused or only recommends" if state.only_recovers else ""
    return f"a new consumer is ready, because the last one that started was not{held}"


def begin(transition: Transition) -> None:
    """After a plan that changes nothing."""
    state = transition.state
    consumer = _next(state)
    if consumer is None or state.roll_halted:
        return  # the plan should have created a canary, and could not
    record, settings = state.desired.restarts[consumer], state.consumers[consumer].settings
    change = "" if settings in (None, state.fingerprint) else f"; {roll.difference(settings, state.fingerprint)}"
    roll.restart_one(
        transition, consumer, f"restarting it on request{said_by(record.by, record.reason)}{change}", is_asked=True
    )


def _next(state: State) -> ConsumerId | None:
    """The consumer to restart now, if none is in the way."""
    if not state.desired.restarts or not state.may_create or not roll.are_settled(state):
        return None
    outdated, waits = roll.outdated(state), bool(roll.regressions(state))
    return next((consumer for consumer in asked(state) if not (waits and consumer in outdated)), None)


def _answer(state: State, record: ConsumerRestart, up_to: int) -> tuple[bool, str]:
    """Whether the record is taken, and words for the person who wrote it."""
    consumer = record.consumer
    view = state.consumers.get(consumer)
    if view is None:
        return False, f"refused: {no_such_consumer(state, consumer)}"
    if view.phase in (Phase.LEAVING, Phase.LOST) or view.incarnation is None:
        return False, f"refused: consumer {consumer} {NOT_READY.get(view.phase, 'has not started yet')}"
    if view.incarnation < up_to:
        return False, f"refused: consumer {consumer} is at incarnation {view.incarnation}, and never was at {up_to}"
    if view.incarnation > up_to:
        return True, f"taken: consumer {consumer} has restarted since, and nothing is left to do"
    if view.phase is not Phase.READY:
        return True, f"taken: consumer {consumer} is restarting already"
    return True, f"taken: consumer {consumer} is restarted after this: {waits_for(state)}"
