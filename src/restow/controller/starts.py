"""Starts that fail or take too long.

A consumer that does not start, or does not become ready with new settings, is deleted; the next is created after a
backoff. The current settings may be the cause, so a roll halts until a consumer is ready with them.

The group keeps its `least_consumers`: a consumer that is merely late, without which there would be fewer, stays and is
waited for, longer after each failure. Plans leave it out until it is ready, so that no partition waits for it. And the
backoff does not grow while there are fewer.
"""

from dataclasses import replace
from typing import Final

from restow.backoff import Backoff
from restow.controller import rise
from restow.controller.removal import NO_ANSWER, delete, give_up
from restow.controller.state import LONGEST_PAUSE, Pause, State, View
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase
from restow.model import ConsumerId

FAILED_STARTS: Final = "failed starts"
"""The flag that is raised while consumers do not start, or not within `ready_within_s`."""
OTHERS_CAN: Final = "others have code that can be run"


def timed_out(transition: Transition, consumer: ConsumerId) -> None:
    """A new consumer, or one in a roll, is not ready within `ready_within_s`."""
    state = transition.state
    view, within_s = state.consumers[consumer], state.rules.controller.ready_within_s
    words = f"not ready within {within_s:.0f} s"
    if _is_kept(state, consumer, view):
        if not view.is_late:
            _keep(transition, consumer, words)
    elif view.phase is Phase.ROLLING:
        roll_failed(transition, consumer, words)
    else:
        creation_failed(transition, consumer, words)
    if not view.is_late:
        hint = "if a start takes longer than that, raise [controller] ready_within_s"
        transition.flag(FAILED_STARTS, f"consumers are {words}; {hint}")


def failing(transition: Transition, consumer: ConsumerId, reason: str) -> None:
    """The platform can't start a new consumer, or one in a roll."""
    words = f"can't be started: {reason}"
    if transition.state.consumers[consumer].phase is Phase.ROLLING:
        roll_failed(transition, consumer, words)
    else:
        creation_failed(transition, consumer, words)
    transition.flag(FAILED_STARTS, f"a consumer {words}")


def lost(transition: Transition, consumer: ConsumerId) -> None:
    """A consumer did not come back from a restart."""
    _halt_roll(transition, consumer)
    give_up(transition, consumer)


def succeeded(transition: Transition, consumer: ConsumerId, before: View) -> None:
    """A new consumer, or one in a roll, is ready. `before` is the view before its ConsumerReady."""
    state = transition.state
    if before.phase is Phase.AWAITED:
        rise.started(transition, state.listened_s - before.since_s)
    is_proof = before.phase is Phase.AWAITED or not before.is_ending
    if is_proof and before.settings == state.fingerprint:
        transition.set(creation=Pause(), roll_halted=False)
    if before.is_late:
        took_s, within_s = _waited_s(state, before), state.rules.controller.ready_within_s
        words = f"consumer {consumer} was ready after {took_s:.0f} s, and [controller] ready_within_s is {within_s:g}"
        transition.flag(FAILED_STARTS, f"{words}; raise it")
    else:
        transition.clear(FAILED_STARTS, f"consumer {consumer} is ready")


def shorten_pause(transition: Transition) -> None:
    """Limits the backoff to its first pause while there are too few consumers. Longer pauses spare the platform, but
    must not keep the group small when starts succeed again."""
    state = transition.state
    longest_s = state.time_s + state.rules.controller.create_again_after_s
    if state.creation.until_s > longest_s and state.has_too_few:
        transition.set(creation=replace(state.creation, until_s=longest_s))


def admit_late(transition: Transition) -> bool:
    """Lets the next plan have the consumers that became ready late. Returns whether there are any."""
    ready = [c for c, view in transition.state.consumers.items() if view.is_late and view.phase is Phase.READY]
    for consumer in ready:
        transition.change(consumer, is_late=False)
    return bool(ready)


