"""How long anybody is waited for, and what is done then: repeat, restart, give up. Also what the platform tells.

A command is repeated with its number; a consumer that doesn't answer, or says nothing at all, is restarted on its own
volume, unless the platform has just done so. One that doesn't come back is given up (forced handover): partitions whose
tables refuse late writes are recovered elsewhere at once, all others when the platform says that it is gone. A new one
that doesn't come up is deleted, and the next is created after a pause that grows.

Patience is counted in listened seconds: time in which the brokers, or we ourselves, were away counts against nobody.
"""

from dataclasses import replace

from restow.controller.consumer_events import pause_after
from restow.controller.effects import ListConsumers
from restow.controller.events import ClockTicked
from restow.controller.state import Pause, View
from restow.controller.transition import Turn
from restow.controller.transitions import Cause, Phase
from restow.model import ConsumerId
from restow.platform.interface import CreateConsumer, DeleteConsumer, PlatformAction, RestartConsumer
from restow.text import counted

LONGEST_TICK_S = 5.0
"""A longer time between two ticks is one in which we were paused or blocked; more than this of it doesn't count."""
PLATFORM_AGAIN_AFTER_S = 5.0


def tick(turn: Turn, event: ClockTicked) -> None:
    before_s = turn.state.now_s
    passed_s = 0.0 if before_s is None else event.now_s - before_s
    assert passed_s >= 0, "the clock goes forward"
    listened_s = turn.state.listened_s + (min(passed_s, LONGEST_TICK_S) if event.listening else 0.0)
    turn.set(now_s=event.now_s, listened_s=listened_s)
    if before_s is None:
        turn.set(measured_s=event.now_s, began_s=event.now_s)
    if turn.state.epoch is None:
        return
    if before_s is not None and before_s < turn.state.creation.until_s <= event.now_s:
        turn.set(tolerated=frozenset())  # the pause is over: now more consumers might come up
    if event.now_s - turn.state.listed_s >= turn.state.rules.controller.list_every_s:
        turn.set(listed_s=event.now_s)
        turn.do(ListConsumers())
    for consumer, view in tuple(turn.state.consumers.items()):
        _wait(turn, consumer, view)
        again_s = turn.state.consumers[consumer].again_s
        if again_s is not None and listened_s >= again_s:
            _try_platform_again(turn, consumer)


def _wait(turn: Turn, consumer: ConsumerId, view: View) -> None:
    rules, now_s = turn.state.rules.controller, turn.state.listened_s
    match view.phase:
        case Phase.READY | Phase.ASKED if view.is_starting(now_s, rules.ready_within_s):
            pass  # whatever it was told, it will say that it is ready first
        case Phase.READY:
            if now_s - view.heard_s >= rules.silent_after_s:
                restart(turn, consumer, f"has said nothing for {now_s - view.heard_s:.0f} s")
            elif view.sent and now_s - view.sent[0].since_s >= rules.answer_within_s:
                oldest = view.sent[0]
                if oldest.tries < rules.most_tries:
                    turn.repeat(consumer, oldest)
                else:
                    restart(turn, consumer, f"did not answer command {oldest.command.sequence}")
        case Phase.ASKED:
            if now_s - view.asked_s >= rules.answer_within_s:
                if view.queries < rules.most_tries:
                    turn.ask(consumer)
                else:
                    restart(turn, consumer, "did not tell what it holds")
        case Phase.AWAITED:
            if now_s - view.since_s >= rules.ready_within_s:
                not_ready(turn, consumer, f"was not ready within {rules.ready_within_s:.0f} s")
        case Phase.RESTARTED | Phase.ROLLING:
            if now_s - view.since_s >= rules.ready_within_s:
                has_ended = view.phase is Phase.ROLLING and view.held != view.had
                if view.told and now_s - view.heard_s < rules.silent_after_s and not has_ended:
                    go_on(turn, consumer)
                elif view.phase is Phase.ROLLING:
                    rolled_in_vain(turn, consumer, f"was not ready within {rules.ready_within_s:.0f} s")
                else:
                    give_up(turn, consumer)
        case Phase.LEAVING | Phase.LOST:
            if now_s - max(view.asked_s, view.since_s) >= rules.ready_within_s:
                turn.change(consumer, asked_s=now_s, again_s=None)
                turn.do(DeleteConsumer(consumer))


def restart(turn: Turn, consumer: ConsumerId, words: str) -> None:
    turn.change(consumer, phase=Phase.RESTARTED, settings=turn.state.fingerprint)
    turn.note(consumer, f"{words}; it is restarted")
    turn.do(RestartConsumer(consumer, turn.state.consumer_settings))


def go_on(turn: Turn, consumer: ConsumerId) -> None:
    """It was not restarted, for the platform refused or it was no failure, and it still reports: it is no lost one."""
    now_s = turn.state.listened_s
    sent = tuple(replace(each, since_s=now_s, tries=1) for each in turn.state.consumers[consumer].sent)
    # By which settings it runs, the platform's next list tells.
    turn.change(consumer, phase=Phase.READY, sent=sent, again_s=None, settings=None, had=frozenset())
    turn.note(consumer, "was not restarted and still reports; it goes on")


