"""Reads the lines of the controller's event log (event_log.py) and puts back what they leave out. No machine runs.

`restow replay` steps the machine over what is read here; the demonstration follows it while it is written.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from restow.controller.differences import EventDifferences
from restow.controller.effects import Effect
from restow.controller.events import ClockTicked, Event, ServiceChanged
from restow.controller.state import State
from restow.errors import InvalidInput
from restow.packing import PACKERS
from restow.protocol.codec import TAG, from_plain
from restow.protocol.messages.service import ServiceUpdate

READABLE: Final = (2, 3, 4, 5, 6, 7)
RENAMED_IN_3: Final = {"looked_s": "replanned_s", "to_replace": "roll_halted"}
RENAMED_IN_VIEWS_IN_3: Final = {
    "told": "has_reported_holdings",
    "had": "held_before_roll",
    "again_s": "retry_platform_at_s",
}
BEFORE_6: Final = {
    "close_after_s": 0.0,
    "cool_down_after_opening_s": 0.0,
    "cool_down_after_closing_s": 0.0,
    "predict_at_most": 0.0,
}
"""Settings of [controller] that version 6 has added, by which a controller decides as one did before them."""
ADDED_LATER: Final = {"moves_by_number": 0.0}
"""Settings of [controller] that logs of version 6 may lack, in the same way."""
NOT_JSON: Final = "line {}: this is not JSON; the file is damaged, or no log of a controller"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a segment comes from."""

    utc_s: float
    """The wall clock at its first event, in seconds since 1970."""
    controller: str
    """The host and the process that wrote it."""
    continues: int | None = None
    """The number of the segment before, if this one goes on without a gap."""
    lost: int = 0
    """How many events before it could not be written."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a segment."""

    version: int
    state: State
    """The controller's state before the first event."""
    origin: Origin | None
    """None before version 4."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a segment after the first, with what the line leaves out restored."""

    line: int
    event: Event
    plain: dict[str, Any]
    """The entry as JSON: its event, its effects and its stage."""
    utc_s: float | None
    """The wall clock, in seconds since 1970; None in a log that does not have it."""

    @property
    def effects(self) -> tuple[Effect, ...]:
        return tuple(from_plain(Effect, effect) for effect in self.plain["effects"])


class EntryReader:
    """Reads a segment line by line, and puts back what its lines leave out. Raises InvalidInput, with the line, if this
    is no event log."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self._line = 0
        self._differences = EventDifferences()
        self._stage: str | None = None
        self._clock: tuple[float, float] | None = None
        """The last wall clock in the segment, and the monotonic time at it."""
        self._now_s: float | None = None

    def read(self, line: str) -> Entry | None:
        """Returns None for the first line and for blank lines."""
        self._line += 1
        if self.header is None:
            self.header = _header(line)
            self._begin(self.header)
            return None
        return self._entry(_plain(line, self._line), self.header.version) if line.strip() else None

    def _begin(self, header: Header) -> None:
        self._stage, self._now_s = header.state.stage, header.state.now_s
        if header.origin is not None and self._now_s is not None:
            self._clock = (header.origin.utc_s, self._now_s)

    def _entry(self, plain: dict[str, Any], version: int) -> Entry:
        event, effects = plain.get("event"), plain.get("effects")
        if version >= 4:
            event = self._restored(event)
            effects = [] if effects is None else effects
            self._stage = plain.get("stage", self._stage)
        else:
            self._stage = plain.get("stage")
        if version < 5:
            event = _with_update_named(event)
        read: Event = from_plain(Event, event, f"line {self._line}: event")
        self._follow_clock(read, plain.get("utc_s"))
        whole = {"event": event, "effects": effects, "stage": self._stage}
        return Entry(self._line, read, whole, self._utc_s())

    def _restored(self, event: Any) -> Any:
        try:
            return self._differences.restore(event) if isinstance(event, dict) else event
        except InvalidInput as error:
            raise InvalidInput(f"line {self._line}: {error}") from None

    def _follow_clock(self, event: Event, utc_s: Any) -> None:
        if isinstance(event, ClockTicked):
            self._now_s = event.now_s
        if utc_s is not None and self._now_s is not None:
            self._clock = (from_plain(float, utc_s, f"line {self._line}: utc_s"), self._now_s)

    def _utc_s(self) -> float | None:
        if self._clock is None or self._now_s is None:
            return None
        utc_s, then_s = self._clock
        return utc_s + self._now_s - then_s


def entries(lines: Iterable[str]) -> Iterator[Entry]:
    """The entries of one segment, as they are recorded: no machine runs."""
    reader = EntryReader()
    for line in lines:
        if (found := reader.read(line)) is not None:
            yield found


def _header(line: str) -> Header:
    plain = _plain(line, 1)
    version = plain.get("log")
    if version not in READABLE:
        known = f"{', '.join(map(str, READABLE[:-1]))} or {READABLE[-1]}"
        raise InvalidInput(f"line 1: this is not a log of version {known}; it must begin with the controller's state")
    state: State = from_plain(State, _upgraded(plain.get("state"), version), "line 1: state")
    if state.rules.packer not in PACKERS:
        raise InvalidInput(f"line 1: there is no packer '{state.rules.packer}'; known are {', '.join(PACKERS)}")
    origin = from_plain(Origin, plain, "line 1") if "utc_s" in plain else None
    return Header(version, replace(state, consumers=dict(state.consumers)), origin)


def _upgraded(state: Any, version: int) -> Any:
    """A state of an older version under today's names; anything malformed is left for the codec to refuse."""
    if not isinstance(state, dict):
        return state
    state = _with_rules(state, {} if version >= 6 else {"judges_evidence": False}, {} if version >= 6 else BEFORE_6)
    if version >= 3:
        return state
    renamed = _renamed(state, RENAMED_IN_3)
    if isinstance(views := state.get("consumers"), dict):
        renamed["consumers"] = {name: _renamed(view, RENAMED_IN_VIEWS_IN_3) for name, view in views.items()}
    return renamed


def _with_rules(state: dict[str, Any], own: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Adds rules and settings that older versions did not have."""
    rules = state.get("rules")
    controller = rules.get("controller") if isinstance(rules, dict) else None
    if not isinstance(rules, dict) or not isinstance(controller, dict):
        return state
    own = {"checks_each_load": False, **rules, **own}
    return {**state, "rules": {**own, "controller": {**ADDED_LATER, **added, **controller}}}


def _with_update_named(event: Any) -> Any:
    """Before version 5, a ServiceChanged always had a ServiceUpdate and did not say so."""
    if not isinstance(event, dict) or event.get(TAG) != ServiceChanged.__name__:
        return event
    update = event.get("update")
    return {**event, "update": {TAG: ServiceUpdate.__name__, **update}} if isinstance(update, dict) else event


def _renamed(plain: Any, names: Mapping[str, str]) -> Any:
    return {names.get(key, key): value for key, value in plain.items()} if isinstance(plain, dict) else plain


def _plain(line: str, number: int) -> dict[str, Any]:
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidInput(NOT_JSON.format(number)) from None
    if not isinstance(plain, dict):
        raise InvalidInput(f"line {number}: this is not an entry; it must be an object with an event")
    return plain
