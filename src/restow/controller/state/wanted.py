"""What is wanted of the group, by restow.toml, the service topic and open windows of schedules."""

from dataclasses import dataclass, field
from functools import lru_cache

from restow.controller.desired import Desired
from restow.controller.events import Window
from restow.controller.state.rules import Rules
from restow.model import SortedMapping
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.topic_service import TopicService


@dataclass(frozen=True)
class Wanted:
    rules: Rules
    updates: SortedMapping[str, TopicService | None] = field(default_factory=SortedMapping)
    """The service topic's word on each topic, which overrides the rules; None if a topic is no longer consumed."""
    settings: ConsumerSettings = field(default_factory=ConsumerSettings)
    """The service topic's settings for consumers; the rules have what it leaves out."""
    env_digest: str = ""
    """The digest of those settings' environment variables, whose values are in no event log."""
    code: str | None = None
    """The digest of the transforms' modules that local consumers load."""
    desired: Desired = field(default_factory=Desired)
    """What people want of the group, from the service topic."""
    windows: tuple[Window, ...] = ()
    """Windows of schedules, past and to come."""
    open_windows: tuple[Window, ...] = ()
    """Those that are open by the wall clock."""

    def service_of(self, topic: str) -> TopicService | None:
        """What happens to a topic's records; None if the group does not consume it."""
        if topic in self.updates:
            return self.updates[topic]
        return self.rules.service_of(topic)

    def refuses_late_writes(self, topic: str) -> bool:
        service = self.service_of(topic)
        return service is not None and service.refuses_late_writes

    @property
    def consumer_settings(self) -> ConsumerSettings:
        """The settings for a consumer that is created or restarted now."""
        return _settings(self.rules.consumer_settings, self.settings, self.code)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of `consumer_settings`."""
        return _fingerprint(self.consumer_settings, self.env_digest)

    @property
    def fixed_capacity_bytes_per_s(self) -> float | None:
        """The capacity of every consumer by settings; None if it is learned."""
        return self.settings.capacity_bytes_per_s or self.rules.consumer.capacity_bytes_per_s

    def fixed_cost(self, topic: str) -> float | None:
        """The cost of a topic's bytes by settings; None if it is learned."""
        service = self.service_of(topic)
        fixed = None if service is None else service.cost
        return 1.0 if fixed is None and self.fixed_capacity_bytes_per_s is not None else fixed

    @property
    def least_consumers(self) -> int:
        """By the service topic, else by an open window, else by the rules; at most `most_consumers`."""
        least, most = self.settings.least_consumers, self.most_consumers
        least = self._scheduled_least if least is None else least
        least = self.rules.controller.least_consumers if least is None else least
        return least if most is None else min(least, most)

    @property
    def most_consumers(self) -> int | None:
        """By the service topic, else by an open window, else by the rules. A lower limit of a higher source raises an
        upper limit that is below it."""
        least, most = self.settings.least_consumers or 0, self.settings.most_consumers
        if most is not None:
            return most
        scheduled = min((each.most for each in self.open_windows if each.most is not None), default=None)
        if scheduled is not None:
            return max(least, scheduled)
        if self.rules.controller.most_consumers is None:
            return None
        return max(least, self._scheduled_least or 0, self.rules.controller.most_consumers)

    @property
    def _scheduled_least(self) -> int | None:
        return max((each.least for each in self.open_windows if each.least is not None), default=None)

    @property
    def is_paused(self) -> bool:
        """By a person, or by a schedule."""
        return self.desired.pause is not None or any(window.hold for window in self.open_windows)

    @property
    def only_recovers(self) -> bool:
        """Whether a person or a schedule holds the controller: it recovers partitions that no consumer reads, and
        changes nothing for load."""
        return self.is_paused or self.desired.recommend is not None


@lru_cache(maxsize=64)  # every look compares the fingerprint of every consumer with it
def _settings(base: ConsumerSettings, update: ConsumerSettings, code: str | None) -> ConsumerSettings:
    return ConsumerSettings(
        image=update.image if update.image is not None else base.image,
        memory_mb=update.memory_mb if update.memory_mb is not None else base.memory_mb,
        cores=update.cores if update.cores is not None else base.cores,
        capacity_bytes_per_s=update.capacity_bytes_per_s or base.capacity_bytes_per_s,
        env=update.env,
        code=code,
    )


@lru_cache(maxsize=64)
def _fingerprint(settings: ConsumerSettings, env_digest: str) -> str:
    return settings.fingerprint_with(env_digest)
