"""The checker of rolls: new settings reach every consumer, one at a time. Like all checkers it watches the world."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from restow.controller.transitions import Phase
from restow.model import ConsumerId
from restow.platform.interface import PlatformRequest, RestartConsumer
from restow.simulator.consumer import BROKEN_CODE
from restow.simulator.platform import Pod

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess
    from restow.simulator.controller import ControllerProcess
    from restow.simulator.world import World

ROLLED_WITHIN_S: Final = 400.0
"""Without faults, a roll takes less."""


class OneRolls:
    """At most one healthy consumer at a time restarts with new settings, and settings with which no consumer starts
    cost one consumer."""

    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report
        self._rolling: dict[ConsumerId, Pod] = {}
        """The restarted consumers that are not ready yet."""
        self._tried: dict[tuple[ControllerProcess, str], Pod] = {}
        """The consumer with which a controller first tried settings that no consumer starts with."""
        self._tried_code: dict[tuple[ControllerProcess, str, str], Pod] = {}
        """The same for settings and broken code on disk."""

    def requested(self, controller: "ControllerProcess", request: PlatformRequest) -> None:
        """A controller that hung since its decision, and was replaced in the meantime, is not checked."""
        world = controller.world
        view = controller.state.consumers.get(request.consumer)
        is_roll = isinstance(request, RestartConsumer) and view is not None and view.phase is Phase.ROLLING
        if not is_roll or controller is not world.controller_in_charge():
            return
        pods = world.platform.pods
        pod = pods[request.consumer]
        # What is given up is deleted, even if the platform has refused to so far.
        views = controller.state.consumers.items()
        given_up = {other for other, each in views if each.phase in (Phase.LEAVING, Phase.LOST)}
        for other, rolling in self._rolling.items():
            is_there = pods.get(other) is rolling and not rolling.leaving and other not in given_up
            if other != request.consumer and is_there:
                self._report(4, f"consumer {request.consumer} is restarted with new settings while consumer {other} is")
        self._rolling[request.consumer] = pod
        if pod.is_broken:
            first = self._tried.setdefault((controller, pod.fingerprint), pod)
            if first is not pod and not first.is_lost:
                words = f"with which consumer {first.consumer} did not start"
                self._report(4, f"consumer {pod.consumer} is restarted with settings {words}")
        if world.code.startswith(BROKEN_CODE):
            first = self._tried_code.setdefault((controller, pod.fingerprint, world.code), pod)
            if first is not pod and not first.is_lost and _runs_code(world, pod):
                words = f"which consumer {first.consumer} could not run"
                self._report(4, f"consumer {pod.consumer} is restarted with {world.code}, {words}")

    def ready(self, process: "ConsumerProcess") -> None:
        pod = self._rolling.get(process.number)
        if pod is not None and pod.settings == process.settings:
            del self._rolling[process.number]

    def end(self, world: "World") -> None:
        """Checks runs whose quiet period is long enough. In a group that is held, new settings wait."""
        if world.scenario.quiet_s < ROLLED_WITHIN_S or world.is_held:
            return
        wanted = replace(world.settings, code=world.code).fingerprint
        for consumer, pod in sorted(world.platform.pods.items()):
            if not pod.leaving and pod.fingerprint != wanted:
                self._report(4, f"consumer {consumer} still has settings {pod.fingerprint} instead of {wanted}")
        for process in world.processes:
            if process.is_alive and not process.is_disowned and process.settings.fingerprint != wanted:
                self._report(4, f"consumer {process.number} still runs with {process.settings.fingerprint}")
            if process.is_alive and not process.is_disowned and process.code not in ("", world.code):
                self._report(4, f"consumer {process.number} still runs {process.code} instead of {world.code}")


def _runs_code(world: "World", pod: Pod) -> bool:
    """Whether the consumer's process reads a topic with a transform of restow.toml."""
    named = {service.transform for service in world.rules.consume.values()}
    services = (world.services[partition.topic] for partition in getattr(pod.process, "positions", ()))
    return any(service is not None and service.transform in named for service in services)