def creation_failed(transition: Transition, consumer: ConsumerId, words: str) -> None:
    """Deletes a new consumer that did not become ready; the next is created after a backoff. Consumers that were
    created together and fail together count as one failure."""
    _back_off(transition)
    _halt_roll(transition, consumer)
    delete(transition, consumer)
    shorten_pause(transition)
    transition.warn(consumer, f"{words}; deleting it, no consumer is created for {_pause_s(transition.state):.0f} s")
    transition.replan_cause = Cause.NOT_READY


def code_failed(transition: Transition, consumer: ConsumerId, before: Phase, words: str) -> None:
    """Deletes a consumer that came up in this phase with code that can't be used, while others have code that can."""
    match before:
        case Phase.AWAITED:
            creation_failed(transition, consumer, words)
        case Phase.ROLLING:
            roll_failed(transition, consumer, words, OTHERS_CAN)
        case _:
            _back_off(transition)
            _halt_roll(transition, consumer)
            transition.warn(consumer, words)
            _delete_or_give_up(transition, consumer, OTHERS_CAN)


def roll_failed(transition: Transition, consumer: ConsumerId, words: str, why: str = NO_ANSWER) -> None:
    """A healthy consumer did not become ready after its restart. Its partitions go to other consumers, which keep their
    settings; after a backoff a new consumer tries the current ones first."""
    _back_off(transition)
    transition.change(consumer, held_before_roll=frozenset())
    _halt_roll(transition, consumer)
    settings = "after its restart" if transition.state.consumers[consumer].is_asked else "with its new settings"
    transition.warn(consumer, f"{words} {settings}; no other is restarted until a new consumer is ready with them")
    _delete_or_give_up(transition, consumer, why)


def _delete_or_give_up(transition: Transition, consumer: ConsumerId, why: str) -> None:
    if transition.state.consumers[consumer].may_hold:
        give_up(transition, consumer, why)
    else:
        delete(transition, consumer)
        transition.replan_cause = Cause.NOT_READY
    shorten_pause(transition)
    transition.warn(consumer, f"deleting it, no consumer is created for {_pause_s(transition.state):.0f} s")


def _is_kept(state: State, consumer: ConsumerId, view: View) -> bool:
    """Whether a late consumer stays: it holds nothing, the group has too few without it, and it has not been waited for
    too long."""
    others = (other for number, other in state.consumers.items() if number != consumer)
    there = sum(other.is_late or other.phase in _WORKING for other in others)
    if view.may_hold or there >= state.least_consumers:
        return False
    within_s = state.rules.controller.ready_within_s
    longest = Backoff(within_s, LONGEST_PAUSE * within_s)
    # Another's success resets the failures; this one's lateness is still one.
    return _waited_s(state, view) < longest.pause_s(max(1, state.creation.failures) + 2)


_WORKING: Final = (Phase.READY, Phase.ASKED, Phase.RESTARTED, Phase.CRASHED, Phase.ROLLING)


def _keep(transition: Transition, consumer: ConsumerId, words: str) -> None:
    _back_off(transition)
    _halt_roll(transition, consumer)
    transition.change(consumer, is_late=True, held_before_roll=frozenset())
    least = transition.state.least_consumers
    transition.warn(consumer, f"{words}; waiting for it, without it there are fewer than least_consumers ({least})")
    transition.replan_cause = Cause.NOT_READY


def _waited_s(state: State, view: View) -> float:
    return state.listened_s - max(view.since_s, view.asked_s)


def _back_off(transition: Transition) -> None:
    """Pauses the creation of consumers, unless it is paused already."""
    state = transition.state
    if state.may_create:
        first_s = state.rules.controller.create_again_after_s
        transition.set(creation=state.creation.after_failure(first_s, state.time_s))


def _pause_s(state: State) -> float:
    return state.creation.until_s - state.time_s


def _halt_roll(transition: Transition, consumer: ConsumerId) -> None:
    """The consumer did not start or come back. If it has the current settings, they may be why."""
    if transition.state.consumers[consumer].settings == transition.state.fingerprint:
        transition.set(roll_halted=True)
