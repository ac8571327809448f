"""Spares: warm consumers without partitions, as many as `spares` says, on top of those that the load needs.

A takeover after a crash gives them partitions, and a plan that opens consumers takes them first; their successors start
meanwhile, and nothing waits for these. Which consumers are spares is derived: those without partitions, up to the
wanted number. The packer does not see them, so that it neither fills nor closes them. `most_consumers` limits both
together, and the load comes first.
"""

from collections.abc import Iterable

from restow.controller.state import State
from restow.controller.transitions import Phase
from restow.model import Assignment, ConsumerId


def of(state: State) -> tuple[ConsumerId, ...]:
    """The spares among the consumers that can be given partitions, ready ones first. If more consumers are
    idle, the plan gets the ready ones, and those that still start are the spares: no move waits for their start."""
    most = state.rules.controller.spares
    if not most or state.is_parked:
        return ()
    pinned = {pin.consumer for pin in state.desired.taken_pins.values()}
    idle = [each for each in state.usable() if each not in pinned and _is_idle(state, each)]
    ready = [each for each in idle if state.consumers[each].phase is Phase.READY]
    starting = sorted(set(idle).difference(ready), reverse=True)[:most]
    return (*sorted(ready, reverse=True)[: most - len(starting)], *starting)


def wanted(state: State, working: int) -> int:
    """How many spares a group with so many working consumers should have."""
    most = state.most_consumers
    room = state.rules.controller.spares if most is None else most - state.set_aside - working
    return 0 if state.is_parked else max(0, min(state.rules.controller.spares, room))


def working(assignment: Assignment) -> int:
    """How many consumers have partitions."""
    return sum(bool(partitions) for partitions in assignment.by_consumer.values())


def needed(state: State, target: Assignment) -> Iterable[ConsumerId]:
    """The consumers of a plan that must be ready before a partition moves. None waits for a spare."""
    if not state.rules.controller.spares:
        return target.consumers
    return (consumer for consumer, partitions in target.by_consumer.items() if partitions)


def _is_idle(state: State, consumer: ConsumerId) -> bool:
    """What it claims and another consumer has taken over does not count."""
    view = state.consumers[consumer]
    if view.may_hold or view.held_before_roll:
        return False
    return not view.claims or view.claims <= state.holders().keys()
