"""What follows from a crash that the platform reports: others take over at once, or the partitions wait.

platform_events.py calls it.
"""

from restow.controller import poison, reassign, takeover
from restow.controller.state import State, View
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase, Stage
from restow.frozen import changed
from restow.model import ConsumerId, SortedMapping
from restow.text import counted


def ended(transition: Transition, consumer: ConsumerId, view: View, how: str) -> None:
    """The process of a ready consumer has ended; the platform starts it again."""
    poison.crashed(transition, consumer, view)
    after = _after_takeover(transition.state, view)
    if _others_take_over(transition.state, consumer, after):
        transition.put(consumer, after)
        left = len(view.may_hold) - len(after.held)
        words = f"others take over {counted(left, 'partition')} of {len(view.may_hold)}"
        transition.replan_cause = Cause.CRASHED
    else:
        transition.change(consumer, phase=Phase.RESTARTED)
        words = "waiting for its restart"
    transition.change(consumer, crashed_s=transition.state.listened_s)
    transition.warn(consumer, f"{how}; {words}")


def _after_takeover(state: State, view: View) -> View:
    """The view of a crashed consumer whose partitions others take over, but for those that wait for it."""
    held = frozenset(each for each in view.may_hold if state.waits_for_restart(each))
    topics = {partition.topic for partition in held}
    definitions = SortedMapping({topic: digest for topic, digest in view.definitions.items() if topic in topics})
    return changed(
        view, phase=Phase.CRASHED, since_s=state.listened_s, held=held, definitions=definitions, sent=(), report=None
    )


def _others_take_over(state: State, consumer: ConsumerId, after: View) -> bool:
    view = state.consumers[consumer]
    if state.stage is Stage.SYNCHRONIZE or state.is_parked or not view.will_claim:
        return False
    then = changed(state, consumers={**state.consumers, consumer: after})
    left = view.may_hold - after.held
    return bool(then.usable()) and takeover.is_worthwhile(then, left, reassign.problem_of(then))
