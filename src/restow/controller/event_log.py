"""The controller's event log: every event and its effects, as lines of JSON, to be replayed and explained.

    {"log": 3, "state": {…}}          the first line: the controller's state at the beginning of the file
    {"event": {"type": "Received", …}, "effects": [{"type": "Send", …}], "stage": "Manage"}

A replay runs the same machine over the events and must come to the same effects; `Step.agrees` says whether it did.
`Noted` effects and the words of `Moved` are not compared: they explain, and their wording may change between releases.
The log leaves out the values of consumers' environment variables, which may be secrets, and has their digest instead.

Version 3 renamed fields of the state (`RENAMED_IN_3`), gave causes short names and `Noted` the kind "failure". Logs of
version 2 are still replayed; their causes are not compared.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from restow.controller.effects import Effect, Moved, Noted
from restow.controller.events import Event, ServiceChanged
from restow.controller.machine import step
from restow.controller.state import State
from restow.errors import InvalidInput
from restow.model import SortedMapping
from restow.packing import PACKERS
from restow.platform.interface import CreateConsumer, RestartConsumer
from restow.protocol.codec import TAG, from_plain, to_plain
from restow.protocol.messages import ConsumerSettings

VERSION: Final = 3
READABLE: Final = (2, 3)
RENAMED_IN_3: Final = {"looked_s": "replanned_s", "to_replace": "roll_halted"}
RENAMED_IN_VIEWS_IN_3: Final = {
    "told": "has_reported_holdings",
    "had": "held_before_roll",
    "again_s": "retry_platform_at_s",
}
REDACTED: Final = "***"


@dataclass(frozen=True, slots=True)
class Step:
    """One replayed entry."""

    line: int
    event: Event
    before: State
    after: State
    effects: tuple[Effect, ...]
    agrees: bool
    """Whether the log has the same effects."""


def header(state: State) -> str:
    return _line({"log": VERSION, "state": to_plain(replace(state, settings=_redacted(state.settings)), State)})


def entry(event: Event, effects: Iterable[Effect], after: State) -> str:
    plain_effects = [to_plain(_without_secrets(effect), Effect) for effect in effects]
    return _line(
        {"event": to_plain(_event_without_secrets(event), Event), "effects": plain_effects, "stage": after.stage}
    )


def replay(lines: Iterable[str]) -> Iterator[Step]:
    """Runs the machine over the recorded events. Raises InvalidInput, with the line, if this is no event log."""
    numbered = enumerate(lines, 1)
    version, state = _begin(next(numbered, (1, ""))[1])
    for number, line in numbered:
        if not line.strip():
            continue
        plain = _plain(line, number)
        event: Event = from_plain(Event, plain.get("event"), f"line {number}: event")
        after, effects = _stepped(state, event, number)
        done = json.loads(entry(event, effects, after))
        agrees = done["stage"] == plain.get("stage") and _compared(done, version) == _compared(plain, version)
        yield Step(number, event, state, after, effects, agrees)
        state = after


def _begin(line: str) -> tuple[int, State]:
    """The log's version, and the state it begins with."""
    plain = _plain(line, 1)
    version = plain.get("log")
    if version not in READABLE:
        known = " or ".join(map(str, READABLE))
        raise InvalidInput(f"line 1: this is no log of version {known}; it must begin with the controller's state")
    state: State = from_plain(State, _upgraded(plain.get("state"), version), "line 1: state")
    if state.rules.packer not in PACKERS:
        raise InvalidInput(f"line 1: there is no packer '{state.rules.packer}'; known are {', '.join(PACKERS)}")
    return version, replace(state, consumers=dict(state.consumers))


def _upgraded(state: Any, version: int) -> Any:
    """A state of an older version under today's names; anything malformed is left for the codec to refuse."""
    if version >= 3 or not isinstance(state, dict):
        return state
    renamed = _renamed(state, RENAMED_IN_3)
    if isinstance(views := state.get("consumers"), dict):
        renamed["consumers"] = {name: _renamed(view, RENAMED_IN_VIEWS_IN_3) for name, view in views.items()}
    return renamed


def _renamed(plain: Any, names: Mapping[str, str]) -> Any:
    return {names.get(key, key): value for key, value in plain.items()} if isinstance(plain, dict) else plain


def _compared(entry: dict[str, Any], version: int) -> list[Any]:
    """The effects of an entry, as far as a replay must come to the same."""
    effects = entry.get("effects")
    if not isinstance(effects, list):
        return [effects]
    left_out = ("words",) if version >= 3 else ("words", "cause")
    return [
        {key: value for key, value in effect.items() if key not in left_out} if _is_a(effect, Moved) else effect
        for effect in effects
        if not _is_a(effect, Noted)
    ]


def _is_a(effect: Any, kind: type[Effect]) -> bool:
    return isinstance(effect, dict) and effect.get(TAG) == kind.__name__


def _stepped(state: State, event: Event, number: int) -> tuple[State, tuple[Effect, ...]]:
    try:
        return step(state, event)
    except AssertionError as impossible:
        raise InvalidInput(f"line {number}: that can't have happened ({impossible}); the file is damaged") from None


def _plain(line: str, number: int) -> dict[str, Any]:
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidInput(f"line {number}: this is not JSON; the file is damaged, or no log of a controller") from None
    if not isinstance(plain, dict):
        raise InvalidInput(f"line {number}: this is no entry; it must be an object with an event")
    return plain


def _line(plain: dict[str, Any]) -> str:
    return json.dumps(plain, separators=(",", ":"), allow_nan=False) + "\n"


def _without_secrets(effect: Effect) -> Effect:
    if isinstance(effect, CreateConsumer | RestartConsumer):
        return replace(effect, settings=_redacted(effect.settings))
    return effect


def _event_without_secrets(event: Event) -> Event:
    if isinstance(event, ServiceChanged) and event.update.consumers is not None:
        digest = event.update.consumers.env_digest if event.env_digest is None else event.env_digest
        return ServiceChanged(replace(event.update, consumers=_redacted(event.update.consumers)), digest)
    return event


def _redacted(settings: ConsumerSettings) -> ConsumerSettings:
    return replace(settings, env=SortedMapping(dict.fromkeys(settings.env, REDACTED)))
