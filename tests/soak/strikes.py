"""The strikes of the soak, by kind. Each hits one part of a running group, and returns from when its recovery counts.

A strike that finds nothing to hit, such as a consumer while none runs, returns None and doesn't count.
"""

import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from tests.soak.group import LIGHT, SPARK, SoakGroup, kill
from tests.soak.load import TOPICS
from tests.support.small_disk import SmallDisk

from restow.model import ConsumerId
from restow.platform.processes.linux import Process, send

APPEARS_WITHIN_S: Final = 30.0
STOPPED_S: Final = (2.0, 25.0)
"""How long a process is suspended: its controller restarts a consumer that is silent for 20 s."""
AWAY_S: Final = (0.0, 8.0)
"""How long a broker, a topic or the room on a disk is away."""
MOST_ADDED: Final = 4
"""Partitions that are added to a topic."""


class Battlefield(Protocol):
    group: SoakGroup
    chance: random.Random
    disk: SmallDisk | None
    added: dict[str, int]

    def wait(self, seconds: float) -> None:
        """The load goes on meanwhile."""

    def kill_broker(self) -> None: ...
    def start_broker(self) -> None: ...
    def add_partition(self, topic: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Hit:
    kills: int
    """Processes that were killed or suspended; 1 for a blow of another kind."""
    from_s: float
    """From when its recovery counts, by the monotonic clock."""


Strike = Callable[[Battlefield], Hit | None]


def _victim(field: Battlefield) -> tuple[ConsumerId, Process] | None:
    found = field.group.consumers()
    if not found:
        return None
    consumer = field.chance.choice(sorted(found))
    child = found[consumer].child
    return (consumer, child) if child else None


def _killed(*victims: Process | None) -> Hit | None:
    begun_s = time.monotonic()
    kills = sum(map(kill, victims))
    return Hit(kills, begun_s) if kills else None


def python_alone(field: Battlefield) -> Hit | None:
    victim = _victim(field)
    return _killed(victim[1]) if victim else None


def jvm_alone(field: Battlefield) -> Hit | None:
    victim = _victim(field)
    return _killed(field.group.jvm(victim[1])) if victim else None


def supervisor(field: Battlefield) -> Hit | None:
    found = [local.status.supervisor for local in field.group.consumers().values() if local.status]
    return _killed(field.chance.choice(found)) if found else None


def supervisor_and_consumer(field: Battlefield) -> Hit | None:
    found = [local for local in field.group.consumers().values() if local.status]
    if not found:
        return None
    local = field.chance.choice(found)
    return _killed(local.status.supervisor if local.status else None, local.child)


def lost_volume(field: Battlefield) -> Hit | None:
    """The consumer dies, and its checkpoint and plan with it."""
    victim = _victim(field)
    if victim is None:
        return None
    hit = _killed(victim[1])
    shutil.rmtree(field.group.volume(victim[0]), ignore_errors=True)
    return hit


def suspended(field: Battlefield) -> Hit | None:
    victim = _victim(field)
    if victim is None:
        return None
    send(victim[1], signal.SIGSTOP)
    field.wait(field.chance.uniform(*STOPPED_S))
    send(victim[1], signal.SIGCONT)
    return Hit(1, time.monotonic())


def controller(field: Battlefield) -> Hit | None:
    return _killed(field.group.role("controller"))


def controller_twice(field: Battlefield) -> Hit | None:
    """The second as soon as it is there."""
    first = field.group.role("controller")
    begun_s = time.monotonic()
    if not kill(first):
        return None
    while (second := field.group.role("controller")) in (None, first):
        field.wait(0.1)
        if time.monotonic() > begun_s + APPEARS_WITHIN_S:
            return Hit(1, begun_s)
    field.wait(field.chance.uniform(0.0, 3.0))
    return Hit(1 + kill(second), time.monotonic())


def controller_and_consumer(field: Battlefield) -> Hit | None:
    victim = _victim(field)
    return _killed(field.group.role("controller"), victim[1] if victim else None)


def monitor(field: Battlefield) -> Hit | None:
    return _killed(field.group.role("monitor"))


def page(field: Battlefield) -> Hit | None:
    return _killed(field.group.role("page"))


def all_roles(field: Battlefield) -> Hit | None:
    """`restow up` itself, which takes monitor, controller and page with it."""
    begun_s = time.monotonic()
    field.group.kill_up()
    field.wait(field.chance.uniform(*AWAY_S))
    field.group.go_up()
    return Hit(1, begun_s)


def suspended_controller(field: Battlefield) -> Hit | None:
    """Longer than the others wait for it; then it continues where it was."""
    known = field.group.role("controller")
    if known is None:
        return None
    send(known, signal.SIGSTOP)
    field.wait(field.chance.uniform(*STOPPED_S))
    send(known, signal.SIGCONT)
    return Hit(1, time.monotonic())


def two_controllers(field: Battlefield) -> Hit | None:
    """A second one takes over by force, while a consumer dies, and is killed in turn."""
    second, victim = field.group.second_controller(), _victim(field)
    field.wait(field.chance.uniform(1.0, 10.0))
    kills = kill(victim[1]) if victim else False
    field.wait(field.chance.uniform(0.0, 5.0))
    second.kill()
    second.wait()
    return Hit(1 + kills, time.monotonic())


def broker(field: Battlefield) -> Hit | None:
    field.kill_broker()
    field.wait(field.chance.uniform(*AWAY_S))
    field.start_broker()
    return Hit(1, time.monotonic())


def full_disk(field: Battlefield) -> Hit | None:
    """The volumes' disk is full for a while, and a consumer dies meanwhile."""
    if field.disk is None:
        return None
    victim = _victim(field)
    field.disk.fill()
    field.wait(field.chance.uniform(*AWAY_S))
    kills = kill(victim[1]) if victim else False
    field.wait(field.chance.uniform(*AWAY_S))
    field.disk.free()
    return Hit(max(1, kills), time.monotonic())


def partition_added(field: Battlefield) -> Hit | None:
    topic = field.chance.choice(TOPICS)
    if field.added.get(topic, 0) >= MOST_ADDED:
        return None
    field.added[topic] = field.added.get(topic, 0) + 1
    begun_s = time.monotonic()
    field.add_partition(topic)
    field.wait(1.0)  # it has records then
    return Hit(1, begun_s)


def topic_removed(field: Battlefield) -> Hit | None:
    """The group is to leave a topic, and then to read it again, from where it was."""
    topic = field.chance.choice(TOPICS)
    field.group.command("topics", "remove", topic)
    field.wait(field.chance.uniform(*AWAY_S))
    field.group.command("topics", "reset", topic)
    return Hit(1, time.monotonic())


def within_maintenance(field: Battlefield) -> Hit | None:
    """A compaction or a vacuum dies at some instruction; every other time its consumer too."""
    deadline_s = time.monotonic() + 2 * APPEARS_WITHIN_S
    while (known := field.group.maintenance()) is None:
        field.wait(0.05)
        if time.monotonic() > deadline_s:
            return None
    field.wait(field.chance.uniform(0.0, 1.0))
    victim = _victim(field) if field.chance.random() < 0.5 else None
    return _killed(known, victim[1] if victim else None)


STRIKES: Final[dict[str, Strike]] = {
    "Python alone": python_alone,
    "JVM alone": jvm_alone,
    "supervisor": supervisor,
    "supervisor and consumer": supervisor_and_consumer,
    "consumer and its volume": lost_volume,
    "consumer suspended": suspended,
    "controller": controller,
    "controller twice": controller_twice,
    "controller and consumer": controller_and_consumer,
    "controller suspended": suspended_controller,
    "two controllers": two_controllers,
    "monitor": monitor,
    "page": page,
    "monitor, controller and page": all_roles,
    "broker": broker,
    "full disk": full_disk,
    "partition added": partition_added,
    "topic removed and added": topic_removed,
    "within compaction or vacuum": within_maintenance,
}
SPARK_ONLY: Final = ("JVM alone", "within compaction or vacuum")


def kinds_for(pipeline: str) -> list[str]:
    assert pipeline in (SPARK, LIGHT)
    return [kind for kind in STRIKES if pipeline == SPARK or kind not in SPARK_ONLY]
