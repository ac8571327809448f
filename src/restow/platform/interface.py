"""What the controller asks of a place that runs consumers, and what such a place tells.

A consumer is known by its number within its group; the platform finds the group's consumers again by their label, so
that a controller which restarts finds what the one before it left. No call waits for a consumer: `take`, `create`,
`delete` and `restart` return when the platform has taken the wish, and what became of it is among the `changes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, assert_never

from restow.errors import RestowError
from restow.model import ConsumerId
from restow.protocol.messages import ConsumerSettings


class PlatformRefusal(RestowError):
    """The platform didn't take a wish; its reason is the message. Worth another try later."""


@dataclass(frozen=True, slots=True)
class Listed:
    consumer: ConsumerId
    leaving: bool = False
    """It was told to go and is not gone yet."""
    settings: str | None = None
    """`ConsumerSettings.fingerprint` of those that it was created or last restarted with, kept beside the consumer, so
    that a controller which restarts finds who runs by older ones. A platform with settings of its own (of its pods,
    say) tells another text where those are older. None: that isn't known, and the consumer is left as it is."""


@dataclass(frozen=True, slots=True)
class ConsumerUp:
    """Its process runs, for the first time or again. Whether it can work, it says itself, with ConsumerReady."""

    consumer: ConsumerId


@dataclass(frozen=True, slots=True)
class ConsumerFailing:
    """It doesn't come up, or has fallen again; the platform goes on trying, after growing pauses."""

    consumer: ConsumerId
    reason: str


@dataclass(frozen=True, slots=True)
class ConsumerGone:
    """Nothing of it is left that could still write."""

    consumer: ConsumerId


PlatformChange = ConsumerUp | ConsumerFailing | ConsumerGone


@dataclass(frozen=True, slots=True)
class Create:
    consumer: ConsumerId
    settings: ConsumerSettings


@dataclass(frozen=True, slots=True)
class Delete:
    consumer: ConsumerId


@dataclass(frozen=True, slots=True)
class Restart:
    consumer: ConsumerId
    settings: ConsumerSettings


Wish = Create | Delete | Restart


@dataclass(frozen=True, slots=True)
class Refused:
    """A wish that was not taken, for the reason that PlatformRefusal gives for a single one."""

    wish: Wish
    reason: str


class Platform(Protocol):
    @property
    def at_once(self) -> int:
        """How many wishes it takes in about the time of one. Whoever has more hands them over in parts, and can ask
        between two of them whether it is still to be done."""

    def take(self, wishes: Sequence[Wish]) -> tuple[Refused, ...]:
        """Each as the verb of its name below, those of one consumer in order, and what was refused, in order."""

    def list(self) -> tuple[Listed, ...]:
        """The group's consumers, by number: those that run, that start, that are restarted, and that are leaving."""

    def create(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        """One that is there already is left as it is; one that is still leaving is refused, with PlatformRefusal.

        It finds RESTOW_CREATION in its environment, a value that differs for each creation and stays through restarts:
        what a volume has of a consumer that was deleted is not the next one's to go on with.
        """

    def delete(self, consumer: ConsumerId) -> None:
        """Asks it to end, and ends it by force after its grace time. One that isn't there is no error."""

    def restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        """Ends it as `delete` does and starts it again at once, on its own volume, with these settings.

        One that isn't there, or is leaving, is refused, with PlatformRefusal.
        """

    def changes(self) -> tuple[PlatformChange, ...]:
        """What happened since the last call, for each consumer in order; does not wait.

        The first call tells what happened since this object was made: what was before that, `list` shows. Of
        several falls and starts between two calls the last is told.
        """


class OneByOne:
    """`take` for a platform that takes a wish in no time: one after another, by its own verbs."""

    at_once: ClassVar[int] = 1

    def take(self: "TakesOne", wishes: Sequence[Wish]) -> tuple[Refused, ...]:
        refused = []
        for wish in wishes:
            try:
                match wish:
                    case Create(consumer, settings):
                        self.create(consumer, settings)
                    case Delete(consumer):
                        self.delete(consumer)
                    case Restart(consumer, settings):
                        self.restart(consumer, settings)
                    case _:
                        assert_never(wish)
            except PlatformRefusal as refusal:
                refused.append(Refused(wish, str(refusal)))
        return tuple(refused)


class TakesOne(Protocol):
    def create(self, consumer: ConsumerId, settings: ConsumerSettings) -> None: ...

    def delete(self, consumer: ConsumerId) -> None: ...

    def restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None: ...
