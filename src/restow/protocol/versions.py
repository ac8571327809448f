"""The versions of each message, and how each is encoded. A sender uses the highest version that both sides know.

A new version is one more entry with its own `write` and `read`. Messages in this program always have the newest form:
an old version's `read` fills in the fields it lacks, and its `write` leaves out the fields its readers don't know. A
key that old readers may ignore needs no new version.
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
    """How one version of a message writes and reads its fields as plain JSON."""

    write: Callable[[Any], dict[str, Any]]
    read: Callable[[dict[str, Any]], Any]
    """Raises InvalidInput if they are invalid."""


class Versions:
    """All known versions. Immutable: `with_version` returns a larger one."""

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
        """The highest version of each message, as ConsumerReady has it."""
        return SortedMapping({kind.__name__: number for kind, number in self.highest.items()})

    def common(self, kind: type[Message], theirs: Mapping[str, int]) -> int | None:
        """The highest version that both sides know. Returns None if there is none: the message can't be sent."""
        return max((number for number in self._known[kind] if number <= theirs.get(kind.__name__, 0)), default=None)


CURRENT: Final = Versions({kind: {1: Version(to_plain, partial(from_plain, kind))} for kind in MESSAGES})
