"""A roll restarts the consumers that run with outdated settings, one at a time, with the current ones.

It begins when a plan has changed nothing and every consumer is healthy and has reported. The platform sends the
consumer SIGTERM, on which it stops its partitions cleanly and reports their offsets, and starts it again. Its
partitions wait for it and no other consumer pauses; meanwhile overload is relieved and failures are handled as usual.
In a group that is overloaded again and again, plans for its load come first, but for a while only.
When it is ready its partitions start there again; the next consumer follows after its first report on them.

A consumer that does not become ready halts the roll. Its partitions go to others, and no healthy consumer is restarted
until a new one, created after a backoff, is ready with the same settings: bad settings cost one consumer. It does not
matter how the consumer came by the settings: in the roll, as a new one, or in a restart after a failure. A consumer
that comes up, and can't run a transform or store a topic that others can, holds the roll too. Newer settings are tried
at once.
"""

import json
from typing import Any, Final

from restow.controller.broken_code import transforms
from restow.controller.state import Pause, State, View
from restow.controller.transition import Transition
from restow.controller.transitions import Phase
from restow.model import ConsumerId
from restow.protocol.consumer_settings import ConsumerSettings
from restow.text import counted, listed

OUTDATED: Final = "older settings"
"""The flag that is raised while a consumer runs with outdated settings."""
PATIENCE_S: Final = 60.0
"""How long plans for the load come before the next restart. A group that reads a backlog makes one every 20 s."""
MOST_PATIENCE_S: Final = 180.0
"""Then they come first once more: a consumer that does not report on all that it holds must not block them."""


def change_settings(transition: Transition, settings: ConsumerSettings, env_digest: str) -> None:
    _change(transition, settings=settings, env_digest=env_digest)


def change_code(transition: Transition, code: str | None) -> None:
    _change(transition, code=code)


def _change(transition: Transition, **changes: Any) -> None:
    """Failures with other settings say nothing about these, so they are tried at once."""
    before = transition.state.fingerprint
    transition.set(**changes)
    state = transition.state
    after = state.fingerprint
    if after == before:
        return
    transition.set(creation=Pause(), roll_halted=False, tolerated=frozenset(), failing_before_roll=_failing(state))
    for consumer, view in tuple(transition.state.consumers.items()):
        if view.phase is Phase.ROLLING and view.settings != after:
            transition.note(consumer, f"restarting it once more: {difference(view.settings, after)}")
            since_s = transition.state.listened_s
            transition.change(consumer, since_s=since_s, retry_platform_at_s=None, is_ending=True, is_asked=False)
            transition.restart(consumer)


def outdated(state: State) -> tuple[ConsumerId, ...]:
    """READY consumers known to run with outdated settings."""
    current = (None, state.fingerprint)
    return tuple(
        consumer
        for consumer, view in state.consumers.items()
        if view.phase is Phase.READY and view.settings not in current
    )


def is_due(state: State) -> bool:
    """Whether a consumer is to be restarted and none is in the way: one that was restarted before counts as ready when
    it is certain that its new process is."""
    return state.may_create and bool(outdated(state)) and not regressions(state) and are_settled(state)


def comes_first(state: State) -> bool:
    """Whether other plans wait for the next restart: it has waited for them, every consumer is ready, and at most a
    report is missing."""
    if state.roll_waits_s is None or state.roll_halted or not state.may_create:
        return False
    if state.time_s - state.roll_waits_s < _patience_s(state) or waits(state) or state.is_scaling_frozen:
        return False
    views, grace_s = state.consumers.values(), state.rules.consumer.grace_s
    is_calm = all((_is_ready(view) or view.phase is Phase.LEAVING) and view.is_replaced(grace_s) for view in views)
    return is_calm and not regressions(state)


def _patience_s(state: State) -> float:
    """How long other plans come first: not at all if partitions are refused, and the consumer that is restarted next
    can't run a transform."""
    is_remedy = bool(state.refused) and any(state.consumers[each].broken for each in outdated(state))
    return 0.0 if is_remedy else PATIENCE_S


def are_settled(state: State) -> bool:
    """Whether every consumer is healthy, and none is restarting."""
    grace_s = state.rules.consumer.grace_s
    return all(_is_healthy(view) and view.is_replaced(grace_s) for view in state.consumers.values())


def waits(state: State) -> bool:
    """Whether a person holds the roll up (holds.py). Not while partitions are refused: new settings or code may be what
    makes them readable."""
    return state.only_recovers and not state.refused


def halt_if_it_shows_broken_code(transition: Transition, consumer: ConsumerId) -> None:
    """A consumer is closed. If it runs with the current settings, and can't run a transform with them, no other shows
    it: a new one must try them first."""
    view = transition.state.consumers[consumer]
    if view.broken and view.settings == transition.state.fingerprint and outdated(transition.state):
        transition.set(roll_halted=True)


def wants_canary(state: State) -> bool:
    """Whether the roll is halted and a new consumer should try the settings, at no risk to the healthy ones."""
    return state.roll_halted and is_due(state)


