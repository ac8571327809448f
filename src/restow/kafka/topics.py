"""Creates restow's topics when they are missing, and adds partitions when there are too few.

Every role calls `ensure_topics` before it sends; the controller calls `grow_topics` when the group outgrows them.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from restow.kafka.admin import ANSWER_WITHIN_S, NO_LEADER, Admin, Cluster
from restow.kafka.errors import NoAnswer
from restow.settings import Topics

ASK_EVERY_S = 0.05

DAY_MS = 24 * 3600 * 1000
STATUS_SETTINGS = {
    "cleanup.policy": "compact",
    "min.compaction.lag.ms": str(DAY_MS),
    "max.compaction.lag.ms": str(DAY_MS + DAY_MS // 8),
    "segment.ms": str(DAY_MS // 24),
}
"""A day of history, then only the newest record of each key. Kafka compacts closed segments only, hence short ones."""


@dataclass(frozen=True, slots=True)
class Wanted:
    partitions: int
    settings: Mapping[str, str]


def wanted_topics(topics: Topics, most_consumers: int) -> dict[str, Wanted]:
    by_consumer = most_consumers + 1  # partition 0 is the controller's, partition i consumer i's
    return {
        topics.monitor: Wanted(
            1,
            {
                "cleanup.policy": "delete",
                "retention.ms": str(topics.monitor_retention_ms),
            },
        ),
        topics.controller: Wanted(by_consumer, {}),
        topics.query: Wanted(by_consumer, {}),
        topics.service: Wanted(1, {"cleanup.policy": "compact"}),
        topics.status: Wanted(1, STATUS_SETTINGS),
    }


def ensure_topics(admin: Admin, topics: Topics) -> tuple[str, ...]:
    """Returns the names of the topics that were created or grown. Existing topics keep their configuration."""
    return _ensure(admin, topics, wanted_topics(topics, topics.most_consumers))


def grow_topics(admin: Admin, topics: Topics, consumers: int) -> tuple[str, ...]:
    """Makes room for this many consumers. Returns when the brokers' metadata shows the new partitions, so that they can
    be written to."""
    return _ensure(admin, topics, wanted_topics(topics, consumers))


def _ensure(admin: Admin, topics: Topics, wanted: Mapping[str, Wanted]) -> tuple[str, ...]:
    leaders = admin.cluster().leaders
    changed = []
    for name, topic in wanted.items():
        count = len(leaders.get(name, ()))
        if count == 0:
            admin.create_topic(name, topic.partitions, topics.replication_factor, topic.settings)
        elif count < topic.partitions:
            admin.grow_topic(name, topic.partitions)
        else:
            continue
        changed.append(name)
    if changed:
        wait_until_shown(admin, {name: wanted[name].partitions for name in changed})
    return tuple(changed)


def wait_until_shown(admin: Admin, partitions: Mapping[str, int]) -> None:
    """Waits until the brokers show at least this many partitions of each topic, all with a leader. Raises NoAnswer."""
    deadline = time.monotonic() + ANSWER_WITHIN_S
    while waiting := _not_shown(admin.cluster(), partitions):
        if time.monotonic() > deadline:
            raise NoAnswer(f"the topic {waiting[0]} was created or grown, but the brokers don't show it yet")
        time.sleep(ASK_EVERY_S)


def _not_shown(cluster: Cluster, partitions: Mapping[str, int]) -> list[str]:
    leaders = {name: cluster.leaders.get(name, ()) for name in partitions}
    return [name for name, count in partitions.items() if len(leaders[name]) < count or NO_LEADER in leaders[name]]
