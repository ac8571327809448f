"""The consumers of the group: how many there are, and which of them can be given partitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from restow.controller.state.pause import Pause
from restow.controller.state.view import View
from restow.controller.state.wanted import Wanted
from restow.controller.transitions import Phase
from restow.model import ConsumerId


@dataclass(frozen=True)
class Members(Wanted):
    now_s: float | None = None
    utc_s: float | None = None
    """The wall clock at the last tick, in seconds since 1970; None before the first."""
    listened_s: float = 0.0
    """Seconds in which messages could reach this controller. Timeouts count them, so that an outage of the brokers, or
    a pause of this process, is not held against any consumer."""
    began_s: float = 0.0
    """The first tick."""
    listed: bool = False
    """Whether the platform has listed its consumers."""
    listed_s: float = 0.0
    """When the platform was last asked for them."""
    consumers: Mapping[ConsumerId, View] = field(default_factory=dict)
    """By number, ascending."""
    creation: Pause = field(default_factory=Pause)
    """No consumer is created before its end: the last new one did not become ready."""
    opened_s: float | None = None
    """When a consumer was last created; None if this controller has created none."""
    closed_s: float | None = None
    """When a consumer that was no longer needed was last deleted."""
    is_parked: bool = False
    """Nothing is written and everything is read: the group has no consumers."""
    start_times_s: tuple[float, ...] = ()
    """How long the last starts took, from the request for a consumer to its ConsumerReady."""
    restart_times_s: tuple[float, ...] = ()
    """How long the last restarts after crashes took, from the platform's report of the crash to the ConsumerReady."""
    roll_halted: bool = False
    """A consumer did not start, or did not come back, with the current settings: no healthy one is restarted with them
    until a new one is ready."""
    failing_before_roll: frozenset[str] = frozenset()
    """The topics that could not be stored when the last restart of a roll began, or when the settings changed."""
    roll_waits_s: float | None = None
    """Since when consumers run with outdated settings and none is restarting; None while that is not so."""

    @property
    def time_s(self) -> float:
        return 0.0 if self.now_s is None else self.now_s

    @property
    def may_create(self) -> bool:
        return self.time_s >= self.creation.until_s

    @property
    def has_too_few(self) -> bool:
        """Whether the group has fewer than `least_consumers`, those that are starting among them."""
        return len(self.usable()) + self.set_aside < self.least_consumers

    @property
    def can_have_consumers(self) -> bool:
        """A consumer exists that can be given partitions, or one may be created."""
        most = self.most_consumers
        return bool(self.usable()) or (self.may_create and (most is None or self.set_aside < most))

    @property
    def rolling(self) -> int:
        """How many consumers are restarting with new settings."""
        return sum(view.phase is Phase.ROLLING for view in self.consumers.values())

    @property
    def set_aside(self) -> int:
        """How many consumers belong to the group but can't be given partitions: rolling, crashed and late ones."""
        away = (Phase.ROLLING, Phase.CRASHED)
        return sum(view.phase in away or view.is_late for view in self.consumers.values())

    def awaited(self) -> frozenset[ConsumerId]:
        """New consumers in the plan that are not ready yet."""
        awaited = (c for c, view in self.consumers.items() if view.phase is Phase.AWAITED and not view.is_late)
        return frozenset(awaited)

    def usable(self) -> tuple[ConsumerId, ...]:
        """Consumers that can be given partitions, now or as soon as they are ready."""
        working = (Phase.READY, Phase.AWAITED, Phase.RESTARTED)
        return tuple(
            consumer
            for consumer, view in self.consumers.items()
            if view.phase in working and not view.is_unknown and not view.is_late
        )
