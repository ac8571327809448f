"""What follows from a crash that the platform reports: others take over at once, or the partitions wait for the
restart; when it is late, others take over after all.

platform_events.py and timeouts.py call it.
"""

from math import floor

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
    words = None if takeover.is_short(transition.state) else _take_over(transition, consumer, view)
    if words is None:
        transition.change(consumer, phase=Phase.RESTARTED)
        words = "waiting for its restart"
    transition.change(consumer, crashed_s=transition.state.listened_s)
    transition.warn(consumer, f"{how}; {words}")


def wait(transition: Transition, consumer: ConsumerId, view: View) -> None:
    """For the restart of a crashed consumer. As soon as it is late others take over if they can; each second it is
    looked at again."""
    if view.crashed_s is None or view.heard_s > view.crashed_s:
        return  # it is restarted on request; or the report was about an earlier process, and this one lives
    late_s = view.crashed_s + takeover.late_after_s(transition.state)
    before_s, now_s = transition.before.listened_s - late_s, transition.state.listened_s - late_s
    if now_s < 0 or floor(before_s) == floor(now_s):
        return
    words = _take_over(transition, consumer, view)
    if words is not None:
        waited_s = transition.state.listened_s - view.crashed_s
        transition.warn(consumer, f"not back {waited_s:.1f} s after its crash; {words}")


def _take_over(transition: Transition, consumer: ConsumerId, view: View) -> str | None:
    """Gives its partitions to others, if they have room, and says so in words."""
    after = _after_takeover(transition.state, view)
    if not _others_can_take_over(transition.state, consumer, after):
        return None
    transition.put(consumer, after)
    transition.replan_cause = Cause.CRASHED
    return f"others take over {counted(len(view.may_hold) - len(after.held), 'partition')} of {len(view.may_hold)}"


def _after_takeover(state: State, view: View) -> View:
    """The view of a crashed consumer whose partitions others take over, but for those that wait for it."""
    held = frozenset(each for each in view.may_hold if state.waits_for_restart(each))
    topics = {partition.topic for partition in held}
    definitions = SortedMapping({topic: digest for topic, digest in view.definitions.items() if topic in topics})
    return changed(
        view, phase=Phase.CRASHED, since_s=state.listened_s, held=held, definitions=definitions, sent=(), report=None
    )


def _others_can_take_over(state: State, consumer: ConsumerId, after: View) -> bool:
    view = state.consumers[consumer]
    if state.stage is Stage.SYNCHRONIZE or state.is_parked or not view.will_claim:
        return False
    then = changed(state, consumers={**state.consumers, consumer: after})
    left = view.may_hold - after.held
    return bool(then.usable()) and takeover.have_room(then, left, reassign.problem_of(then))
