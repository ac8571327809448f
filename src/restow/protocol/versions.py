"""Which versions of each message exist, and how each stands in JSON. A sender uses the highest that both sides know.

A new version is one more entry, with its own way to write and to read: messages in this program are always the newest,
so an old version's `read` fills in what it didn't have, and its `write` leaves out what its readers don't know.
Keys that may be passed over need no new version.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, get_args

from restow.model import SortedMapping
from restow.protocol.codec import from_plain, to_plain
from restow.protocol.messages import Message

MESSAGES: Final[tuple[type[Message], ...]] = get_args(Message)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one message: its fields as plain JSON, without name and number."""

    write: Callable[[Any], dict[str, Any]]
    read: Callable[[dict[str, Any]], Any]
    """Refuses with InvalidInput."""


class Versions:
    """Immutable. `with_version` gives another one that knows more."""

    def __init__(self, known: Mapping[type[Message], Mapping[int, Version]]) -> None:
        self._known = {kind: dict(sorted(versions.items())) for kind, versions in known.items()}
        self._by_name = {kind.__name__: kind for kind in self._known}
        self.highest: Mapping[type[Message], int] = {kind: max(versions) for kind, versions in self._known.items()}

    def with_version(self, kind: type[Message], number: int, version: Version) -> "Versions":
        return Versions({**self._known, kind: {**self._known.get(kind, {}), number: version}})

    def kind(self, name: str) -> type[Message] | None:
        return self._by_name.get(name)

    def numbers(self, kind: type[Message]) -> tuple[int, ...]:
        return tuple(self._known[kind])

    def get(self, kind: type[Message], number: int) -> Version | None:
        return self._known[kind].get(number)

    def known(self) -> SortedMapping[str, int]:
        """As a ConsumerReady tells it."""
        return SortedMapping({kind.__name__: number for kind, number in self.highest.items()})

    def common(self, kind: type[Message], theirs: Mapping[str, int]) -> int | None:
        """The highest that both know; None: there is none, and such a message can't be sent to them."""
        return max((number for number in self._known[kind] if number <= theirs.get(kind.__name__, 0)), default=None)


CURRENT: Final = Versions({kind: {1: Version(to_plain, partial(from_plain, kind))} for kind in MESSAGES})
