"""Reassign: plans which consumer reads which partition. Calls the packer and notes its reasons.

While speeds are stale, and before the first measurement, nothing is scaled: unassigned partitions are placed by their
last known speeds, and every consumer stays.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import Final

from restow.controller import pins, restarts, roll, starts
from restow.controller.effects import Noted
from restow.controller.load import backlogs, effective_speed
from restow.controller.reconcile import is_outdated
from restow.controller.state import State
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase, Stage
from restow.model import FIRST_CONSUMER, Assignment, Capacities, ConsumerId, Difference, Speeds, TopicPartition
from restow.packing import PACKERS, PackingPlan, Problem
from restow.packing.reasons import ConsumerClosed, ConsumerOpened, PartitionGivenUp, PartitionPlaced, Reason
from restow.platform.interface import CreateConsumer
from restow.text import counted, listed

NO_TRIGGER: Final = 1e9
"""No load is above it: stale speeds relieve no consumer."""
INFEASIBLE, OVERLOADED, OVERPINNED = "infeasible", "too few consumers", "too much pinned"


def reassign(transition: Transition) -> None:
    """Plans, and enters Manage if the plan changes anything, else Sentinel."""
    starts.admit_late(transition)
    transition.set(replanned_s=transition.state.time_s)
    state = transition.state
    if not state.can_have_consumers:
        transition.set(target=None)
        transition.enter(Stage.SENTINEL, Cause.NO_CHANGE, "there is no consumer, and none can be created yet")
        return
    plan = decide(state)
    for consumer in state.usable():
        if state.consumers[consumer].held_before_roll:
            transition.change(consumer, held_before_roll=frozenset())  # the plan has it
    if not state.is_scaling_frozen:
        transition.set(packed=state.measured, tolerated=frozenset(plan.over_limit))
        _flag_limits(transition, plan)
    _clear_failed_starts(transition, plan)
    if not _has_changes(state, plan):
        transition.set(target=None)
        transition.enter(Stage.SENTINEL, Cause.NO_CHANGE)
        return
    _explain(transition, plan)
    transition.set(target=plan.assignment)
    transition.enter(Stage.MANAGE, Cause.CHANGE)
    for consumer in plan.assignment.consumers:
        if consumer not in transition.state.consumers:
            transition.add(consumer, Phase.AWAITED, transition.state.fingerprint)
            transition.note(consumer, "creating it")
            transition.do(CreateConsumer(consumer, transition.state.consumer_settings))


def decide(state: State) -> PackingPlan:
    rules, usable = state.rules.controller, state.usable()
    frozen = state.is_scaling_frozen
    least = max(0, rules.least_consumers - state.set_aside)
    most = None if rules.most_consumers is None else rules.most_consumers - state.set_aside
    if not state.may_create:
        most = min(most or len(usable), len(usable))
    if frozen:
        least = max(least, len(usable))
        most = None if most is None else max(most, len(usable))
    elif roll.wants_canary(state) or restarts.wants_canary(state):
        least = max(least, len(usable) + 1)
    if most is not None:
        most = max(1, most)
        least = min(least, most)
    speeds = _speeds(state)
    problem = Problem(
        speeds=speeds,
        current=_current(state, usable),
        capacities=Capacities(state.capacity_bytes_per_s),
        worth=rules.worth,
        margins=replace(rules.margins, trigger=NO_TRIGGER) if frozen else rules.margins,
        least_consumers=least,
        most_consumers=most,
        previous=state.packed.speeds if state.packed else None,
        pins=pins.plannable(state, speeds.keys()),
    )
    return _renumbered(PACKERS[state.rules.packer](problem), state)


def _speeds(state: State) -> Speeds:
    """Effective speeds of all known partitions of consumed topics, except those that wait for a rolling consumer.
    Refused partitions count: a consumer is kept for them, so that an unwritable table closes and opens no consumers."""
    waiting, parked = backlogs(state), state.parked()
    return Speeds(
        {
            partition: effective_speed(state, partition, waiting.get(partition, 0.0))
            for partition in sorted(state.known - parked)
            if state.service_of(partition.topic) is not None
        }
    )


def _current(state: State, usable: tuple[ConsumerId, ...]) -> Assignment:
    """The present assignment, as far as it is certain."""
    present, holders = set(usable), state.holders()
    owners = {
        partition: consumers[0]
        for partition, consumers in holders.items()
        if len(consumers) == 1 and consumers[0] in present
    }
    owners |= {partition: consumer for partition, consumer in _waiting_for_rolled(state) if partition not in holders}
    return Assignment(owners, idle=usable)


def _waiting_for_rolled(state: State) -> Iterator[tuple[TopicPartition, ConsumerId]]:
    """What consumers held before they were rolled: it starts there again."""
    for consumer in state.usable():
        for partition in state.consumers[consumer].held_before_roll:
            if state.service_of(partition.topic) is not None:
                yield partition, consumer


def _renumbered(plan: PackingPlan, state: State) -> PackingPlan:
    """Gives new consumers the lowest free numbers; a leaving or lost consumer keeps its own until it is gone."""
    usable = set(plan.problem.current.consumers)
    new = [consumer for consumer in plan.assignment.consumers if consumer not in usable]
    free = (ConsumerId(number) for number in count(FIRST_CONSUMER) if number not in state.consumers)
    names = dict(zip(new, free, strict=False))
    if all(consumer == name for consumer, name in names.items()):
        return plan
    owners = {partition: names.get(consumer, consumer) for partition, consumer in plan.assignment.items()}
    idle = (names.get(consumer, consumer) for consumer in plan.assignment.consumers)
    return PackingPlan(plan.problem, Assignment(owners, idle))


def _has_changes(state: State, plan: PackingPlan) -> bool:
    change = plan.problem.current.difference(plan.assignment)
    if change.create or change.delete or change.stop or _can_start(state, change):
        return True
    if any(consumer in state.awaited() for consumer in plan.assignment.consumers):
        return True
    if _can_be_started(state, (partition for partition, _ in _waiting_for_rolled(state))):
        return True
    for partition, consumers in state.holders().items():
        contenders = state.contenders(consumers)
        if len(contenders) > 1 or (contenders and partition not in plan.assignment):
            return True
        if contenders and state.consumers[contenders[0]].is_stopping(partition):
            return True  # it stays, and must be started again when it has stopped
        if contenders and is_outdated(state, state.consumers[contenders[0]], partition.topic):
            return True
    return False


def _can_start(state: State, change: Difference) -> bool:
    """Whether any start can happen now, without waiting for a consumer to be gone or for a pause to end."""
    return _can_be_started(state, (partition for _, partitions in change.start for partition in partitions))


def _can_be_started(state: State, partitions: Iterable[TopicPartition]) -> bool:
    holders, unknown_phases = state.holders(), state.unknown_phases
    return any(
        partition not in holders and not state.is_resting(partition) and not state.must_wait(partition, unknown_phases)
        for partition in partitions
    )


def _explain(transition: Transition, plan: PackingPlan) -> None:
    before, after = plan.problem.current.consumers, plan.assignment.consumers
    summary = f"{len(before)} -> {len(after)} consumers"
    if plan.moves:
        summary += f", {counted(len(plan.moves), 'move')} of {plan.r_score:.3g} capacities"
    transition.do(Noted("decision", "group", summary))
    transition.do(*(Noted("decision", _subject(reason), reason.words) for reason in plan.reasons))


def _subject(reason: Reason) -> str:
    match reason:
        case PartitionPlaced() | PartitionGivenUp():
            return str(reason.partition)
        case ConsumerOpened() | ConsumerClosed():
            return f"consumer {reason.consumer}"


def _clear_failed_starts(transition: Transition, plan: PackingPlan) -> None:
    """The flag's last start failed; it does not matter any more if another start could be tried and none is needed."""
    state = transition.state
    is_starting = any(view.phase is Phase.AWAITED for view in state.consumers.values())
    is_needed = is_starting or any(consumer not in state.consumers for consumer in plan.assignment.consumers)
    if state.creation.failures and state.may_create and not is_needed:
        transition.clear(starts.FAILED_STARTS, "no more consumers are needed")


def _flag_limits(transition: Transition, plan: PackingPlan) -> None:
    if plan.infeasible:
        transition.flag(INFEASIBLE, f"{listed(plan.infeasible)} faster than any consumer")
    else:
        transition.clear(INFEASIBLE, "every partition fits one consumer")
    if plan.overpinned:
        over = listed([f"consumer {consumer}" for consumer in plan.overpinned], "consumer")
        transition.flag(OVERPINNED, f"the partitions pinned to {over} are too fast for it; move or unpin one")
    else:
        transition.clear(OVERPINNED, "pinned partitions overload no consumer")
    overloaded = ", ".join(str(consumer) for consumer in plan.overloaded)
    if overloaded:
        transition.flag(OVERLOADED, f"consumers {overloaded} are overloaded, and no more can be created now")
    else:
        transition.clear(OVERLOADED, "no consumer is overloaded")
