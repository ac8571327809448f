"""Reassign: what is true now -> who shall read what. A call of the packer, and its reasons put into words.

With speeds that are stale, or before the first, nothing is scaled: partitions that nobody reads are placed by what was
last known, and every consumer stays.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from restow.controller import roll
from restow.controller.effects import Noted
from restow.controller.load import backlogs, effective_speed
from restow.controller.reconcile import is_outdated
from restow.controller.state import State
from restow.controller.transition import Turn
from restow.controller.transitions import Cause, Phase, Stage
from restow.model import FIRST_CONSUMER, Assignment, Capacities, ConsumerId, Difference, Speeds, TopicPartition
from restow.packing import PACKERS, PackingPlan, Problem
from restow.packing.reasons import ConsumerClosed, ConsumerOpened, PartitionGivenUp, PartitionPlaced, Reason
from restow.platform.interface import CreateConsumer
from restow.text import counted, listed

NEVER = 1e9
"""A trigger that no load is above: by stale speeds nobody is relieved."""
INFEASIBLE, OVERLOADED = "infeasible", "too few consumers"


def reassign(turn: Turn) -> None:
    """In Reassign: decide, and go to Manage or back to Sentinel."""
    state = turn.state
    turn.set(looked_s=state.time_s)
    if not state.can_have_anybody:
        turn.set(target=None)
        turn.go(Stage.SENTINEL, Cause.NO_CHANGE, "no consumer is there, and none can be created yet")
        return
    plan = decide(state)
    for consumer in state.usable():
        if state.consumers[consumer].had:
            turn.change(consumer, had=frozenset())  # the plan has it
    if not state.must_hold:
        turn.set(packed=state.measured, tolerated=frozenset(plan.over_limit))
        _tell_limits(turn, plan)
    if not _changes(state, plan):
        turn.set(target=None)
        turn.go(Stage.SENTINEL, Cause.NO_CHANGE)
        return
    _explain(turn, plan)
    turn.set(target=plan.assignment)
    turn.go(Stage.MANAGE, Cause.CHANGE)
    for consumer in plan.assignment.consumers:
        if consumer not in turn.state.consumers:
            turn.appear(consumer, Phase.AWAITED, turn.state.fingerprint)
            turn.note(consumer, "is created")
            turn.do(CreateConsumer(consumer, turn.state.consumer_settings))


def decide(state: State) -> PackingPlan:
    rules, usable = state.rules.controller, state.usable()
    hold = state.must_hold
    least = max(0, rules.least_consumers - state.rolling)
    most = None if rules.most_consumers is None else rules.most_consumers - state.rolling
    if not state.may_create:
        most = min(most or len(usable), len(usable))
    if hold:
        least = max(least, len(usable))
        most = None if most is None else max(most, len(usable))
    elif roll.wants_one_more(state):
        least = max(least, len(usable) + 1)
    if most is not None:
        most = max(1, most)
        least = min(least, most)
    problem = Problem(
        speeds=_speeds(state),
        current=_current(state, usable),
        capacities=Capacities(state.capacity_bytes_per_s),
        worth=rules.worth,
        margins=replace(rules.margins, trigger=NEVER) if hold else rules.margins,
        least_consumers=least,
        most_consumers=most,
        previous=state.packed.speeds if state.packed else None,
    )
    return _renumbered(PACKERS[state.rules.packer](problem), state)


def _speeds(state: State) -> Speeds:
    """Of all partitions of interest that are known, but for those that wait for a consumer which is rolling. Those that
    rest after a refusal count as well: a consumer is kept for them, so that a table that can't be written doesn't send
    consumers away and back."""
    waiting, parked = backlogs(state), state.parked()
    return Speeds(
        {
            partition: effective_speed(state, partition, waiting.get(partition, 0.0))
            for partition in sorted(state.known - parked)
            if state.service_of(partition.topic) is not None
        }
    )


def _current(state: State, usable: tuple[ConsumerId, ...]) -> Assignment:
    """Who has what, where that is beyond doubt."""
    there, holders = set(usable), state.holders()
    owners = {
        partition: consumers[0]
        for partition, consumers in holders.items()
        if len(consumers) == 1 and consumers[0] in there
    }
    owners |= {partition: consumer for partition, consumer in _left_behind(state) if partition not in holders}
    return Assignment(owners, idle=usable)


def _left_behind(state: State) -> Iterator[tuple[TopicPartition, ConsumerId]]:
    """What those had who are back with new settings: it is theirs as before, and is to be started there again."""
    for consumer in state.usable():
        for partition in state.consumers[consumer].had:
            if state.service_of(partition.topic) is not None:
                yield partition, consumer


def _renumbered(plan: PackingPlan, state: State) -> PackingPlan:
    """New consumers get the lowest numbers that nobody has; one that leaves or is lost has its own until it is gone."""
    usable = set(plan.problem.current.consumers)
    new = [consumer for consumer in plan.assignment.consumers if consumer not in usable]
    free = (ConsumerId(number) for number in count(FIRST_CONSUMER) if number not in state.consumers)
    names = dict(zip(new, free, strict=False))
    if all(consumer == name for consumer, name in names.items()):
        return plan
    owners = {partition: names.get(consumer, consumer) for partition, consumer in plan.assignment.items()}
    idle = (names.get(consumer, consumer) for consumer in plan.assignment.consumers)
    return PackingPlan(plan.problem, Assignment(owners, idle))


def _changes(state: State, plan: PackingPlan) -> bool:
    change = plan.problem.current.difference(plan.assignment)
    if change.create or change.delete or change.stop or _can_start(state, change):
        return True
    if any(consumer in state.awaited() for consumer in plan.assignment.consumers):
        return True
    if _can_be_started(state, (partition for partition, _ in _left_behind(state))):
        return True
    for partition, consumers in state.holders().items():
        contenders = state.contenders(consumers)
        if len(contenders) > 1 or (contenders and partition not in plan.assignment):
            return True
        if contenders and state.consumers[contenders[0]].is_stopping(partition):
            return True  # it stays after all, but must be started again when it has stopped
        if contenders and is_outdated(state, state.consumers[contenders[0]], partition.topic):
            return True
    return False


def _can_start(state: State, change: Difference) -> bool:
    """Whether any of it is more than to wait until somebody is gone, or until a rest is over."""
    return _can_be_started(state, (partition for _, partitions in change.start for partition in partitions))


def _can_be_started(state: State, partitions: Iterable[TopicPartition]) -> bool:
    holders, unknown = state.holders(), state.unknown
    return any(
        partition not in holders and not state.is_resting(partition) and not state.must_wait(partition, unknown)
        for partition in partitions
    )


def _explain(turn: Turn, plan: PackingPlan) -> None:
    before, after = plan.problem.current.consumers, plan.assignment.consumers
    summary = f"{len(before)} -> {len(after)} consumers"
    if plan.moves:
        summary += f", {counted(len(plan.moves), 'move')} of {plan.r_score:.3g} capacities"
    turn.do(Noted("decision", "group", summary))
    turn.do(*(Noted("decision", _subject(reason), reason.words) for reason in plan.reasons))


def _subject(reason: Reason) -> str:
    match reason:
        case PartitionPlaced() | PartitionGivenUp():
            return str(reason.partition)
        case ConsumerOpened() | ConsumerClosed():
            return f"consumer {reason.consumer}"


def _tell_limits(turn: Turn, plan: PackingPlan) -> None:
    infeasible = f"{listed(plan.infeasible)} faster than any consumer" if plan.infeasible else None
    turn.flag(INFEASIBLE, infeasible)
    overloaded = ", ".join(str(consumer) for consumer in plan.overloaded)
    turn.flag(OVERLOADED, f"consumers {overloaded} carry too much: no more are allowed" if overloaded else None)