def begin(transition: Transition) -> None:
    state = transition.state
    if state.roll_halted:
        return  # the plan should have created a canary, and could not
    older, wanted = outdated(state), state.fingerprint
    consumer = min(older, key=lambda each: _urgency(state, each))
    view = state.consumers[consumer]
    present = _present(state)
    change = difference(view.settings, wanted)
    restart_one(transition, consumer, f"restarting it ({present - len(older) + 1} of {present}): {change}")


def _urgency(state: State, consumer: ConsumerId) -> tuple[bool, int, ConsumerId]:
    """The least is restarted first: a consumer that can't run a transform, because partitions wait for new code. In a
    paused group, then the consumer with the fewest partitions, because these pause."""
    view = state.consumers[consumer]
    return not view.broken, len(view.held) if state.only_recovers else 0, consumer


def restart_one(transition: Transition, consumer: ConsumerId, words: str, is_asked: bool = False) -> None:
    """Restarts a consumer, whose partitions wait for it."""
    state = transition.state
    transition.note(consumer, words)
    held = state.consumers[consumer].held
    transition.change(consumer, phase=Phase.ROLLING, held_before_roll=held, is_ending=True, is_asked=is_asked)
    transition.restart(consumer)
    transition.set(failing_before_roll=_failing(state))


def flag_progress(transition: Transition) -> None:
    state = transition.state
    rolling = sum(view.phase is Phase.ROLLING and not view.is_asked for view in state.consumers.values())
    older = len(outdated(state))
    left = older + rolling
    if not older or rolling:
        if state.roll_waits_s is not None:
            transition.set(roll_waits_s=None)
    elif state.roll_waits_s is None or state.time_s - state.roll_waits_s >= MOST_PATIENCE_S:
        transition.set(roll_waits_s=state.time_s)
    if not left:
        transition.clear(OUTDATED, "every consumer runs with the current settings")
        return
    words = f"{left} of {counted(_present(state), 'consumer')} still to be restarted with new settings"
    if waits(state):
        why = "the group is paused" if state.is_paused else "decisions are only recommended"
        words += f"; they wait, because {why}"
    elif state.roll_halted:
        words += "; halted: the last consumer with them did not start, a new one must be ready with them first"
    elif lost := regressions(state):
        words += f"; held: a consumer with new ones can't use {listed(lost, 'topic')}, and those with older ones can"
    transition.flag(OUTDATED, words)


def difference(before: str | None, after: str) -> str:
    """What differs between two fingerprints, in words, without the values of environment variables."""
    old, new = _read(before), _read(after)
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return ", ".join(_changed(name, old.get(name), new.get(name)) for name in changed) or "other settings"


def code_in(fingerprint: str | None) -> object:
    """The digest of the code in a fingerprint; None if it has none."""
    return _read(fingerprint).get("code")


def _changed(name: str, old: object, new: object) -> str:
    if name == "env":
        names, others = (str(each or "").partition(" ")[0] for each in (old, new))
        return f"values of {names}" if names == others else f"variables {names or 'none'} -> {others or 'none'}"
    return f"{name} {'none' if old is None else old} -> {'none' if new is None else new}"


def _read(fingerprint: str | None) -> dict[str, object]:
    """Empty if it is no fingerprint: a platform may list any text."""
    try:
        plain = json.loads(fingerprint or "{}")
    except (ValueError, RecursionError):
        plain = {}
    return plain if isinstance(plain, dict) else {}


def _is_healthy(view: View) -> bool:
    """It has reported on all that it holds, so that what it can't store is known. A roll does not wait for a consumer
    that leaves."""
    has_reported = view.report is not None and view.report.lag_records.keys() >= view.held
    return (_is_ready(view) and has_reported) or view.phase is Phase.LEAVING


def _is_ready(view: View) -> bool:
    return view.phase is Phase.READY and view.has_reported_holdings and not view.sent


def _failing(state: State) -> frozenset[str]:
    return frozenset(partition.topic for partition in state.failing)


def regressions(state: State) -> tuple[str, ...]:
    """The topics that a consumer with the current settings can't run the transform of, and one with older settings
    can; and those that it can't store, and that could be stored before."""
    current = state.fingerprint
    newer = [view for view in state.consumers.values() if view.phase is Phase.READY and view.settings == current]
    broken = frozenset[str | None]().union(*(view.broken for view in newer))
    if not broken and not state.failing:
        return ()
    read = {topic for consumer in outdated(state) for topic in state.consumers[consumer].definitions}
    lost = {topic for topic in read if not transforms(state, (topic,)).isdisjoint(broken)}
    failing = {partition.topic for view in newer for partition in view.held & state.failing.keys()}
    return tuple(sorted(lost | (failing - state.failing_before_roll)))


def _present(state: State) -> int:
    return sum(view.phase not in (Phase.LEAVING, Phase.LOST) for view in state.consumers.values())
