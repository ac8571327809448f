"""The checker of the group's size: it has its least number of consumers, as far as consumers start at all."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from restow.controller.transitions import Phase
from restow.platform.interface import DeleteConsumer, PlatformRequest

if TYPE_CHECKING:
    from restow.simulator.controller import ControllerProcess

PATIENCE: Final = 4.0
"""A late consumer that the group needs is waited for this many times `ready_within_s`, at least."""


class LeastKept:
    """No new consumer is deleted for being late if the group has too few without it. One whose start failed may be.
    What a replaced controller asks for when its pause is over was right when it was decided."""

    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report

    def requested(self, controller: "ControllerProcess", request: PlatformRequest) -> None:
        world, views = controller.world, controller.state.consumers
        if world.controller_in_charge() is not controller:
            return
        view, pod = views.get(request.consumer), world.platform.pods.get(request.consumer)
        if not isinstance(request, DeleteConsumer) or view is None or pod is None or view.incarnation is not None:
            return
        rules, least = world.rules.controller, controller.state.least_consumers
        waited_s = world.agenda.now_s - pod.asked_s
        left = sum(other.phase not in (Phase.LEAVING, Phase.LOST) for other in views.values())
        is_merely_late = view.phase is Phase.LEAVING and not pod.failures and not pod.is_broken
        if is_merely_late and left < least and waited_s < PATIENCE * rules.ready_within_s:
            words = f"after {waited_s:.0f} s, and {left} are left of at least {least}"
            self._report(4, f"consumer {request.consumer} is deleted because it was not ready {words}")