def not_ready(turn: Turn, consumer: ConsumerId, words: str) -> None:
    """A new one that doesn't come up: it goes, and another is tried after a pause. Those that were created together
    and fail together have failed once."""
    pause_s = _pause_creation(turn)
    turn.note(consumer, f"{words}; it is deleted, and no other is created for {pause_s:.0f} s")
    dismiss(turn, consumer)
    turn.upset = Cause.NOT_READY


def rolled_in_vain(turn: Turn, consumer: ConsumerId, words: str) -> None:
    """One that was well doesn't come up with its new settings. What it had goes to others; they are left as they are,
    and the settings are tried with a new consumer first, after a pause that grows."""
    pause_s = _pause_creation(turn)
    view = turn.change(consumer, had=frozenset())
    turn.set(to_replace=True)
    turn.note(consumer, f"{words}, with its new settings; no other is restarted until a new one comes up with them")
    turn.note(consumer, f"is deleted, and no other is created for {pause_s:.0f} s")
    if view.may_hold:
        give_up(turn, consumer)
    else:
        dismiss(turn, consumer)
        turn.upset = Cause.NOT_READY


def _pause_creation(turn: Turn) -> float:
    """From now on, or for as long as it is paused already; in seconds."""
    state = turn.state
    if state.may_create:
        failures = state.creation.failures + 1
        pause_s = pause_after(failures, state.rules.controller.create_again_after_s)
        turn.set(creation=Pause(failures, state.time_s + pause_s))
    return turn.state.creation.until_s - state.time_s


def dismiss(turn: Turn, consumer: ConsumerId) -> None:
    """It holds nothing, and goes."""
    turn.change(consumer, phase=Phase.LEAVING, asked_s=turn.state.listened_s, again_s=None)
    turn.do(DeleteConsumer(consumer))


def give_up(turn: Turn, consumer: ConsumerId) -> None:
    """Forced handover: what its tables can protect is started elsewhere, the rest waits until it is gone."""
    view = turn.change(consumer, phase=Phase.LOST, asked_s=turn.state.listened_s, again_s=None)
    waiting = sum(not turn.state.refuses_late_writes(partition.topic) for partition in view.may_hold)
    words = f"neither answers nor comes back: it is given up, with {counted(len(view.may_hold), 'partition')}"
    turn.note(consumer, f"{words}, {waiting} of them to be read again when it is gone" if waiting else words)
    turn.do(DeleteConsumer(consumer))
    turn.upset = Cause.HANDOVER


def up(turn: Turn, consumer: ConsumerId) -> None:
    """A new process of it has begun. One that falls again and again before it says a word gains no time by that."""
    turn.note(consumer, "its process runs")
    view = turn.view(consumer)
    if view is not None and (view.up_s is None or view.up_s < view.heard_s):
        turn.change(consumer, up_s=turn.state.listened_s)


def failing(turn: Turn, consumer: ConsumerId, reason: str) -> None:
    view = turn.view(consumer)
    if view is None:
        return
    if view.phase is Phase.AWAITED:
        not_ready(turn, consumer, f"can't be started: {reason}")
    elif view.phase is Phase.READY:
        turn.change(consumer, phase=Phase.RESTARTED)
        turn.note(consumer, f"fails: {reason}; it is waited for")
    elif view.phase is Phase.ROLLING and view.since_s < turn.state.listened_s:  # told at once, it was about the old one
        rolled_in_vain(turn, consumer, f"can't be started: {reason}")


def gone(turn: Turn, consumer: ConsumerId) -> None:
    if turn.view(consumer) is None:
        return
    view = turn.forget(consumer)
    turn.note(consumer, "is gone")
    if view.phase is not Phase.LEAVING:
        turn.upset = Cause.GONE


def refused(turn: Turn, consumer: ConsumerId, action: PlatformAction, reason: str) -> None:
    if turn.view(consumer) is not None:
        turn.change(consumer, again_s=turn.state.listened_s + PLATFORM_AGAIN_AFTER_S)
        turn.note(consumer, f"the platform refused to {action} it: {reason}")


def _try_platform_again(turn: Turn, consumer: ConsumerId) -> None:
    view = turn.change(consumer, again_s=None)
    match view.phase:
        case Phase.AWAITED:
            turn.change(consumer, settings=turn.state.fingerprint)
            turn.do(CreateConsumer(consumer, turn.state.consumer_settings))
        case Phase.RESTARTED | Phase.ROLLING:
            turn.change(consumer, settings=turn.state.fingerprint)
            turn.do(RestartConsumer(consumer, turn.state.consumer_settings))
        case Phase.LEAVING | Phase.LOST:
            turn.do(DeleteConsumer(consumer))
        case Phase.READY | Phase.ASKED:
            pass  # it came up without
