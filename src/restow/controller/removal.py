"""Removes consumers from the group: deletes one that holds nothing, gives up one that may hold partitions."""

from typing import Final

from restow.controller.state import View
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase
from restow.model import ConsumerId
from restow.platform.interface import DeleteConsumer
from restow.text import counted

NO_ANSWER: Final = "neither answers nor comes back"


def delete(transition: Transition, consumer: ConsumerId) -> None:
    """The consumer must hold nothing."""
    _change(transition, consumer, Phase.LEAVING)
    transition.do(DeleteConsumer(consumer))


def give_up(transition: Transition, consumer: ConsumerId, why: str = NO_ANSWER) -> None:
    """Forced handover: partitions that their tables protect start elsewhere, the others wait until it is gone."""
    view = _change(transition, consumer, Phase.LOST)
    waiting = sum(not transition.state.refuses_late_writes(partition.topic) for partition in view.may_hold)
    words = f"{why}; giving it up with {counted(len(view.may_hold), 'partition')}"
    transition.warn(consumer, f"{words}, {waiting} of them wait until it is gone" if waiting else words)
    transition.do(DeleteConsumer(consumer))
    transition.replan_cause = Cause.HANDOVER


def _change(transition: Transition, consumer: ConsumerId, phase: Phase) -> View:
    asked_s = transition.state.listened_s
    return transition.change(consumer, phase=phase, asked_s=asked_s, retry_platform_at_s=None, is_late=False)
