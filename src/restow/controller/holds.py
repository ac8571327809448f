"""Pause and recommend only: with these, people keep the controller from acting on its decisions.

While the group is paused nothing is scaled, moved for load or restarted with new settings. In *recommend only* every
decision is made, explained and published, and not carried out. Both leave recovery alone: partitions that no consumer
reads are given to consumers, created if need be; failed consumers are restarted; topics that are added, removed or
changed are followed; and while partitions are refused, consumers are restarted with new settings and code, which may be
the remedy. A partition whose Stop was sent is started again where the plan wanted it.

A pause ends by the wall clock, or by `restow resume`. If that clock jumps, the pause ends early or late, and nothing
else happens.
"""

from dataclasses import replace

from restow.controller.effects import Noted
from restow.controller.state import State
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Stage
from restow.protocol.checks import utc_s
from restow.protocol.messages.desired import GroupPause, RecommendOnly
from restow.text import clock, said_by

PAUSED, RECOMMEND = "paused", "recommend only"
LEFT_ALONE = "nothing is scaled, moved for load or restarted with new settings; unread partitions are recovered"


def pause(transition: Transition, record: GroupPause, offset: int | None) -> None:
    before = transition.state.desired.pause
    wanted = record if record.paused and not has_passed(transition.state, record.until) else None
    _set(transition, pause=wanted)
    if wanted is not None:
        _hold(transition, PAUSED)
        answer = f"paused {until_words(wanted.until)}"
    elif record.paused:
        answer = f"not paused: its end, {clock(record.until or '')}, has passed"
    else:
        answer = "resumed" if before is not None else "the group was not paused"
    _answer(transition, offset, answer, taken=wanted is not None or not record.paused)
    if wanted is None and before is not None:
        _release(transition, PAUSED, f"resumed{said_by(record.by, record.reason)}")


def recommend(transition: Transition, record: RecommendOnly, offset: int | None) -> None:
    before = transition.state.desired.recommend
    _set(transition, recommend=record if record.on else None)
    if record.on:
        _hold(transition, RECOMMEND)
        _answer(transition, offset, "decisions are recommended from now on, and not carried out")
        return
    was = "decisions are carried out from now on" if before is not None else "decisions were carried out already"
    _answer(transition, offset, was)
    if before is not None:
        words = f"decisions are carried out again{said_by(record.by, record.reason)}"
        _release(transition, RECOMMEND, words)


def tick(transition: Transition) -> None:
    """Ends a pause whose time has come."""
    paused = transition.state.desired.pause
    if paused is not None and has_passed(transition.state, paused.until):
        _set(transition, pause=None)
        _release(transition, PAUSED, "the pause has ended, as it was set to")


def announce(transition: Transition) -> None:
    """Notes what holds the group when a starting controller has come to know it. The service topic may have many
    pauses that are over, which no operator needs to read of again."""
    desired = transition.state.desired
    for name, held in ((PAUSED, desired.pause), (RECOMMEND, desired.recommend)):
        if held is not None:
            transition.do(Noted("flag", name, _begun(transition.state, name)))


def look_again(transition: Transition, cause: Cause) -> None:
    """Plans at once in Sentinel, and otherwise as soon as the controller is there."""
    state = transition.state
    transition.set(tolerated=frozenset(), replanned_s=state.time_s - state.rules.controller.look_every_s)
    if state.stage is Stage.SENTINEL:
        transition.replan_cause = transition.replan_cause or cause


def has_passed(state: State, until: str | None) -> bool:
    return until is not None and state.utc_s is not None and state.utc_s >= utc_s(until)


def pause_words(paused: GroupPause) -> str:
    """until 2026-03-01 14:00:00 UTC, by anna@host-a: maintenance."""
    return f"{until_words(paused.until)}{said_by(paused.by, paused.reason)}"


def until_words(until: str | None) -> str:
    return "until it is resumed" if until is None else f"until {clock(until)}"


def _set(transition: Transition, **changes: GroupPause | RecommendOnly | None) -> None:
    transition.set(desired=replace(transition.state.desired, **changes))  # type: ignore[arg-type]  # by name of field


def _answer(transition: Transition, offset: int | None, words: str, taken: bool = True) -> None:
    transition.set(desired=transition.state.desired.answered(offset, taken, words))


def _hold(transition: Transition, name: str) -> None:
    """A plan under way is cut down to what recovery needs."""
    if transition.state.stage is not Stage.SYNCHRONIZE:
        transition.do(Noted("flag", name, _begun(transition.state, name)))
    if transition.state.stage is Stage.MANAGE:
        transition.replan_cause = Cause.HELD


def _begun(state: State, name: str) -> str:
    paused, recommended = state.desired.pause, state.desired.recommend
    if name == PAUSED and paused is not None:
        return f"{pause_words(paused)}; {LEFT_ALONE}"
    assert recommended is not None
    by = said_by(recommended.by, recommended.reason)
    return f"decisions are recommended and not carried out{by}; {LEFT_ALONE}"


def _release(transition: Transition, name: str, words: str) -> None:
    if transition.state.stage is not Stage.SYNCHRONIZE:
        transition.do(Noted("cleared", name, words))
    transition.set(recommended=None)
    look_again(transition, Cause.RESUMED)
