"""The contract between the controller and the platform that runs its consumers.

A platform knows a consumer by its number within its group, and finds the group's consumers by their labels, so that a
restarted controller sees what its predecessor left. No call waits for a consumer: `take`, `create`, `delete` and
`restart` return when the platform has accepted the request; its outcome is among the `changes`.

The three requests are effects of the controller's machine (restow.controller.effects) and the four changes are its
events, as they stand here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, assert_never

from restow.errors import RestowError
from restow.model import ConsumerId
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.platform_identity import PlatformIdentity

PlatformAction = Literal["create", "delete", "restart"]


class PlatformRefusal(RestowError):
    """The platform did not accept a request; the message is its reason. Worth a retry later."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A consumer that exists on the platform."""

    consumer: ConsumerId
    leaving: bool = False
    """Its deletion has been requested and is not complete."""
    settings: str | None = None
    """The `ConsumerSettings.fingerprint` it was created or last restarted with, stored beside the consumer, so that a
    restarted controller finds the consumers with outdated settings. A platform with settings of its own (of its pods,
    for example) returns another text where those are outdated. None if unknown: then the consumer is left as it is."""


@dataclass(frozen=True, slots=True)
class ConsumerUp:
    """The consumer's process runs, for the first time or again. Whether it can work, its own ConsumerReady says."""

    consumer: ConsumerId


@dataclass(frozen=True, slots=True)
class ConsumerCrashed:
    """The consumer's process has just ended by itself, and the platform starts it again. Reported at once, and before
    the ConsumerUp of its next process."""

    consumer: ConsumerId
    reason: str


@dataclass(frozen=True, slots=True)
class ConsumerFailing:
    """The consumer does not start, or has crashed repeatedly; the platform keeps restarting it, with backoff."""

    consumer: ConsumerId
    reason: str


@dataclass(frozen=True, slots=True)
class ConsumerGone:
    """Nothing is left of the consumer that could still write."""

    consumer: ConsumerId


PlatformChange = ConsumerUp | ConsumerCrashed | ConsumerFailing | ConsumerGone


@dataclass(frozen=True, slots=True)
class CreateConsumer:
    """Creates a consumer under a free number. ConsumerUp or ConsumerFailing follow, then its ConsumerReady."""

    action: ClassVar[PlatformAction] = "create"
    consumer: ConsumerId
    settings: ConsumerSettings


@dataclass(frozen=True, slots=True)
class DeleteConsumer:
    """Deletes a consumer that holds nothing or was given up. Its number is free after ConsumerGone."""

    action: ClassVar[PlatformAction] = "delete"
    consumer: ConsumerId


@dataclass(frozen=True, slots=True)
class RestartConsumer:
    """Restarts a consumer on its own volume, so that it resumes from its checkpoint, with these settings."""

    action: ClassVar[PlatformAction] = "restart"
    consumer: ConsumerId
    settings: ConsumerSettings


PlatformRequest = CreateConsumer | DeleteConsumer | RestartConsumer


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A request that `take` did not accept, with the reason that PlatformRefusal carries for a single call."""

    request: PlatformRequest
    reason: str


class Platform(Protocol):
    @property
    def identity(self) -> PlatformIdentity | None:
        """Where its consumers run, the same for every controller and consumer of it; None if it can't be known."""

    @property
    def at_once(self) -> int:
        """How many requests take about as long as one. A caller with more passes them in parts of this size, and can
        check before each part that it is still in charge."""

    def take(self, requests: Sequence[PlatformRequest]) -> tuple[RefusedRequest, ...]:
        """Executes each request as the method of its name does, those of one consumer in order. Returns the refused
        ones, in order."""

    def list(self) -> tuple[Listed, ...]:
        """The group's consumers, by number: running, starting, restarting and leaving."""

    def create(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        """Leaves an existing consumer as it is; raises PlatformRefusal if one is still leaving.

        The consumer's environment has RESTOW_CREATION, a value that differs for each creation and survives restarts:
        a volume's checkpoint of a deleted consumer must not be resumed by the next one with its number.
        """

    def delete(self, consumer: ConsumerId) -> None:
        """Ends the consumer with SIGTERM, and by force after its grace period. Deleting an absent one is no error."""

    def restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        """Ends the consumer as `delete` does and starts it again at once, on its own volume, with these settings.

        Raises PlatformRefusal if the consumer is absent or leaving.
        """

    def changes(self) -> tuple[PlatformChange, ...]:
        """The changes since the last call, in order for each consumer; does not wait.

        The first call returns the changes since this object was made; `list` has what was before. If a consumer
        crashed and started several times between two calls, only the last of it is returned.
        """

    def has_crash(self) -> bool:
        """Whether a crash has arrived since the last call, which `changes` will return. A controller that waits for
        records asks many times a second. A platform that can't answer without work returns False."""


class OneByOne:
    """`take` for a platform that accepts a request in no time: one after another, through its own methods. Its changes
    take a look at everything, so that it can't say sooner that one is a crash."""

    at_once: ClassVar[int] = 1

    def has_crash(self) -> bool:
        return False

    def take(self: "TakesOne", requests: Sequence[PlatformRequest]) -> tuple[RefusedRequest, ...]:
        refused = []
        for request in requests:
            try:
                match request:
                    case CreateConsumer(consumer, settings):
                        self.create(consumer, settings)
                    case DeleteConsumer(consumer):
                        self.delete(consumer)
                    case RestartConsumer(consumer, settings):
                        self.restart(consumer, settings)
                    case _:
                        assert_never(request)
            except PlatformRefusal as refusal:
                refused.append(RefusedRequest(request, str(refusal)))
        return tuple(refused)


class TakesOne(Protocol):
    def create(self, consumer: ConsumerId, settings: ConsumerSettings) -> None: ...

    def delete(self, consumer: ConsumerId) -> None: ...

    def restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None: ...
