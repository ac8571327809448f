"""A simulated platform: starts consumers after a delay, restarts crashed ones with backoff, deletes and lists them.

`SimulatedPlatform` runs the consumers and has the faults; each controller has a `PlatformClient` to it, which
implements `platform/interface.py` and passes the same contract tests as the real platforms.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from restow.backoff import Backoff
from restow.model import ConsumerId
from restow.platform.interface import (
    ConsumerCrashed,
    ConsumerFailing,
    ConsumerGone,
    ConsumerUp,
    Listed,
    OneByOne,
    PlatformChange,
    PlatformRefusal,
)
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.platform_identity import PlatformIdentity
from restow.simulator.agenda import Agenda

FAILURES_REPORTED: Final = 3
"""After this many failures in a row the consumer is reported as failing."""
BACKOFF: Final = Backoff(first_s=1.0, longest_s=20.0)
BROKEN_IMAGE: Final = "broken"
"""No process starts from an image whose name begins with this."""
FIRST_PLATFORM: Final = PlatformIdentity("simulated-1", "the first platform")
STEADY_AFTER_S: Final = 60.0
"""A process that has run this long resets the failures."""


class Runnable(Protocol):
    """A process, as the platform sees it. It calls the platform's `exited` when it has ended."""

    is_disowned: bool

    def begin(self) -> None: ...

    def terminate(self) -> None: ...

    def die(self) -> None: ...


@dataclass(slots=True, eq=False)
class Pod:
    consumer: ConsumerId
    settings: ConsumerSettings
    fingerprint: str
    process: Runnable | None = None
    leaving: bool = False
    restarting: bool = False
    failures: int = 0
    started_s: float = 0.0
    asked_s: float = 0.0
    """When it was created, or last restarted on request."""
    stuck_until_s: float = 0.0
    """Its node does not answer: its process can't be killed before this time."""
    is_lost: bool = False
    """It vanished, or was reported gone, without a request to delete it."""

    @property
    def is_broken(self) -> bool:
        """Whether no process starts with its settings."""
        return (self.settings.image or "").startswith(BROKEN_IMAGE)


