"""Consumers that run by older settings are restarted with those that hold now, one at a time. This is called a roll.

It begins when a look has found nothing else to do, and every consumer is well and has reported. The platform ends the
consumer with SIGTERM, on which it stops its partitions cleanly and tells where each stands, and starts it again. What
it had waits for it, nobody else pauses, and all else goes on meanwhile: overload is relieved and failures are mended as
ever. As soon as it is ready its partitions are started there again; the next one follows when it has reported.

A consumer that doesn't come up stops the roll. Its partitions go to others, and no consumer that works is restarted
until a new one, created after a pause that grows, has come up with the same settings: bad ones cost one consumer. Other
settings are tried at once.
"""

import json
from typing import Final

from restow.controller.state import Pause, State, View
from restow.controller.transition import Turn
from restow.controller.transitions import Phase
from restow.model import ConsumerId
from restow.platform.interface import RestartConsumer
from restow.protocol.messages import ConsumerSettings
from restow.text import counted

OUTDATED: Final = "older settings"
"""The flag that is up as long as anybody runs by others than hold now."""


def renew(turn: Turn, settings: ConsumerSettings, env_digest: str) -> None:
    """What consumers run as from now on. That others did not come up tells nothing of these: they are tried at once."""
    before = turn.state.fingerprint
    turn.set(settings=settings, env_digest=env_digest)
    after = turn.state.fingerprint
    if after == before:
        return
    turn.set(creation=Pause(0, 0.0), to_replace=False, tolerated=frozenset())
    for consumer, view in tuple(turn.state.consumers.items()):
        if view.phase is Phase.ROLLING and view.settings != after:
            turn.note(consumer, f"is restarted once more: {difference(view.settings, after)}")
            turn.change(consumer, settings=after, since_s=turn.state.listened_s, again_s=None)
            turn.do(RestartConsumer(consumer, turn.state.consumer_settings))


def outdated(state: State) -> tuple[ConsumerId, ...]:
    """Those that work, and of whom it is known that they run by others."""
    current = (None, state.fingerprint)
    return tuple(
        consumer
        for consumer, view in state.consumers.items()
        if view.phase is Phase.READY and view.settings not in current
    )


def is_due(state: State) -> bool:
    return state.may_create and bool(outdated(state)) and all(map(_is_well, state.consumers.values()))


def wants_one_more(state: State) -> bool:
    """To see that the settings work, at no risk to those that do."""
    return state.to_replace and is_due(state)


def begin(turn: Turn) -> None:
    state = turn.state
    if state.to_replace:
        return  # the look was to create one, and could not
    older, wanted = outdated(state), state.fingerprint
    consumer = older[0]
    view = state.consumers[consumer]
    there = _there(state)
    change = difference(view.settings, wanted)
    turn.note(consumer, f"is restarted: {change}, {there - len(older) + 1} of {there}")
    turn.change(consumer, phase=Phase.ROLLING, had=view.held, settings=wanted)
    turn.do(RestartConsumer(consumer, state.consumer_settings))


def tell(turn: Turn) -> None:
    """For as long as it lasts, how far it is."""
    state = turn.state
    left = len(outdated(state)) + state.rolling
    words = f"{left} of {counted(_there(state), 'consumer')} still to be restarted with new settings"
    if state.to_replace:
        words += "; the last one did not come up, and another is restarted when a new one has"
    turn.flag(OUTDATED, words if left else None)


def difference(before: str | None, after: str) -> str:
    """Of two fingerprints, in words, without values of variables."""
    old, new = _read(before), _read(after)
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return ", ".join(_changed(name, old.get(name), new.get(name)) for name in changed) or "other settings"


def _changed(name: str, old: object, new: object) -> str:
    if name == "env":
        names, others = (str(each or "").partition(" ")[0] for each in (old, new))
        return f"values of {names}" if names == others else f"variables {names or 'none'} -> {others or 'none'}"
    return f"{name} {'none' if old is None else old} -> {'none' if new is None else new}"


def _read(fingerprint: str | None) -> dict[str, object]:
    """A platform may tell what isn't one."""
    try:
        plain = json.loads(fingerprint or "{}")
    except (ValueError, RecursionError):
        plain = {}
    return plain if isinstance(plain, dict) else {}


def _is_well(view: View) -> bool:
    """One that leaves is nobody's concern any more."""
    is_ready = view.phase is Phase.READY and view.told and not view.sent and view.report is not None
    return is_ready or view.phase is Phase.LEAVING


def _there(state: State) -> int:
    return sum(view.phase not in (Phase.LEAVING, Phase.LOST) for view in state.consumers.values())
