"""`[topics]`: names, replication and retention of the topics over which the roles communicate."""

from dataclasses import dataclass
from typing import Annotated

from restow.protocol import channels
from restow.settings.checks import AT_LEAST_1, TOPIC_PREFIX, Check


@dataclass(frozen=True, slots=True)
class Topics:
    """`[topics]`: the five topics over which the roles communicate. The monitor, the controller or a consumer creates
    them."""

    prefix: TOPIC_PREFIX | None = None
    """The topics are named `<prefix>-monitor`, `-controller`, `-query`, `-service` and `-status`. Without it, the
    prefix is the group's name, so that groups on one cluster have topics of their own."""

    replication_factor: Annotated[int, AT_LEAST_1] | None = None
    """Replicas of each partition. Without it, the brokers use their default.replication.factor."""

    monitor_retention_ms: Annotated[int, Check("-1 (forever) or 1000 and more", lambda ms: ms == -1 or ms >= 1000)] = -1
    """Retention of the monitor topic in milliseconds; -1 keeps every record. The controller needs only the newest
    record, so that a day (86400000) saves disk and loses nothing but history."""

    most_consumers: Annotated[int, AT_LEAST_1] = 20
    """How many consumers the controller and query topics have partitions for when they are created. They grow with the
    group; each growth costs a metadata refresh, which a good estimate avoids. It does not limit the group: see
    `most_consumers` in [controller]."""

    @property
    def monitor(self) -> str:
        return self._named(channels.MONITOR)

    @property
    def controller(self) -> str:
        return self._named(channels.CONTROLLER)

    @property
    def query(self) -> str:
        return self._named(channels.QUERY)

    @property
    def service(self) -> str:
        return self._named(channels.SERVICE)

    @property
    def status(self) -> str:
        return self._named(channels.STATUS)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all of them."""
        return tuple(self._named(channel) for channel in channels.CHANNELS)

    def _named(self, channel: channels.Channel) -> str:
        assert self.prefix is not None, "Settings sets the prefix to the group's name"
        return channel.topic(self.prefix)