class SimulatedPlatform:
    def __init__(
        self,
        agenda: Agenda,
        rng: random.Random,
        spawn: Callable[[ConsumerId, ConsumerSettings], Runnable],
        remove_volume: Callable[[ConsumerId], None],
        grace_s: float,
        start_s: tuple[float, float] = (2.0, 8.0),
        identity: PlatformIdentity = FIRST_PLATFORM,
    ) -> None:
        self.identity = identity
        self._agenda, self._rng, self._grace_s, self._start_s = agenda, rng, grace_s, start_s
        self._spawn, self._remove_volume = spawn, remove_volume
        self.pods: dict[ConsumerId, Pod] = {}
        self.reported: list[PlatformChange] = []
        """All changes so far; each client remembers how many it has seen."""
        self.sent_s: dict[ConsumerId, float] = {}
        """When a process of each consumer last sent something."""
        self.seemed_ended: set[ConsumerId] = set()
        """After the group had moved to another platform: consumers that were silent for so long that they counted as
        ended there, and came back."""
        self.refuses_until_s = 0.0
        self.slow_until_s = 0.0
        self.fails_until_s = 0.0
        self.quick_until_s = 0.0
        """Until then a process that ends by itself is back at once."""
        self.loses_new_until_s = 0.0
        """Until then a new consumer vanishes before it has started."""

    # Requests.

    def list(self) -> tuple[Listed, ...]:
        pods = (self.pods[consumer] for consumer in sorted(self.pods))
        return tuple(Listed(pod.consumer, pod.leaving, pod.fingerprint) for pod in pods)

    def create(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._may_refuse()
        pod = self.pods.get(consumer)
        if pod is not None and pod.leaving:
            raise PlatformRefusal(f"consumer {consumer} is still leaving; create it when it is gone")
        if pod is None:
            pod = self.pods[consumer] = Pod(consumer, settings, settings.fingerprint, asked_s=self._agenda.now_s)
            self._start(pod)
            if self._agenda.now_s < self.loses_new_until_s:
                self._agenda.after(self._rng.random(), partial(self._gone, pod))

    def delete(self, consumer: ConsumerId) -> None:
        self._may_refuse()
        pod = self.pods.get(consumer)
        if pod is not None and not pod.leaving:
            pod.leaving, pod.restarting = True, False
            self._end(pod)

    def restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._may_refuse()
        pod = self.pods.get(consumer)
        if pod is None or pod.leaving:
            raise PlatformRefusal(f"consumer {consumer} does not exist and can't be restarted; create it")
        pod.settings, pod.fingerprint, pod.failures = settings, settings.fingerprint, 0
        pod.asked_s = self._agenda.now_s
        if not pod.restarting:
            pod.restarting = True
            self._end(pod)

    def exited(self, process: Runnable) -> None:
        """A process has ended, on its own or by force."""
        pod = next((pod for pod in self.pods.values() if pod.process is process), None)
        if pod is None:
            return
        pod.process = None
        if pod.leaving or pod.restarting:
            self._ended(pod)
            return
        if self._agenda.now_s - pod.started_s >= STEADY_AFTER_S:
            pod.failures = 0
        self.reported.append(ConsumerCrashed(pod.consumer, "it ended by itself"))
        if self._agenda.now_s < self.quick_until_s:
            self._agenda.after(self._rng.random(), lambda: self._come_up(pod))
        else:
            self._failed(pod, "it ended by itself")

    # Faults.

    def vanish(self, consumer: ConsumerId) -> None:
        """The consumer and its node disappear."""
        pod = self.pods[consumer]
        process, pod.process, pod.is_lost = pod.process, None, True
        if process is not None:
            process.die()
        self._gone(pod)

    def end_all(self) -> None:
        """A person ends all consumers."""
        self.refuses_until_s = 0.0
        for consumer in sorted(self.pods):
            self.delete(consumer)

    def disown(self, consumer: ConsumerId) -> Runnable | None:
        """Reports a consumer gone that still runs. Returns its process."""
        pod = self.pods[consumer]
        process, pod.process, pod.is_lost = pod.process, None, True
        if process is not None:
            process.is_disowned = True
        self._gone(pod)
        return process

    # Starts and ends.

    def _may_refuse(self) -> None:
        if self._agenda.now_s < self.refuses_until_s:
            raise PlatformRefusal("the platform is busy; try again later")

    def _start(self, pod: Pod) -> None:
        delay_s = self._rng.uniform(*self._start_s)
        if self._agenda.now_s < self.slow_until_s:
            delay_s += 90 * self._rng.random()
        self._agenda.after(delay_s, lambda: self._come_up(pod))

    def _come_up(self, pod: Pod) -> None:
        if not self._exists(pod) or pod.process is not None or pod.leaving or pod.restarting:
            return
        if self._agenda.now_s < self.fails_until_s or pod.is_broken:
            self._failed(pod, "it can't be started")
            return
        pod.started_s = self._agenda.now_s
        pod.process = self._spawn(pod.consumer, pod.settings)
        self.reported.append(ConsumerUp(pod.consumer))
        pod.process.begin()

    def _failed(self, pod: Pod, reason: str) -> None:
        pod.failures += 1
        if pod.failures == FAILURES_REPORTED:
            self.reported.append(ConsumerFailing(pod.consumer, reason))
        self._agenda.after(BACKOFF.pause_s(pod.failures), lambda: self._start(pod) if self._exists(pod) else None)

    def _end(self, pod: Pod) -> None:
        process = pod.process
        if process is None:
            self._ended(pod)
            return
        process.terminate()
        self._agenda.after(self._grace_s, lambda: self._kill(pod, process))

    def _kill(self, pod: Pod, process: Runnable) -> None:
        if pod.process is process:
            if self._agenda.now_s < pod.stuck_until_s:
                self._agenda.at(pod.stuck_until_s, lambda: self._kill(pod, process))
            else:
                process.die()

    def _ended(self, pod: Pod) -> None:
        """The process has ended on request."""
        if pod.restarting:
            pod.restarting = False
            self._start(pod)
        else:
            self._agenda.after(self._rng.random(), lambda: self._gone(pod))

    def _gone(self, pod: Pod) -> None:
        """Its volume goes too: the next consumer with its number must not resume partitions that others have now."""
        if self._exists(pod):
            del self.pods[pod.consumer]
            self._remove_volume(pod.consumer)
            self.reported.append(ConsumerGone(pod.consumer))

    def _exists(self, pod: Pod) -> bool:
        return self.pods.get(pod.consumer) is pod


class PlatformClient(OneByOne):
    """One controller's connection: it sees the changes from now on."""

    def __init__(self, platform: SimulatedPlatform) -> None:
        self._platform = platform
        self.identity = platform.identity
        self._seen = len(platform.reported)

    def list(self) -> tuple[Listed, ...]:
        return self._platform.list()

    def create(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._platform.create(consumer, settings)

    def delete(self, consumer: ConsumerId) -> None:
        self._platform.delete(consumer)

    def restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._platform.restart(consumer, settings)

    def changes(self) -> tuple[PlatformChange, ...]:
        seen, self._seen = self._seen, len(self._platform.reported)
        return tuple(self._platform.reported[seen:])
