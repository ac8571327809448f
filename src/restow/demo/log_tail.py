"""Follows the controller's event log while it is written: what happened, and what was decided and said about it.

The demonstration narrates from it and lets its course depend on it. Nothing is run again here, as a replay would.
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
    """The first line of a log is no entry: it has what was known as it began."""
    for line in lines:
        plain = json.loads(line)
        if "event" in plain:
            effects = tuple(from_plain(Effect, effect) for effect in plain["effects"])
            yield Entry(from_plain(Event, plain["event"]), effects)


class Follower:
    def __init__(self, log: Path) -> None:
        self._log = log
        self._read_bytes = 0

    def news(self) -> tuple[Entry, ...]:
        """What was written since it was last asked. A line that is being written is left for the next time."""
        if not self._log.exists():
            return ()
        with self._log.open("rb") as log:
            log.seek(self._read_bytes)
            whole, _, _ = log.read().rpartition(b"\n")
        if not whole:
            return ()
        self._read_bytes += len(whole) + 1
        return tuple(entries_in(whole.decode().splitlines()))
