"""The controller's event log: every event and its effects, as lines of JSON, to be replayed and explained.

    {"log": 7, "utc_s": 1794884400.125, "controller": "host-812", "continues": 41, "state": {…}}
    {"event": {"type": "Received", …}, "effects": [{"type": "Send", …}], "stage": "Manage"}

A log is a sequence of segments (segments.py), and journal.py writes them. The first line of each has the controller's
whole state, so that a segment can be replayed alone; `continues` is the number of the segment before, if this one goes
on without a gap, and `lost` the number of events that could not be written before it. In the other lines effects are
left out if there are none, the stage if it is the same as before, and events are shortened (differences.py). `utc_s` is
the wall clock. An event without one has the time of the last `utc_s` in the segment plus what the monotonic clock
counted since.

A replay runs the same machine over the events and must come to the same effects; `Step.agrees` says whether it did.
`Noted` effects and the words of `Moved` are not compared: they explain, and their wording may change between releases.
The log leaves out the values of consumers' environment variables, which may be secrets, and has their digest instead.

Version 7 has crashes, as the event ConsumerCrashed and in the state, and claims. Version 6 has what was learned of
consumers, in the state and as the event LearningRecalled, and what the rules for opening and closing consumers
remember; a replay of an older log judges no scale-up, finds no stuck partition and closes consumers at once. Version 5
names the message of a ServiceChanged, which may be any of the service topic, and has the wall clock in ClockTicked.
Version 4 has segments, the wall clock and short events. Version 3 renamed fields of the state (log_reader.py), gave
causes short names and `Noted` the kind "failure". Logs of versions 2 to 6 are still replayed; the causes of version 2
are not compared.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from restow.controller.differences import EventDifferences
from restow.controller.effects import Effect, Moved, Noted
from restow.controller.events import Event, ServiceChanged
from restow.controller.log_reader import NOT_JSON, EntryReader, Header, Origin
from restow.controller.machine import step
from restow.controller.state import State
from restow.controller.transitions import Stage
from restow.errors import InvalidInput
from restow.model import SortedMapping
from restow.platform.interface import CreateConsumer, RestartConsumer
from restow.protocol.codec import TAG, to_plain
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.service import ServiceUpdate

VERSION: Final = 7
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
    utc_s: float | None = None
    """The wall clock, in seconds since 1970; None in a log that does not have it."""


def header(state: State, origin: Origin | None = None) -> str:
    begin: dict[str, Any] = {"log": VERSION}
    if origin is not None:
        begin |= {"utc_s": origin.utc_s, "controller": origin.controller}
        begin |= {} if origin.continues is None else {"continues": origin.continues}
        begin |= {"lost": origin.lost} if origin.lost else {}
    return _line({**begin, "state": to_plain(_without_values(state), State)})


def entry(event: Event, effects: Iterable[Effect], after: State) -> str:
    """A whole entry. A segment has it shortened: see EntryWriter."""
    return _line(_entry(event, effects, after))


class EntryWriter:
    """Writes the lines of one segment after its first."""

    def __init__(self, stage: Stage) -> None:
        self._differences, self._stage = EventDifferences(), stage

    def entry(self, event: Event, effects: Iterable[Effect], after: State, utc_s: float | None = None) -> str:
        """`utc_s`: the wall clock, if it can't be derived from the monotonic one."""
        plain = _entry(event, effects, after)
        short: dict[str, Any] = {} if utc_s is None else {"utc_s": utc_s}
        short["event"] = self._differences.shorten(plain["event"])
        short |= {"effects": plain["effects"]} if plain["effects"] else {}
        short |= {"stage": plain["stage"]} if after.stage is not self._stage else {}
        self._stage = after.stage
        return _line(short)


def replay(lines: Iterable[str]) -> Iterator[Step]:
    """Runs the machine over the recorded events of one segment. Raises InvalidInput, with the line, if this is no event
    log."""
    run = Replay()
    for line in lines:
        if (found := run.step(line)) is not None:
            yield found
    if run.header is None:
        raise InvalidInput(NOT_JSON.format(1))


class Replay:
    """A replay of one segment, line by line."""

    def __init__(self) -> None:
        self._reader = EntryReader()
        self.state: State | None = None
        """The state after the last line; None before the first."""

    @property
    def header(self) -> Header | None:
        return self._reader.header

    def step(self, line: str) -> Step | None:
        """Returns None for the first line and for blank lines."""
        entry = self._reader.read(line)
        assert self.header is not None
        if self.state is None:
            self.state = self.header.state
        if entry is None:
            return None
        before = self.state
        self.state, effects = _stepped(before, entry.event, entry.line)
        done = {"effects": json.loads(json.dumps(_effects(effects)))}
        version, stage = self.header.version, self.state.stage
        agrees = stage == entry.plain["stage"] and _compared(done, version) == _compared(entry.plain, version)
        return Step(entry.line, entry.event, before, self.state, effects, agrees, entry.utc_s)


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


def _entry(event: Event, effects: Iterable[Effect], after: State) -> dict[str, Any]:
    return {
        "event": to_plain(_event_without_secrets(event), Event),
        "effects": _effects(effects),
        "stage": after.stage,
    }


def _effects(effects: Iterable[Effect]) -> list[Any]:
    return [to_plain(_without_secrets(effect), Effect) for effect in effects]


def _line(plain: dict[str, Any]) -> str:
    return json.dumps(plain, separators=(",", ":"), allow_nan=False) + "\n"


def _without_secrets(effect: Effect) -> Effect:
    if isinstance(effect, CreateConsumer | RestartConsumer):
        return replace(effect, settings=_redacted(effect.settings))
    return effect


def _event_without_secrets(event: Event) -> Event:
    match event:
        case ServiceChanged(ServiceUpdate(consumers=ConsumerSettings() as settings) as update, known):
            digest = settings.env_digest if known is None else known
            return replace(event, update=replace(update, consumers=_redacted(settings)), env_digest=digest)
        case _:
            return event


def _without_values(state: State) -> State:
    return replace(state, settings=_redacted(state.settings))


def _redacted(settings: ConsumerSettings) -> ConsumerSettings:
    return replace(settings, env=SortedMapping(dict.fromkeys(settings.env, REDACTED)))
