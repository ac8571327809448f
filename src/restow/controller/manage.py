"""Manage: works towards the target, one command after another, whatever has been answered so far.

It keeps nothing but the target: at each change, what remains to be done follows from who may hold what. A partition is
started only when no other consumer may hold it. It is stopped for another consumer only when every new consumer is
ready, so that their start does not pause the data; a partition that no consumer holds starts as soon as its own
consumer is ready.
"""

from restow.controller import closing, roll, spares
from restow.controller.reconcile import OutdatedTopics, deviations, wanted_of
from restow.controller.removal import delete
from restow.controller.state import State, View
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase, Stage
from restow.model import Assignment, ConsumerId, SortedMapping, TopicPartition
from restow.protocol.field_types import RECOVER, StartFrom

Holders = dict[TopicPartition, list[ConsumerId]]
Missing = dict[ConsumerId, frozenset[TopicPartition]]


def manage(transition: Transition) -> None:
    target = transition.state.target
    assert target is not None, "Manage works towards a target"
    found = _Deviations(transition.state, target)
    all_ready = transition.state.awaited().isdisjoint(spares.needed(transition.state, target))
    stops, held_back = _stops(transition.state, target, found.holders, all_ready)
    for consumer in sorted(stops):
        transition.command_stop(consumer, tuple(sorted(stops[consumer])))
    closing.count_moves(transition, _moves(target, stops))
    starts, waiting = _starts(transition.state, found.missing, found.taken)
    for consumer in sorted(starts):
        transition.command_start(consumer, SortedMapping(starts[consumer]))
    if starts:
        begun = {partition for partitions in starts.values() for partition in partitions}
        left = {partition: offset for partition, offset in transition.state.stopped.items() if partition not in begun}
        transition.set(stopped=SortedMapping(left))
    is_pending = stops or starts or held_back or waiting or _has_unanswered(transition.state)
    if all_ready and not is_pending:
        _finish(transition, target)


def is_news(before: State, after: State) -> bool:
    """Whether anything changed that Manage depends on."""
    if any(getattr(before, name) is not getattr(after, name) for name in ("target", "updates", "refused", "stopped")):
        return True
    if after.refused or before.consumers.keys() != after.consumers.keys():
        return True  # the pause of a refused partition ends with time
    return any(
        view is not before.consumers[consumer] and _differs(view, before.consumers[consumer])
        for consumer, view in after.consumers.items()
    )


def _differs(one: View, other: View) -> bool:
    names = ("phase", "incarnation", "held", "definitions", "has_reported_holdings")
    return one.sent is not other.sent or any(getattr(one, name) != getattr(other, name) for name in names)


class _Deviations:
    """The deviations of all consumers together."""

    def __init__(self, state: State, target: Assignment) -> None:
        found = tuple(deviations(state, target))
        absent = (consumer for consumer in target.consumers if consumer not in state.consumers)
        self.missing: Missing = {consumer: wanted_of(target)[consumer] for consumer in absent}
        self.missing |= {consumer: each.missing for consumer, each in found if each.missing}
        self.taken = frozenset[TopicPartition]().union(*(each.surplus for _, each in found if each.surplus))
        """No consumer may start these."""
        not_stopping = frozenset[TopicPartition]().union(*(each.not_stopping for _, each in found if each.not_stopping))
        self.holders: Holders = {partition: [] for partition in not_stopping}
        """The consumers that may hold each partition that may have to be stopped."""
        for consumer, each in found:
            for partition in each.surplus & not_stopping if not_stopping else ():
                self.holders[partition].append(consumer)
        held = {consumer: view.may_hold for consumer, view in state.consumers.items()} if not_stopping else {}
        owner_of = target.to_dict().get  # of a large group, thousands are asked for
        for partition, consumers in self.holders.items():
            owner = owner_of(partition)
            if owner is not None and owner not in consumers and partition in held.get(owner, ()):
                consumers.append(owner)


def _stops(
    state: State, target: Assignment, holders: Holders, all_ready: bool
) -> tuple[dict[ConsumerId, list[TopicPartition]], bool]:
    """The partitions to stop now, and whether more are to be stopped when consumers are ready."""
    stops: dict[ConsumerId, list[TopicPartition]] = {}
    held_back = False
    outdated, staying = OutdatedTopics(state), set(state.contenders(list(state.consumers)))
    owner_of = target.to_dict().get
    for partition, consumers in holders.items():
        wanted = owner_of(partition)
        if not all_ready and len(consumers) == 1 and wanted is not None and wanted != consumers[0]:
            held_back = held_back or consumers[0] in staying
            continue  # a move waits: of a large group nearly all partitions, at each answer
        contenders = state.contenders(consumers)
        if contenders == [wanted] and partition.topic not in outdated[contenders[0]]:
            continue
        moves = wanted is not None and len(contenders) == 1 and contenders[0] != wanted
        for consumer in contenders:
            view = state.consumers[consumer]
            if view.is_stopping(partition):
                continue
            if view.phase is not Phase.READY or (moves and not (all_ready and _is_ready(state, wanted))):
                held_back = True
            else:
                stops.setdefault(consumer, []).append(partition)
    return stops, held_back


def _moves(target: Assignment, stops: dict[ConsumerId, list[TopicPartition]]) -> int:
    """How many of the stopped partitions go to another consumer."""
    return sum(target.get(each, consumer) != consumer for consumer, partitions in stops.items() for each in partitions)


def _starts(
    state: State, missing: Missing, taken: frozenset[TopicPartition]
) -> tuple[dict[ConsumerId, dict[TopicPartition, StartFrom]], bool]:
    """The partitions to start now, and whether more are to be started when consumers are ready."""
    starts: dict[ConsumerId, dict[TopicPartition, StartFrom]] = {}
    waiting, unknown_phases, outdated = False, state.unknown_phases, OutdatedTopics(state)
    for consumer, partitions in missing.items():
        view = state.consumers.get(consumer)
        is_ready = view is not None and view.phase is Phase.READY
        if waiting and not is_ready:
            continue  # it starts nothing now, and `waiting` is known
        for partition in sorted(partitions - taken):
            service = state.service_of(partition.topic)
            if service is None or state.is_resting(partition) or state.must_wait(partition, unknown_phases):
                continue
            # A consumer reads a topic by one definition: the old one is stopped before the new one starts.
            if view is None or not is_ready or partition.topic in outdated[consumer]:
                waiting = True
            else:
                starts.setdefault(consumer, {})[partition] = state.stopped.get(partition, RECOVER)
    return starts, waiting


def _is_ready(state: State, consumer: ConsumerId | None) -> bool:
    view = state.consumers.get(consumer) if consumer is not None else None
    return view is not None and view.phase is Phase.READY


def _has_unanswered(state: State) -> bool:
    working = (Phase.READY, Phase.RESTARTED)
    return any(view.sent for view in state.consumers.values() if view.phase in working)


def _finish(transition: Transition, target: Assignment) -> None:
    staying = set(target.consumers)
    for consumer in transition.state.usable():
        if transition.state.only_recovers:
            break  # one that came up after the plan stays for the next
        if consumer not in staying:
            assert not transition.state.consumers[consumer].may_hold, f"consumer {consumer} leaves with partitions"
            transition.note(consumer, "no partitions left; deleting it")
            transition.set(closed_s=transition.state.time_s)
            roll.halt_if_it_shows_broken_code(transition, consumer)
            delete(transition, consumer)
    transition.set(target=None)
    transition.enter(Stage.SENTINEL, Cause.DONE)
