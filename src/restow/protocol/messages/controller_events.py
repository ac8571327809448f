"""The controller's own records: it started, lives, stopped, and is about to change the platform."""

from dataclasses import dataclass, field

from restow.model import ConsumerId
from restow.protocol import checks
from restow.protocol.field_types import ADDED
from restow.protocol.platform_identity import PlatformIdentity


@dataclass(frozen=True, slots=True)
class ControllerStarted:
    """A controller took over. The offset of this record is the epoch of all its commands."""

    controller: str
    """The controller's host and process, for people."""
    platform: PlatformIdentity | None = field(default=None, metadata=ADDED)
    """The platform of its consumers."""
    lock: str | None = field(default=None, metadata=ADDED)
    """The name of the lock that it holds on its platform as long as it lives. If the lock is free, it is dead."""


@dataclass(frozen=True, slots=True)
class ControllerAlive:
    """A sign of life of the controller in charge, every few seconds. Other controllers of the group wait as standbys
    while it comes."""

    epoch: int
    controller: str
    """The controller's host and process, for people."""
    platform: PlatformIdentity | None = None
    """The platform of its consumers."""
    lock: str | None = None
    """The name of the lock that it holds on its platform as long as it lives. If the lock is free, it is dead."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch)


@dataclass(frozen=True, slots=True)
class ControllerStopped:
    """The controller in charge ended cleanly: the next one takes over without waiting."""

    epoch: int
    controller: str
    """The controller's host and process, for people."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch)


@dataclass(frozen=True, slots=True)
class PlatformChangeIntended:
    """The controller commits this before it changes the platform, so that a controller that was replaced is fenced off
    first."""

    epoch: int
    create: tuple[ConsumerId, ...] = ()
    """Consumers to create."""
    delete: tuple[ConsumerId, ...] = ()
    """Consumers to delete."""
    restart: tuple[ConsumerId, ...] = ()
    """Consumers to stop and start again on the same volumes."""

    def __post_init__(self) -> None:
        checks.at_least(0, epoch=self.epoch)
        checks.consumers(create=self.create, delete=self.delete, restart=self.restart)
