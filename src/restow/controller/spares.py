"""Spares: warm consumers without partitions, as many as `spares` says, on top of those that the load needs.

A takeover after a crash gives them partitions, and a plan that opens consumers takes them first. Nothing waits for
their successors, which start when the partitions have moved: on the same machine a start takes the cores that the moves
need. They start at once if the moves have to wait for the start of another consumer anyway. Which consumers are spares
is derived: those without partitions, up to the wanted number. The packer does not see them, so that it neither fills
nor closes them. `most_consumers` limits both together, and the load comes first.
"""

from collections.abc import Collection, Iterable

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


def missing(state: State, working: Collection[ConsumerId], spare: Collection[ConsumerId]) -> int:
    """How many spares should be created in a group in which these consumers work and these are spare."""
    if state.only_recovers or state.is_scaling_frozen or not state.may_create:
        return 0
    lacking = wanted(state, len(working)) - len(spare)
    if state.most_consumers is not None:  # a consumer that is being closed counts until it is gone
        lacking = min(lacking, state.most_consumers - len({*state.consumers, *working}))
    return max(0, lacking)


def are_missing(state: State) -> bool:
    """Sentinel: whether the last plan has left their creation to the next. A consumer that comes back after a crash may
    be one."""
    if not state.rules.controller.spares or len(state.usable()) < len(state.consumers):
        return False
    spare = of(state)
    return missing(state, [each for each in state.usable() if each not in spare], spare) > 0


def must_wait(state: State, current: Assignment, planned: Assignment) -> bool:
    """Whether new spares wait for the next plan: partitions move now, and to consumers that are ready."""
    if not current.difference(planned).stop:
        return False
    return all(
        consumer in state.consumers and state.consumers[consumer].phase is Phase.READY
        for consumer, partitions in planned.by_consumer.items()
        if partitions
    )


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
