"""The versions of each message, and how each is encoded. A sender uses the highest version that both sides know.

A new version is one more entry with its own `write` and `read`. Messages in this program always have the newest form:
an old version's `read` fills in the fields it lacks, and its `write` leaves out the fields its readers don't know. A
key that old readers may ignore needs no new version.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, get_args

from restow.model import SortedMapping
from restow.protocol.codec import from_plain, to_plain
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message
from restow.protocol.topic_service import SINCE_VERSION

MESSAGES: Final[tuple[type[Message], ...]] = get_args(Message)


@dataclass(frozen=True, slots=True)
class Version:
    """How one version of a message writes and reads its fields as plain JSON."""

    write: Callable[[Any], dict[str, Any]]
    read: Callable[[dict[str, Any]], Any]
    """Raises InvalidInput if they are invalid."""
    suits: Callable[[Any], bool] = lambda _: True
    """Whether a message is sent in this version. One that a lower version carries whole may be sent in that one."""


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

    def suiting(self, message: Message) -> int:
        """The highest version in which this message is sent."""
        return max(number for number, version in self._known[type(message)].items() if version.suits(message))

    def common(self, message: Message, theirs: Mapping[str, int]) -> int | None:
        """The highest version that suits the message and that both sides know. Returns None if there is none: the other
        side can't read it."""
        known = self._known[type(message)].items()
        most = theirs.get(type(message).__name__, 0)
        return max((number for number, version in known if number <= most and version.suits(message)), default=None)


def _readers_version(message: StartConsumingCommand | ServiceUpdate) -> int:
    services = message.topics.values() if isinstance(message, StartConsumingCommand) else (message.service,)
    return max((service.readers_version for service in services if service is not None), default=1)


def _versions(kind: type[Message]) -> dict[int, Version]:
    plain = Version(to_plain, partial(from_plain, kind))
    if kind is ConsumerReady:
        # A controller of version 1 would pass over claims, and not answer them. It skips version 2.
        return {
            1: replace(plain, suits=lambda message: not message.claims),
            2: replace(plain, suits=lambda message: bool(message.claims)),
        }
    if kind not in (StartConsumingCommand, ServiceUpdate):
        return {1: plain}
    # A reader of version 1 would pass over `format` or `sql` and store other rows; one of version 2, over `evolve` or
    # `partition_by`. It skips a message of a higher version.
    return {
        number: replace(plain, suits=partial(_suits, number)) for number in range(1, max(SINCE_VERSION.values()) + 1)
    }


def _suits(number: int, message: StartConsumingCommand | ServiceUpdate) -> bool:
    return _readers_version(message) == number


CURRENT: Final = Versions({kind: _versions(kind) for kind in MESSAGES})
