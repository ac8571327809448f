"""The controller's story as lines of JSON: what happened, and what it did about it. Saved, replayed and explained.

    {"log": 2, "rules": {…}, "state": {…}}          first: what it knew as the file began
    {"event": {"type": "Received", …}, "effects": [{"type": "Send", …}], "stage": "Manage"}

A replay runs the same machine over the events and must come to the same effects; where it doesn't, the line is told.
The values of consumers' environments are left out of it: they may be secrets. A digest of them all stands for them.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from restow.controller.effects import Effect
from restow.controller.events import Event, ServiceChanged
from restow.controller.machine import step
from restow.controller.state import State
from restow.errors import InvalidInput
from restow.model import SortedMapping
from restow.packing import PACKERS
from restow.platform.interface import CreateConsumer, RestartConsumer
from restow.protocol.codec import from_plain, to_plain
from restow.protocol.messages import ConsumerSettings

VERSION: Final = 2
REDACTED: Final = "***"


@dataclass(frozen=True, slots=True)
class Step:
    """One entry: an event, and what the machine made of it."""

    line: int
    event: Event
    before: State
    after: State
    effects: tuple[Effect, ...]
    agrees: bool
    """Whether the log says that the same was done."""


def header(state: State) -> str:
    return _line({"log": VERSION, "state": to_plain(replace(state, settings=_redacted(state.settings)), State)})


def entry(event: Event, effects: Iterable[Effect], after: State) -> str:
    plain_effects = [to_plain(_without_secrets(effect), Effect) for effect in effects]
    return _line(
        {"event": to_plain(_event_without_secrets(event), Event), "effects": plain_effects, "stage": after.stage}
    )


def replay(lines: Iterable[str]) -> Iterator[Step]:
    """Runs the machine over what is recorded. Raises InvalidInput, with the line, where it isn't a log."""
    numbered = enumerate(lines, 1)
    state = _first_state(next(numbered, (1, ""))[1])
    for number, line in numbered:
        if not line.strip():
            continue
        plain = _plain(line, number)
        event: Event = from_plain(Event, plain.get("event"), f"line {number}: event")
        after, effects = _stepped(state, event, number)
        done = json.loads(entry(event, effects, after))
        agrees = done["effects"] == plain.get("effects") and done["stage"] == plain.get("stage")
        yield Step(number, event, state, after, effects, agrees)
        state = after


def _first_state(line: str) -> State:
    plain = _plain(line, 1)
    if plain.get("log") != VERSION:
        raise InvalidInput(f"line 1: this is no log of version {VERSION}; it must begin with the controller's state")
    state: State = from_plain(State, plain.get("state"), "line 1: state")
    if state.rules.packer not in PACKERS:
        raise InvalidInput(f"line 1: there is no packer '{state.rules.packer}'; known are {', '.join(PACKERS)}")
    return replace(state, consumers=dict(state.consumers))


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
