"""The contenders `restow-light` and `restow-spark`: a whole group as processes, at its defaults where that is possible.

This module neither starts nor ends consumers: it changes the load, and the monitor and the controller do the rest. The
cool-downs are not the defaults, because the group must shrink at once and grow again within a minute.
"""

import json
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from restow.errors import RestowError
from restow.handover.contender import LOOK_S, TOPIC, Setting
from restow.handover.load import SteadyLoad
from restow.handover.stored import DeltaProgress, LightProgress
from restow.platform.processes.linux import send
from restow.platform.processes.supervisors import Supervisors
from restow.roles.background import BackgroundRoles
from restow.study.handover import LIGHT, Progress

CAPACITIES: Final = 0.8
"""The base load, which two consumers share, the least that the group may have. One could carry it: as with Kafka's
protocols, the other one has room when one is killed."""
GROWN: Final = 2.4
"""For three."""
GRACE_S: Final = 20.0
BACK_WITHIN_S: Final = 300.0
SETTINGS: Final = """\
[kafka]
bootstrap = {bootstrap}
[group]
name = "{name}"
[processes]
directory = {directory}
[consumer]
{consumer}
capacity_bytes_per_s = {capacity}
grace_s = {grace_s}
[controller]
least_consumers = 2
most_consumers = {most}
spares = {spares}
look_every_s = 1
close_after_s = 1
cool_down_after_opening_s = 0
cool_down_after_closing_s = 0
[table]
log_kept_s = 864000.0
[consume.{topic}]
table = {table}
transform = "{transform}"
"""
KINDS: Final = {
    True: ('pipeline = "light"', "restow.handover.light_transform:stamped"),
    False: ("memory_mb = 900", "restow.handover.spark_transform:sizes"),
}


@contextmanager
def running(
    name: str, setting: Setting, load: SteadyLoad, capacities: float = CAPACITIES, spares: int = 0
) -> "Iterator[RestowGroup]":
    """`capacities` of a consumer: the base load."""
    group = RestowGroup(name, setting, load, capacities, spares)
    try:
        group.start()
        yield group
    finally:
        group.end()


class RestowGroup:
    owners_after_kill: int | None = None
    owners_after_mend: int | None = None
    """What others have taken over stays with them."""

    def __init__(self, name: str, setting: Setting, load: SteadyLoad, capacities: float, spares: int) -> None:
        self._setting, self._load = setting, load
        self._processes = setting.directory / "processes"
        self._owner = "none"
        self._back = ""
        """What the controller says when the killed consumer is back."""
        self._said = 0
        table = setting.directory / ("table.db" if name == LIGHT else "table")
        self._progress = LightProgress(table) if name == LIGHT else DeltaProgress(table)
        consumer, transform = KINDS[name == LIGHT]
        self.config = setting.directory / "restow.toml"
        self.config.write_text(
            SETTINGS.format(
                bootstrap=json.dumps(setting.kafka.bootstrap),
                name=name,
                directory=json.dumps(str(self._processes)),
                consumer=consumer,
                most=3 + spares,
                spares=spares,
                capacity=load.base_bytes_per_s / capacities,
                grace_s=GRACE_S,
                topic=TOPIC,
                table=json.dumps(str(table)),
                transform=transform,
            )
        )
        self._roles = BackgroundRoles(name, self.config, self._processes, GRACE_S)
        self._supervisors = Supervisors(name, self._processes)

    def start(self) -> None:
        self._roles.start("monitor")
        self._roles.start("controller", "--log", str(self._setting.directory / "events"))

    def new_progress(self) -> list[Progress]:
        for role in self._roles.ended():
            raise RestowError(f"the {role} has ended: {self._roles.output_of(role)[-500:]}")
        new = self._progress.new()
        self._owner = new[-1].owner if new else self._owner
        return new

    def join(self) -> None:
        self._load.set(GROWN / CAPACITIES)

    def leave(self) -> None:
        self._load.set(1.0)

    def kill(self) -> None:
        """Kills the consumer that stored something last, which can't be a spare."""
        for consumer, local in self._supervisors.consumers().items():
            if local.child and self._owner.split()[0] in (str(local.child.pid), f"consumer-{consumer}"):
                self._back, self._said = f"consumer {consumer}: restarted after a crash", len(self._output())
                send(local.child, signal.SIGKILL)
                return
        raise RestowError("the consumer to kill has no process")

    def mend(self) -> None:
        """The group recovers by itself. Waits until the killed consumer is back."""
        deadline_s = time.monotonic() + BACK_WITHIN_S
        while self._back not in self._output()[self._said :]:
            if time.monotonic() > deadline_s:
                raise RestowError(f"the killed consumer was not back within {BACK_WITHIN_S:.0f} s")
            time.sleep(LOOK_S)

    def _output(self) -> str:
        return self._roles.output_of("controller")

    def copies(self) -> Mapping[tuple[int, int], int]:
        return self._progress.copies()

    def end(self) -> None:
        self._roles.end()
