"""The checkers of controllers: one is in charge, and commits its intention before it changes the platform."""

from typing import TYPE_CHECKING, Final

from restow.platform.interface import PlatformRequest
from restow.protocol.messages.controller_events import PlatformChangeIntended
from restow.protocol.messages.unions import OfController
from restow.simulator.checkers.report import LATE_S, Report
from restow.simulator.topics import DELETED, MARKER, Topic

if TYPE_CHECKING:
    from restow.simulator.controller import ControllerProcess

ONE_LOOK_S: Final = 2.5
"""A standby looks every second, or as soon as its own pause is over."""


class OnlyIntended:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._intended: dict[ControllerProcess, list[PlatformChangeIntended]] = {}

    def intended(self, controller: "ControllerProcess", intention: PlatformChangeIntended) -> None:
        self._intended[controller] = [*self._intended.get(controller, [])[-8:], intention]

    def requested(self, controller: "ControllerProcess", request: PlatformRequest) -> None:
        intentions = self._intended.get(controller, ())
        if not any(request.consumer in (*each.create, *each.delete, *each.restart) for each in intentions):
            self._report(5, f"{type(request).__name__} of consumer {request.consumer} without a committed intention")


class OneInCharge:
    """A person may force it; and two that start at the same moment may not see each other."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def taking_over(self, controller: "ControllerProcess") -> None:
        world, now_s = controller.world, controller.now_s
        quiet_s = world.scenario.duration_s - world.scenario.quiet_s
        if now_s > quiet_s + LATE_S:
            self._report(4, f"{controller.name} takes over {now_s - quiet_s:.0f} s after the last fault")
        before = world.controller_in_charge()
        if before is None or controller.is_forced:
            return
        heard_s = self._last_sign_s(before, now_s - ONE_LOOK_S)
        silent_s, limit_s = now_s - heard_s, world.rules.controller.take_over_after_s
        if silent_s < limit_s - ONE_LOOK_S:
            self._report(4, f"{controller.name} fences {before.name}, which gave a sign of life {silent_s:.1f} s ago")

    def _last_sign_s(self, controller: "ControllerProcess", until_s: float) -> float:
        """When its last sign of life that could be read by then could be read."""
        wire, log = controller.world.wire, controller.world.kafka.log(Topic.CONTROLLER, 0)
        for offset in range(log.end - 1, (controller.epoch or 0) - 1, -1):
            if log.records[offset] is DELETED:
                break
            if log.visible_s[offset] <= until_s and log.records[offset] is not MARKER:
                sign = wire.open(Topic.CONTROLLER, 0, offset, log.records[offset])
                if isinstance(sign, OfController):
                    return log.visible_s[offset]
        return -LATE_S
