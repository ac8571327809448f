"""The checker of rolls: new settings reach every consumer, and no more than one at a time pauses for them. Like all
checkers (checkers.py) it looks at the world.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from restow.controller.transitions import Phase
from restow.model import ConsumerId
from restow.platform.interface import PlatformRequest, RestartConsumer
from restow.simulator.platform import Pod

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess
    from restow.simulator.controller import ControllerProcess
    from restow.simulator.world import World

ROLLED_WITHIN_S: Final = 400.0
"""Without faults, every consumer has the newest settings by then."""


class OneRolls:
    """A consumer that works is restarted with new settings when no other is; and of settings by which nothing comes
    up, a controller learns from one."""

    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report
        self._rolling: dict[ConsumerId, Pod] = {}
        """Those that were restarted, until they are ready."""
        self._tried: dict[tuple[ControllerProcess, str], Pod] = {}
        """With which consumer a controller first tried settings by which nothing comes up."""

    def requested(self, controller: "ControllerProcess", request: PlatformRequest) -> None:
        """One that stood still since it decided that, and was replaced meanwhile, is not asked."""
        world = controller.world
        view = controller.state.consumers.get(request.consumer)
        is_roll = isinstance(request, RestartConsumer) and view is not None and view.phase is Phase.ROLLING
        if not is_roll or controller is not world.controller_in_charge():
            return
        pods = world.platform.pods
        pod = pods[request.consumer]
        for other, rolling in self._rolling.items():
            if other != request.consumer and pods.get(other) is rolling and not rolling.leaving:
                self._report(4, f"consumer {request.consumer} is restarted with new settings while consumer {other} is")
        self._rolling[request.consumer] = pod
        if pod.is_broken:
            first = self._tried.setdefault((controller, pod.fingerprint), pod)
            if first is not pod and not first.is_lost:
                words = f"by which consumer {first.consumer} did not come up"
                self._report(4, f"consumer {pod.consumer} is restarted with settings {words}")

    def ready(self, process: "ConsumerProcess") -> None:
        pod = self._rolling.get(process.number)
        if pod is not None and pod.settings == process.settings:
            del self._rolling[process.number]

    def end(self, world: "World") -> None:
        """Asked of runs that are quiet for long enough."""
        if world.scenario.quiet_s < ROLLED_WITHIN_S:
            return
        wanted = world.settings.fingerprint
        for consumer, pod in sorted(world.platform.pods.items()):
            if not pod.leaving and pod.fingerprint != wanted:
                self._report(4, f"consumer {consumer} still has settings {pod.fingerprint} instead of {wanted}")
        for process in world.processes:
            if process.is_alive and not process.is_disowned and process.settings.fingerprint != wanted:
                self._report(4, f"consumer {process.number} still runs by {process.settings.fingerprint}")
