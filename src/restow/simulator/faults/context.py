"""What the faults share: victims and times drawn from the seed, and acts that wait."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.topic_service import TopicService
from restow.simulator.consumer import BROKEN_TRANSFORM, ConsumerProcess
from restow.simulator.faults.kinds import Fault

if TYPE_CHECKING:
    from restow.simulator.world import World

MOST_STEPS: Final = 12
"""A process crashes or hangs within this many of its next steps."""


class Context:
    def __init__(self, world: "World", rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self.end_s = world.scenario.duration_s - world.scenario.quiet_s
        self._versions = 0

    def next_version(self) -> int:
        """A number for something that changes: no two changes of a run have the same."""
        self._versions += 1
        return self._versions

    def until(self, least_s: float, most_s: float) -> float:
        return min(self.world.agenda.now_s + self.rng.uniform(least_s, most_s), self.end_s)

    def steps(self) -> int:
        return self.rng.randint(0, MOST_STEPS)

    def consumer(self) -> ConsumerProcess | None:
        running = [process for process in self.world.processes if process.is_alive and not process.is_disowned]
        pods = self.world.platform.pods
        running = [process for process in running if process.number in pods and not process.is_foreign]
        return self.rng.choice(running) if running else None

    def topic(self) -> str | None:
        wanted = [topic for topic, service in sorted(self.world.services.items()) if service is not None]
        return self.rng.choice(wanted) if wanted else None

    def topic_and_service(self) -> tuple[str | None, TopicService | None]:
        """A topic and its wanted definition, without a transform that is broken at the moment."""
        topic = self.topic()
        service = None if topic is None else self.world.services[topic]
        if service is not None and service.transform == BROKEN_TRANSFORM:
            service = replace(service, transform=None)
        return topic, service

    def later(self, time_s: float, act: Callable[[], None]) -> None:
        self.world.agenda.at(time_s, act)

    def when(self, condition: Callable[[], object], act: Callable[[], None], until_s: float) -> None:
        """Acts as soon as the condition holds, at `until_s` at the latest."""
        now_s = self.world.agenda.now_s
        if now_s >= until_s or condition():
            act()
        else:
            self.later(min(now_s + 0.5, until_s), lambda: self.when(condition, act, until_s))

    def update(self, update: ServiceUpdate) -> None:
        """Retries until the brokers are up."""
        if not self.world.kafka.is_up:
            self.later(self.world.kafka.down_until_s, lambda: self.update(update))
            return
        self.world.update(update)


Acts = dict[Fault, Callable[[Context], bool | None]]
"""How each kind of fault is injected. An act returns False if there is nothing that it could hit."""
