"""Timeouts: how long the controller waits for a consumer, and what it does then: repeat, restart, give up.

An unanswered command is repeated with its sequence number. A consumer that does not answer, or is silent, is restarted
on its own volume, unless the platform has just done so. If it does not come back it is given up (forced handover):
partitions whose tables refuse late writes are recovered elsewhere at once, all others when the platform reports it
gone. A new consumer that does not become ready is deleted, and the next is created after a backoff.

Timeouts count listened seconds: an outage of the brokers, or of the controller itself, restarts no consumer.
"""

from dataclasses import replace
from typing import Final

from restow.controller.effects import ListConsumers
from restow.controller.events import ClockTicked
from restow.controller.state import View
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase
from restow.model import ConsumerId
from restow.platform.interface import CreateConsumer, DeleteConsumer
from restow.text import counted

LONGEST_TICK_S: Final = 5.0
"""If more time passes between two ticks, this process was paused or blocked; only this much of it counts."""


def tick(transition: Transition, event: ClockTicked) -> None:
    before_s = transition.state.now_s
    passed_s = 0.0 if before_s is None else event.now_s - before_s
    assert passed_s >= 0, "the clock goes forward"
    listened_s = transition.state.listened_s + (min(passed_s, LONGEST_TICK_S) if event.listening else 0.0)
    transition.set(now_s=event.now_s, listened_s=listened_s)
    if before_s is None:
        transition.set(measured_s=event.now_s, began_s=event.now_s)
    if transition.state.epoch is None:
        return
    if before_s is not None and before_s < transition.state.creation.until_s <= event.now_s:
        transition.set(tolerated=frozenset())  # the backoff is over: more consumers might become ready now
    if event.now_s - transition.state.listed_s >= transition.state.rules.controller.list_every_s:
        transition.set(listed_s=event.now_s)
        transition.do(ListConsumers())
    for consumer, view in tuple(transition.state.consumers.items()):
        _wait(transition, consumer, view)
        retry_at_s = transition.state.consumers[consumer].retry_platform_at_s
        if retry_at_s is not None and listened_s >= retry_at_s:
            _retry_platform(transition, consumer)


def _wait(transition: Transition, consumer: ConsumerId, view: View) -> None:
    rules, now_s = transition.state.rules.controller, transition.state.listened_s
    match view.phase:
        case Phase.READY | Phase.ASKED if view.is_starting(now_s, rules.ready_within_s):
            pass  # its next message is a ConsumerReady, whatever it was sent
        case Phase.READY:
            if now_s - view.heard_s >= rules.silent_after_s:
                restart(transition, consumer, f"silent for {now_s - view.heard_s:.0f} s")
            elif view.sent and now_s - view.sent[0].since_s >= rules.answer_within_s:
                oldest = view.sent[0]
                if oldest.tries < rules.most_tries:
                    transition.repeat(consumer, oldest)
                else:
                    restart(transition, consumer, f"did not answer command {oldest.command.sequence}")
        case Phase.ASKED:
            if now_s - view.asked_s >= rules.answer_within_s:
                if view.queries < rules.most_tries:
                    transition.query(consumer)
                else:
                    restart(transition, consumer, "did not answer the query for its state")
        case Phase.AWAITED:
            if now_s - view.since_s >= rules.ready_within_s:
                creation_failed(transition, consumer, f"not ready within {rules.ready_within_s:.0f} s")
        case Phase.RESTARTED | Phase.ROLLING:
            # The time counts from the request that the platform accepted; while it refuses, from the first.
            is_refused = view.retry_platform_at_s is not None
            begun_s = view.since_s if is_refused else max(view.since_s, view.asked_s)
            if now_s - begun_s >= rules.ready_within_s:
                _restart_timed_out(transition, consumer, view)
        case Phase.LEAVING | Phase.LOST:
            if now_s - max(view.asked_s, view.since_s) >= rules.ready_within_s:
                transition.change(consumer, asked_s=now_s, retry_platform_at_s=None)
                transition.do(DeleteConsumer(consumer))


def _restart_timed_out(transition: Transition, consumer: ConsumerId, view: View) -> None:
    rules, now_s = transition.state.rules.controller, transition.state.listened_s
    has_ended = view.phase is Phase.ROLLING and view.held != view.held_before_roll
    if view.has_reported_holdings and now_s - view.heard_s < rules.silent_after_s and not has_ended:
        resume(transition, consumer)
    elif view.phase is Phase.ROLLING:
        roll_failed(transition, consumer, f"not ready within {rules.ready_within_s:.0f} s")
    else:
        give_up(transition, consumer)


