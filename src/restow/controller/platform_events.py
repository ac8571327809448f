"""What the platform reports of a consumer: its process is up, has crashed, is failing, is gone, or a request was
refused."""

from typing import Final

from restow.controller import crashes, starts
from restow.controller.state import View
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase
from restow.model import ConsumerId
from restow.platform.interface import PlatformAction

RETRY_AFTER_S: Final = 5.0
"""When a request that the platform refused is repeated."""


def up(transition: Transition, consumer: ConsumerId) -> None:
    """A new process of the consumer runs. One that crashes repeatedly before its first message gains no time by it."""
    transition.note(consumer, "its process runs")
    view = transition.view(consumer)
    if view is not None and (view.up_s is None or view.up_s < view.heard_s):
        transition.change(consumer, up_s=transition.state.listened_s)


def failing(transition: Transition, consumer: ConsumerId, reason: str) -> None:
    view = transition.view(consumer)
    if view is None:
        return
    if view.phase is Phase.AWAITED:
        starts.failing(transition, consumer, reason)
    elif view.phase is Phase.READY:
        _ended(transition, consumer, view, f"failing: {reason}")
    elif view.phase is Phase.ROLLING and view.since_s < transition.state.listened_s:
        # Reported in the same moment as the restart, it is still about the old process.
        starts.failing(transition, consumer, reason)


def crashed(transition: Transition, consumer: ConsumerId, reason: str) -> None:
    """A consumer in another phase is being started, restarted or deleted: its timeouts count as before."""
    view = transition.view(consumer)
    if view is not None and view.phase is Phase.READY:
        _ended(transition, consumer, view, f"crashed: {reason}")


def _ended(transition: Transition, consumer: ConsumerId, view: View, how: str) -> None:
    """Unless its next process became ready in the same moment: then it has been dealt with."""
    if view.ready_s != transition.state.listened_s:
        crashes.ended(transition, consumer, view, how)


def gone(transition: Transition, consumer: ConsumerId) -> None:
    if transition.view(consumer) is None:
        return
    view = transition.remove(consumer)
    transition.note(consumer, "gone")
    if view.phase is not Phase.LEAVING:
        transition.replan_cause = Cause.GONE


def refused(transition: Transition, consumer: ConsumerId, action: PlatformAction, reason: str) -> None:
    if transition.view(consumer) is not None:
        transition.change(consumer, retry_platform_at_s=transition.state.listened_s + RETRY_AFTER_S)
        transition.warn(consumer, f"the platform refused to {action} it: {reason}; retrying in {RETRY_AFTER_S:.0f} s")
