"""Reassign: plans which consumer reads which partition. Calls the packer and notes its reasons.

While speeds are stale, and before the first measurement, nothing is scaled: unassigned partitions are placed by their
last known speeds, and every consumer stays. The same holds while the group is paused or decisions are only recommended
(holds.py); then every assigned partition stays too. If there is nothing to recover, the plan that would be carried out
otherwise is recommended.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count, islice
from typing import Final

from restow.controller import closing, gains, pins, poison, restarts, rise, roll, spares, starts, takeover
from restow.controller.effects import Noted
from restow.controller.load import Loads, overloaded, weighted
from restow.controller.reconcile import is_outdated
from restow.controller.state import State
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase, Stage
from restow.model import (
    FIRST_CONSUMER,
    Assignment,
    Capacities,
    ConsumerId,
    Difference,
    SortedMapping,
    Speeds,
    TopicPartition,
)
from restow.packing import PACKERS, PackingPlan, Problem
from restow.packing.problem import PinnedTo
from restow.packing.reasons import ConsumerClosed, ConsumerOpened, PartitionGivenUp, PartitionPlaced, Reason
from restow.platform.interface import CreateConsumer
from restow.text import counted, listed, sized

WORTH_SAYING: Final = 0.1
"""A cost that differs from the mean by less is not in the words of a reason."""
OVERLOADED, OVERPINNED = "too few consumers", "too much pinned"


def reassign(transition: Transition) -> None:
    """Plans, and enters Manage if the plan changes anything, else Sentinel."""
    starts.admit_late(transition)
    transition.set(replanned_s=transition.state.time_s)
    state = transition.state
    if not state.can_have_consumers:
        transition.set(target=None)
        transition.enter(Stage.SENTINEL, Cause.NO_CHANGE, "there is no consumer, and none can be created yet")
        return
    plan, postponed = decision(state)
    for consumer in state.usable():
        if state.consumers[consumer].held_before_roll:
            transition.change(consumer, held_before_roll=frozenset())  # the plan has it
    if not state.is_scaling_frozen and not state.only_recovers and not takeover.is_recovering(state):
        transition.set(packed=state.measured, tolerated=frozenset(plan.over_limit))
        _flag_limits(transition, plan)
        _flag_budget(transition, postponed)
    _clear_failed_starts(transition, plan)
    if not _has_changes(state, plan):
        transition.set(target=None)
        if state.only_recovers and not state.is_paused and not state.is_scaling_frozen:
            _recommend(transition)
        else:
            transition.enter(Stage.SENTINEL, Cause.NO_CHANGE)
        return
    _explain(transition, plan)
    gains.begin(transition, plan)
    transition.set(target=plan.assignment)
    transition.enter(Stage.MANAGE, Cause.CHANGE)
    for consumer in plan.assignment.consumers:
        if consumer not in transition.state.consumers:
            transition.add(consumer, Phase.AWAITED, transition.state.fingerprint)
            if plan.assignment.by_consumer[consumer] or not state.rules.controller.spares:
                transition.set(opened_s=transition.state.time_s)
            transition.note(consumer, "creating it")
            transition.do(CreateConsumer(consumer, transition.state.consumer_settings))


def _recommend(transition: Transition) -> None:
    """Publishes what would be done. It is made once more when another consumer is overloaded, and with each periodic
    look; the same plan is not repeated."""
    state = transition.state
    plan = decide(replace(state, desired=replace(state.desired, recommend=None)))
    transition.set(tolerated=frozenset(overloaded(state)))
    _flag_limits(transition, plan)
    is_change = _has_changes(state, plan)
    if is_change and plan.assignment != state.recommended:
        _explain(transition, plan, "recommended, not carried out: ")
        transition.enter(Stage.SENTINEL, Cause.RECOMMENDED)
    else:
        words = "the same change is recommended as before" if is_change else ""
        transition.enter(Stage.SENTINEL, Cause.NO_CHANGE, words)
    transition.set(recommended=plan.assignment if is_change else None)


def decide(state: State) -> PackingPlan:
    return decision(state)[0]


def decision(state: State) -> tuple[PackingPlan, str | None]:
    """The plan, and why a consumer that could be closed stays, if one does."""
    if takeover.is_recovering(state):
        problem = problem_of(state)
        return PackingPlan(problem, takeover.placed(state, problem)), None
    spare = () if _wants_canary(state) else spares.of(state)
    problem, pack = problem_of(state, spare), PACKERS[state.rules.packer]
    there, most, postponed = len(problem.current.consumers), problem.most_consumers, None
    if state.is_parked or closing.is_free(state):
        planned = pack(problem).assignment
    else:
        least = max(problem.least_consumers, there if most is None else min(there, most))
        planned = closing.with_present_consumers(problem, pack(replace(problem, least_consumers=least)).assignment)
        if len(planned.consumers) == there:
            fewer = closing.tightened(state, problem, planned)
            planned, postponed = fewer.assignment, fewer.postponed
    if len(planned.consumers) >= there and not state.is_parked:
        planned = rise.with_one_more(state, problem, planned)
    return _with_spares(_renumbered(PackingPlan(problem, planned), state, spare), state, spare), postponed


def _wants_canary(state: State) -> bool:
    return roll.wants_canary(state) or restarts.wants_canary(state)


def _with_spares(plan: PackingPlan, state: State, spare: tuple[ConsumerId, ...]) -> PackingPlan:
    """Adds spares to a plan: the consumers that it gave no partitions, and a new one for each spare that it did."""
    if not state.rules.controller.spares:
        return plan
    busy = plan.assignment.consumers
    left = [each for each in spare if each not in busy]
    kept = left if state.only_recovers else left[: spares.wanted(state, len(busy))]
    taken = {*state.consumers, *busy}
    waits = spares.must_wait(state, plan.problem.current, plan.assignment)
    missing = 0 if waits else spares.missing(state, busy, kept)
    new = islice((ConsumerId(number) for number in count(FIRST_CONSUMER) if number not in taken), missing)
    current = Assignment(plan.problem.current, idle=(*plan.problem.current.consumers, *spare))
    assignment = Assignment(plan.assignment, idle=(*busy, *kept, *new))
    return PackingPlan(replace(plan.problem, current=current), assignment)


def problem_of(state: State, spare: tuple[ConsumerId, ...] = ()) -> Problem:
    """`spare`: consumers that the plan leaves out."""
    rules, usable = state.rules.controller, tuple(each for each in state.usable() if each not in spare)
    frozen, speeds = state.is_scaling_frozen, _speeds(state)
    current = _current(state, usable, speeds)
    least, most = _bounds(state, len(usable), len(spare))
    return Problem(
        speeds=speeds,
        current=current,
        capacities=_capacities(state, usable),
        worth=rules.worth,
        moves_by_number=rules.moves_by_number,
        margins=replace(rules.margins, trigger=closing.NO_TRIGGER) if frozen or state.only_recovers else rules.margins,
        least_consumers=least,
        most_consumers=most,
        previous=weighted(state, state.packed.speeds) if state.packed else None,
        pins=SortedMapping({**_stays(state, current, speeds), **pins.plannable(state, speeds.keys())}),
    )


def _bounds(state: State, usable: int, spare: int) -> tuple[int, int | None]:
    """The least and the most consumers of a plan, of those that can be given partitions."""
    least, most = max(0, state.least_consumers - state.set_aside), state.most_consumers
    most = None if most is None else most - state.set_aside
    if not state.may_create:
        most = min(most or usable + spare, usable + spare)
    no_gain = gains.most_consumers(state)
    if no_gain is not None:  # no further one is opened, and none is closed for it
        most = max(no_gain, usable) if most is None else min(most, max(no_gain, usable))
    if state.only_recovers or state.is_scaling_frozen:
        least = usable if state.only_recovers else max(least, usable)
        most = None if most is None else max(most, usable)
    if _wants_canary(state) and (state.refused if state.only_recovers else not state.is_scaling_frozen):
        least = max(least, usable + 1)  # in a group that is held, if the settings may be what makes partitions readable
    if most is not None:
        most = max(1, most)
        least = min(least, most)
    return least, most


def _capacities(state: State, usable: tuple[ConsumerId, ...]) -> Capacities:
    """Of the consumers that can be given partitions; a new one is like the median."""
    known = state.capacities()
    own = {consumer: known.of_consumer[consumer] for consumer in usable if consumer in known.of_consumer}
    return Capacities(known.default, SortedMapping(own))


def _stays(state: State, current: Assignment, speeds: Speeds) -> SortedMapping[TopicPartition, PinnedTo]:
    """The assigned partitions, while nothing but recovery is allowed; and those that consumers crashed on."""
    suspects = poison.consumers_of_suspects(state, current)
    stays = {**suspects, **current} if state.only_recovers else suspects
    return SortedMapping({each: PinnedTo(consumer) for each, consumer in stays.items() if each in speeds})


def _speeds(state: State) -> Speeds:
    """Effective speeds of all known partitions of consumed topics, except those that wait for a rolling consumer.
    Refused partitions count: a consumer is kept for them, so that an unwritable table closes and opens no consumers."""
    if state.is_parked:
        return Speeds()
    each, parked, known = Loads(state), state.parked(), state.known
    consumed = {topic for topic in {partition.topic for partition in known} if state.service_of(topic) is not None}
    measured = Speeds() if state.measured is None else state.measured.speeds
    ordered = measured if len(measured) == len(known) and known.issuperset(measured) else sorted(known)
    return Speeds({p: each.of(p) for p in ordered if p.topic in consumed and p not in parked})


def _current(state: State, usable: tuple[ConsumerId, ...], speeds: Speeds) -> Assignment:
    """The present assignment, as far as it is certain. Most of its partitions have a speed, and these are in order."""
    present, holders = set(usable), state.holders()
    owners = {
        partition: consumers[0]
        for partition, consumers in holders.items()
        if len(consumers) == 1 and consumers[0] in present
    }
    owners |= {partition: consumer for partition, consumer in _waiting_for_own(state) if partition not in holders}
    if state.only_recovers:
        owners |= _with_one_of_several(holders, present)
        owners |= _on_their_way(state, owners, present)
    ordered = {partition: owners.pop(partition) for partition in speeds if partition in owners}
    return Assignment(ordered | owners, idle=usable)


def _with_one_of_several(
    holders: Mapping[TopicPartition, list[ConsumerId]], present: set[ConsumerId]
) -> dict[TopicPartition, ConsumerId]:
    """Partitions that several consumers may hold. In a group that is held, one of them gets each when all have stopped
    it: no consumer is opened for it."""
    several = ((each, present.intersection(consumers)) for each, consumers in holders.items() if len(consumers) > 1)
    return {partition: min(consumers) for partition, consumers in several if consumers}


def _on_their_way(
    state: State, owners: Mapping[TopicPartition, ConsumerId], present: set[ConsumerId]
) -> dict[TopicPartition, ConsumerId]:
    """Partitions whose Stop was sent before the hold: they go where the plan under way wanted them."""
    if state.target is None:
        return {}
    stopping = (each for each, consumer in owners.items() if state.consumers[consumer].is_stopping(each))
    targets = ((each, state.target.get(each)) for each in stopping)
    return {each: consumer for each, consumer in targets if consumer is not None and consumer in present}


def _waiting_for_own(state: State) -> Iterator[tuple[TopicPartition, ConsumerId]]:
    """What consumers held before they were rolled, and what they claim after a crash: it starts there again."""
    for consumer in state.usable():
        view = state.consumers[consumer]
        for partition in view.held_before_roll | view.claims:
            if state.service_of(partition.topic) is not None:
                yield partition, consumer


def _renumbered(plan: PackingPlan, state: State, spare: tuple[ConsumerId, ...]) -> PackingPlan:
    """Gives new consumers the numbers of spares, and then the lowest free ones; a leaving or lost consumer keeps its
    own until it is gone."""
    usable = set(plan.problem.current.consumers)
    new = [consumer for consumer in plan.assignment.consumers if consumer not in usable]
    free = (ConsumerId(number) for number in count(FIRST_CONSUMER) if number not in state.consumers)
    names = dict(zip(new, chain(spare, free), strict=False))
    if all(consumer == name for consumer, name in names.items()):
        return plan
    owners = {partition: names.get(consumer, consumer) for partition, consumer in plan.assignment.items()}
    idle = (names.get(consumer, consumer) for consumer in plan.assignment.consumers)
    return PackingPlan(plan.problem, Assignment(owners, idle))


def _has_changes(state: State, plan: PackingPlan) -> bool:
    change = plan.problem.current.difference(plan.assignment)
    if change.create or change.delete or change.stop or _can_start(state, change):
        return True
    if not state.awaited().isdisjoint(plan.assignment.consumers):
        return True
    if _can_be_started(state, (partition for partition, _ in _waiting_for_own(state))):
        return True
    return _are_misheld(state, plan.assignment)


def _are_misheld(state: State, planned: Assignment) -> bool:
    """Whether a consumer that stays may hold what another one may hold too, what no consumer should hold, or what it
    has to stop or to start again."""
    held: set[TopicPartition] = set()
    for consumer in state.contenders(list(state.consumers)):
        view = state.consumers[consumer]
        may_hold = view.may_hold
        if not held.isdisjoint(may_hold) or not may_hold <= planned.keys():
            return True
        held |= may_hold
        if view.sent and any(map(view.is_stopping, may_hold)):
            return True  # it stays, and must be started again when it has stopped
        if any(is_outdated(state, view, topic) for topic in {partition.topic for partition in may_hold}):
            return True
    return False


def _can_start(state: State, change: Difference) -> bool:
    """Whether any start can happen now, without waiting for a consumer to be gone or for a pause to end."""
    return _can_be_started(state, (partition for _, partitions in change.start for partition in partitions))


def _can_be_started(state: State, partitions: Iterable[TopicPartition]) -> bool:
    partitions = tuple(partitions)
    if not partitions:
        return False
    holders, unknown_phases = state.holders(), state.unknown_phases
    return any(
        partition not in holders and not state.is_resting(partition) and not state.must_wait(partition, unknown_phases)
        for partition in partitions
    )


def _explain(transition: Transition, plan: PackingPlan, how: str = "") -> None:
    before, after = plan.problem.current.consumers, plan.assignment.consumers
    summary = f"{how}{len(before)} -> {len(after)} consumers"
    if transition.state.is_parked:
        summary += ": the group is parked"
    elif len(after) < len(before) and (window_s := transition.state.rules.controller.close_after_s):
        summary += f", which could have carried the load of the last {window_s:g} s"
    if plan.moves:
        summary += f", {counted(len(plan.moves), 'move')} of {plan.r_score:.3g} capacities"
    if transition.state.fixed_capacity_bytes_per_s is None:
        summary += f"; {_learned_words(plan.problem.capacities)}"
    transition.do(Noted("decision", "group", summary))
    for reason in () if transition.state.is_parked else plan.reasons:
        transition.do(Noted("decision", _subject(reason), _words(transition.state, plan, reason)))


def _words(state: State, plan: PackingPlan, reason: Reason) -> str:
    if isinstance(reason, ConsumerOpened) and not reason.partitions and state.rules.controller.spares:
        return f"consumer {reason.consumer} is opened as a spare"
    is_beyond_least = len(plan.assignment.consumers) > plan.problem.least_consumers
    if isinstance(reason, ConsumerOpened) and not reason.partitions and is_beyond_least:
        return f"consumer {reason.consumer} is opened ahead: {rise.words(state)}"
    return reason.words + _cost_words(state, reason)


def _learned_words(capacities: Capacities) -> str:
    own = sorted(capacities.of_consumer.values())
    if not own:
        return f"capacities are assumed to be {sized(capacities.default)}/s until they are learned"
    low, high = sized(own[0]), sized(own[-1])
    return f"capacities are learned: {low}/s" + ("" if low == high else f" to {high}/s")


def _cost_words(state: State, reason: Reason) -> str:
    """What its topic costs, where that matters."""
    if not isinstance(reason, PartitionPlaced):
        return ""
    topic = reason.partition.topic
    cost = state.cost_of(topic)
    return "" if abs(cost - 1) < WORTH_SAYING else f"; a byte of {topic} costs {cost:.2g} times the mean"


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


def _flag_budget(transition: Transition, postponed: str | None) -> None:
    if postponed is not None:
        transition.flag(closing.BUDGET, postponed)
    else:
        transition.clear(closing.BUDGET, "no consumer waits to be closed")


def _flag_limits(transition: Transition, plan: PackingPlan) -> None:
    if plan.overpinned:
        transition.flag(OVERPINNED, _overpinned(transition.state, plan.overpinned))
    else:
        transition.clear(OVERPINNED, "pinned partitions overload no consumer")
    too_full = ", ".join(str(consumer) for consumer in plan.overloaded)
    if too_full:
        transition.flag(OVERLOADED, f"consumers {too_full} are overloaded, and no more can be created now")
    else:
        transition.clear(OVERLOADED, "no consumer is overloaded")


def _overpinned(state: State, consumers: Sequence[ConsumerId]) -> str:
    """Partitions stay on a consumer because people pinned them there, or because it crashed on them."""
    over = listed([f"consumer {consumer}" for consumer in consumers], "consumer")
    if any(pin.consumer in consumers for pin in state.desired.taken_pins.values()):
        return f"the partitions pinned to {over} are too fast for it; move or unpin one"
    return f"the partitions that {over} crashed on are too fast for it, and stay there until it has read them"
