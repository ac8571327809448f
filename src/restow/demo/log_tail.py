"""Follows the controller's event log while it is written.

The demonstration narrates from it, and its course depends on it. Unlike a replay, it runs no machine.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from restow.controller.effects import Effect
from restow.controller.events import Event
from restow.protocol.codec import from_plain


@dataclass(frozen=True, slots=True)
class Entry:
    event: Event
    effects: tuple[Effect, ...]


def entries_in(lines: Iterable[str]) -> Iterator[Entry]:
    """Skips the first line of a log, which is its header."""
    for line in lines:
        plain = json.loads(line)
        if "event" in plain:
            effects = tuple(from_plain(Effect, effect) for effect in plain["effects"])
            yield Entry(from_plain(Event, plain["event"]), effects)


class EventLogTail:
    def __init__(self, log: Path) -> None:
        self._log = log
        self._read_bytes = 0

    def read_new(self) -> tuple[Entry, ...]:
        """Entries written since the last call. An incomplete line waits for the next call."""
        if not self._log.exists():
            return ()
        with self._log.open("rb") as log:
            log.seek(self._read_bytes)
            whole, _, _ = log.read().rpartition(b"\n")
        if not whole:
            return ()
        self._read_bytes += len(whole) + 1
        return tuple(entries_in(whole.decode().splitlines()))