def restart(transition: Transition, consumer: ConsumerId, words: str) -> None:
    transition.change(consumer, phase=Phase.RESTARTED, is_ending=False)
    transition.warn(consumer, f"{words}; restarting it")
    transition.restart(consumer)


def resume(transition: Transition, consumer: ConsumerId) -> None:
    """The consumer still reports: it was never restarted, because the platform refused or it had not failed."""
    now_s = transition.state.listened_s
    sent = tuple(replace(each, since_s=now_s, tries=1) for each in transition.state.consumers[consumer].sent)
    transition.change(
        consumer,
        phase=Phase.READY,
        sent=sent,
        retry_platform_at_s=None,
        settings=None,  # the platform's next list has them
        held_before_roll=frozenset(),
    )
    transition.note(consumer, "not restarted and still reporting; it continues")


def creation_failed(transition: Transition, consumer: ConsumerId, words: str) -> None:
    """Deletes a new consumer that did not become ready; the next is created after a backoff. Consumers that were
    created together and fail together count as one failure."""
    pause_s = _back_off(transition)
    _halt_roll(transition, consumer)
    transition.warn(consumer, f"{words}; deleting it, no consumer is created for {pause_s:.0f} s")
    delete(transition, consumer)
    transition.replan_cause = Cause.NOT_READY


def roll_failed(transition: Transition, consumer: ConsumerId, words: str) -> None:
    """A healthy consumer did not become ready with its new settings. Its partitions go to other consumers, which keep
    their settings; after a backoff a new consumer tries the new ones first."""
    pause_s = _back_off(transition)
    view = transition.change(consumer, held_before_roll=frozenset())
    _halt_roll(transition, consumer)
    transition.warn(
        consumer, f"{words} with its new settings; no other is restarted until a new consumer is ready with them"
    )
    transition.warn(consumer, f"deleting it, no consumer is created for {pause_s:.0f} s")
    if view.may_hold:
        give_up(transition, consumer)
    else:
        delete(transition, consumer)
        transition.replan_cause = Cause.NOT_READY


def _back_off(transition: Transition) -> float:
    """Pauses the creation of consumers, unless it is paused already. Returns the seconds until the end of the pause."""
    state = transition.state
    if state.may_create:
        first_s = state.rules.controller.create_again_after_s
        transition.set(creation=state.creation.after_failure(first_s, state.time_s))
    return transition.state.creation.until_s - state.time_s


def _halt_roll(transition: Transition, consumer: ConsumerId) -> None:
    """The consumer did not start or come back. If it has the current settings, they may be why."""
    if transition.state.consumers[consumer].settings == transition.state.fingerprint:
        transition.set(roll_halted=True)


def delete(transition: Transition, consumer: ConsumerId) -> None:
    """The consumer must hold nothing."""
    transition.change(consumer, phase=Phase.LEAVING, asked_s=transition.state.listened_s, retry_platform_at_s=None)
    transition.do(DeleteConsumer(consumer))


def give_up(transition: Transition, consumer: ConsumerId) -> None:
    """Forced handover: partitions that their tables protect start elsewhere, the others wait until it is gone."""
    view = transition.change(consumer, phase=Phase.LOST, asked_s=transition.state.listened_s, retry_platform_at_s=None)
    _halt_roll(transition, consumer)
    waiting = sum(not transition.state.refuses_late_writes(partition.topic) for partition in view.may_hold)
    words = f"neither answers nor comes back; giving it up with {counted(len(view.may_hold), 'partition')}"
    transition.warn(consumer, f"{words}, {waiting} of them wait until it is gone" if waiting else words)
    transition.do(DeleteConsumer(consumer))
    transition.replan_cause = Cause.HANDOVER


def _retry_platform(transition: Transition, consumer: ConsumerId) -> None:
    """Repeats the request that the platform refused."""
    view = transition.change(consumer, retry_platform_at_s=None)
    match view.phase:
        case Phase.AWAITED:
            transition.change(consumer, settings=transition.state.fingerprint)
            transition.do(CreateConsumer(consumer, transition.state.consumer_settings))
        case Phase.RESTARTED | Phase.ROLLING:
            transition.restart(consumer)
        case Phase.LEAVING | Phase.LOST:
            transition.do(DeleteConsumer(consumer))
        case Phase.READY | Phase.ASKED:
            pass  # no longer needed
