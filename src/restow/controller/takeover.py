"""Takeover after a crash: others read a consumer's partitions before it is back, if they have room.

The platform reports a crash at once, and restarts the consumer. What lies in tables that refuse late writes can start
elsewhere with `recover`, because a late write of the old process would be refused. That pays if a restart takes longer
than a takeover, and if ready consumers, spares among them, have room for all of it. A short restart is waited for; if
it is late, because the platform backs off, others take over after all. Nothing else is moved, opened or closed
meanwhile: the crashed consumer is soon a consumer with room like any other.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from restow.controller.rise import start_s
from restow.controller.state import State
from restow.controller.transition import Transition
from restow.controller.transitions import Phase
from restow.model import Assignment, ConsumerId, TopicPartition
from restow.packing import Problem

TAKES_S: Final = 0.3
"""What a takeover takes. A consumer that is back sooner gets its partitions itself."""
ASSUMED_RESTART_S: Final = 10.0
"""The time of a restart before one was measured: about what Spark takes."""
RESTARTS: Final = 5
"""How many restarts are remembered. Their median is the time that a restart takes."""
SLACK_S: Final = 5.0


def restart_s(state: State) -> float:
    """The time from a crash until the consumer is back, as measured; before the first, that of a start."""
    ordered = sorted(state.restart_times_s)
    return ordered[len(ordered) // 2] if ordered else start_s(state) or ASSUMED_RESTART_S


def restarted(transition: Transition, took_s: float) -> None:
    """A consumer is back after a crash."""
    transition.set(restart_times_s=(*transition.state.restart_times_s, took_s)[-RESTARTS:])


def is_recovering(state: State) -> bool:
    """Whether a crashed consumer is expected back, so that nothing is scaled for its absence."""
    crashed = [view for view in state.consumers.values() if view.phase is Phase.CRASHED]
    if not crashed:
        return False
    within_s = 2 * restart_s(state) + SLACK_S
    return any(state.listened_s - view.since_s < within_s for view in crashed)


def is_short(state: State) -> bool:
    """Whether a restart takes no longer than a takeover, so that it is waited for."""
    return restart_s(state) <= TAKES_S


def late_after_s(state: State) -> float:
    """After so long a restart is late: others could have the partitions by now."""
    return restart_s(state) + TAKES_S


def have_room(state: State, left: Iterable[TopicPartition], problem: Problem) -> bool:
    """Whether others can read what a crashed consumer has left: by the state in which it counts as crashed, and the
    problem of that state."""
    if problem.speeds.keys().isdisjoint(left) or state.unknown_phases:
        return False
    loads = placed(state, problem).loads(problem.speeds)
    gaining = set(_placements(state, problem).values())
    return bool(gaining) and all(loads[each] <= problem.capacities[each] for each in gaining)


def placed(state: State, problem: Problem) -> Assignment:
    """The present assignment, and each partition without a consumer where the most room is; pins hold."""
    pinned = {partition: pin.consumer for partition, pin in problem.pins.items()}
    return Assignment({**problem.current, **_placements(state, problem), **pinned}, idle=problem.current.consumers)


def _placements(state: State, problem: Problem) -> Mapping[TopicPartition, ConsumerId]:
    """By ready consumers only, the heaviest partition first."""
    loads = problem.current.loads(problem.speeds)
    room = {
        consumer: problem.capacities[consumer] - loads[consumer]
        for consumer in problem.current.consumers
        if state.consumers[consumer].phase is Phase.READY
    }
    if not room:
        return {}
    unassigned = [each for each in problem.speeds if each not in problem.current and each not in problem.pins]
    found: dict[TopicPartition, ConsumerId] = {}
    for partition in sorted(unassigned, key=lambda each: (-problem.speeds[each], each)):
        consumer = max(room, key=lambda each: (room[each], -each))
        found[partition] = consumer
        room[consumer] -= problem.speeds[partition]
    return found
