"""Timeouts: how long the controller waits for a consumer, and what it does then: repeat, restart, give up.

An unanswered command is repeated with its sequence number, for the partitions without an answer. A consumer that does
not answer, or is silent, is restarted on its own volume, unless the platform has just done so. If it does not come back
it is given up (forced handover): partitions whose tables refuse late writes are recovered elsewhere at once, all others
when the platform reports it gone. What becomes of a new consumer that is not ready in time, starts.py decides; of one
that is late after a crash, crashes.py.

Timeouts count listened seconds: an outage of the brokers, or of the controller itself, restarts no consumer.
"""

from dataclasses import replace
from typing import Final

from restow.controller import crashes, starts
from restow.controller.effects import ListConsumers
from restow.controller.events import ClockTicked
from restow.controller.state import View
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase
from restow.model import ConsumerId
from restow.platform.interface import CreateConsumer, DeleteConsumer

LONGEST_TICK_S: Final = 5.0
"""If more time passes between two ticks, this process was paused or blocked; only this much of it counts."""


def tick(transition: Transition, event: ClockTicked) -> None:
    before_s = transition.state.now_s
    passed_s = 0.0 if before_s is None else event.now_s - before_s
    assert passed_s >= 0, "the clock goes forward"
    may_create = transition.state.may_create
    listened_s = transition.state.listened_s + (min(passed_s, LONGEST_TICK_S) if event.listening else 0.0)
    utc_s = transition.state.utc_s if event.utc_s is None else event.utc_s
    transition.set(now_s=event.now_s, listened_s=listened_s, utc_s=utc_s)
    if before_s is None:
        transition.set(measured_s=event.now_s, began_s=event.now_s)
    if transition.state.epoch is None:
        return
    starts.shorten_pause(transition)
    if not may_create and transition.state.may_create:  # the backoff is over: more consumers might become ready now
        transition.set(tolerated=frozenset())
        if transition.state.has_too_few:
            transition.replan_cause = Cause.NOT_READY
    if event.now_s - transition.state.listed_s >= transition.state.rules.controller.list_every_s:
        transition.set(listed_s=event.now_s)
        transition.do(ListConsumers())
    silent_after_s = transition.state.rules.controller.silent_after_s
    views = transition.state.consumers.items()
    restless = [each for each in views if not _is_calm(each[1], listened_s, silent_after_s)]
    for consumer, view in sorted(restless, key=_new_ones_last):
        _wait(transition, consumer, view)
        retry_at_s = transition.state.consumers[consumer].retry_platform_at_s
        if retry_at_s is not None and listened_s >= retry_at_s:
            _retry_platform(transition, consumer)


def _is_calm(view: View, now_s: float, silent_after_s: float) -> bool:
    """Whether nothing is waited for, as with nearly all consumers of a large group."""
    return (
        view.phase is Phase.READY
        and not view.sent
        and view.retry_platform_at_s is None
        and now_s - view.heard_s < silent_after_s
    )


def _new_ones_last(item: tuple[ConsumerId, View]) -> bool:
    """Whether a late new consumer is deleted depends on how many others are left: those are judged first."""
    return item[1].phase is Phase.AWAITED


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
                starts.timed_out(transition, consumer)
        case Phase.RESTARTED | Phase.CRASHED | Phase.ROLLING:
            # The time counts from the request that the platform accepted; while it refuses, from the first.
            is_refused = view.retry_platform_at_s is not None
            begun_s = view.since_s if is_refused else max(view.since_s, view.asked_s)
            if now_s - begun_s >= rules.ready_within_s:
                _restart_timed_out(transition, consumer, view)
            elif view.phase is Phase.RESTARTED:
                crashes.wait(transition, consumer, view)
        case Phase.LEAVING | Phase.LOST:
            if now_s - max(view.asked_s, view.since_s) >= rules.ready_within_s:
                transition.change(consumer, asked_s=now_s, retry_platform_at_s=None)
                transition.do(DeleteConsumer(consumer))


def _restart_timed_out(transition: Transition, consumer: ConsumerId, view: View) -> None:
    rules, now_s = transition.state.rules.controller, transition.state.listened_s
    has_ended = view.phase is Phase.ROLLING and (not view.is_ending or view.held != view.held_before_roll)
    if view.has_reported_holdings and now_s - view.heard_s < rules.silent_after_s and not has_ended:
        resume(transition, consumer)
    elif view.phase is Phase.ROLLING:
        starts.timed_out(transition, consumer)
    else:
        starts.lost(transition, consumer)


def restart(transition: Transition, consumer: ConsumerId, words: str) -> None:
    transition.change(consumer, phase=Phase.RESTARTED, is_ending=False)
    transition.warn(consumer, f"{words}; restarting it")
    transition.restart(consumer)


def resume(transition: Transition, consumer: ConsumerId) -> None:
    """The consumer still reports: it was never restarted, because the platform refused or it had not failed.

    Or its process hung, can be killed only now, and its next one is on its way. So the next consumer of a roll waits
    until this one is heard after a grace period from now (`View.is_replaced`)."""
    now_s, phase = transition.state.listened_s, transition.state.consumers[consumer].phase
    if phase is Phase.CRASHED or (phase is Phase.ROLLING and transition.state.target is not None):
        transition.replan_cause = Cause.DISAGREEMENT  # no plan has it
    sent = tuple(replace(each, since_s=now_s, tries=1) for each in transition.state.consumers[consumer].sent)
    transition.change(
        consumer,
        phase=Phase.READY,
        sent=sent,
        asked_s=now_s,
        retry_platform_at_s=None,
        settings=None,  # the platform's next list has them
        held_before_roll=frozenset(),
    )
    transition.note(consumer, "not restarted and still reporting; it continues")


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
        case Phase.READY | Phase.ASKED | Phase.CRASHED:
            pass  # no longer needed
