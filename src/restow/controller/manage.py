"""Manage: turn what is into the target, command by command, whatever has been answered so far.

Nothing is remembered but the target: each time, what is missing follows from who may hold what. A partition is started
only when nobody else may hold it. It is stopped for another consumer only when every new consumer is ready, so that
their start is no pause for the data; partitions that nobody holds are started as soon as their own consumer is ready.
"""

from restow.controller.patience import dismiss
from restow.controller.reconcile import is_outdated, places, wanted_of
from restow.controller.state import State, View
from restow.controller.transition import Turn
from restow.controller.transitions import Cause, Phase, Stage
from restow.model import Assignment, ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages import RECOVER, StartFrom

Holders = dict[TopicPartition, list[ConsumerId]]
Missing = dict[ConsumerId, frozenset[TopicPartition]]


def manage(turn: Turn) -> None:
    target = turn.state.target
    assert target is not None, "Manage works for a target"
    found = _OutOfPlace(turn.state, target)
    all_there = turn.state.awaited().isdisjoint(target.consumers)
    stops, held_back = _stops(turn.state, target, found.holders, all_there)
    for consumer in sorted(stops):
        turn.command_stop(consumer, tuple(sorted(stops[consumer])))
    starts, waiting = _starts(turn.state, found.missing, found.taken)
    for consumer in sorted(starts):
        turn.command_start(consumer, SortedMapping(starts[consumer]))
    if starts:
        begun = {partition for partitions in starts.values() for partition in partitions}
        left = {partition: offset for partition, offset in turn.state.stopped.items() if partition not in begun}
        turn.set(stopped=SortedMapping(left))
    if all_there and not stops and not starts and not held_back and not waiting and not _is_anybody_asked(turn.state):
        _finish(turn, target)


def is_news(before: State, after: State) -> bool:
    """Whether there is anything to manage by that was not there before."""
    if any(getattr(before, name) is not getattr(after, name) for name in ("target", "updates", "refused", "stopped")):
        return True
    if after.refused or before.consumers.keys() != after.consumers.keys():
        return True  # rests end with time
    return any(
        view is not before.consumers[consumer] and _differs(view, before.consumers[consumer])
        for consumer, view in after.consumers.items()
    )


def _differs(one: View, other: View) -> bool:
    return one.sent is not other.sent or any(
        getattr(one, name) != getattr(other, name) for name in ("phase", "incarnation", "held", "definitions", "told")
    )


class _OutOfPlace:
    """All that somebody may hold who should not, or not by this definition; and what somebody should hold who
    doesn't."""

    def __init__(self, state: State, target: Assignment) -> None:
        found = tuple(places(state, target))
        absent = (consumer for consumer in target.consumers if consumer not in state.consumers)
        self.missing: Missing = {consumer: wanted_of(target)[consumer] for consumer in absent}
        self.missing |= {consumer: place.missing for consumer, place in found if place.missing}
        self.taken = frozenset[TopicPartition]().union(*(place.odd for _, place in found if place.odd))
        """Nobody may start these."""
        undecided = frozenset[TopicPartition]().union(*(place.undecided for _, place in found if place.undecided))
        self.holders: Holders = {partition: [] for partition in undecided}
        """Who may hold each partition that somebody may have to be told to stop."""
        for consumer, place in found:
            for partition in place.odd & undecided if undecided else ():
                self.holders[partition].append(consumer)
        for partition, consumers in self.holders.items():
            owner = target.get(partition)
            view = None if owner is None or owner in consumers else state.consumers.get(owner)
            if owner is not None and view is not None and partition in view.may_hold:
                consumers.append(owner)


def _stops(
    state: State, target: Assignment, holders: Holders, all_there: bool
) -> tuple[dict[ConsumerId, list[TopicPartition]], bool]:
    """What to stop now, and whether more is to be stopped when consumers are ready."""
    stops: dict[ConsumerId, list[TopicPartition]] = {}
    held_back = False
    for partition, consumers in holders.items():
        wanted, contenders = target.get(partition), state.contenders(consumers)
        if contenders == [wanted] and not is_outdated(state, state.consumers[contenders[0]], partition.topic):
            continue
        moves = wanted is not None and len(contenders) == 1 and contenders[0] != wanted
        for consumer in contenders:
            view = state.consumers[consumer]
            if view.is_stopping(partition):
                continue
            if view.phase is not Phase.READY or (moves and not (all_there and _is_ready(state, wanted))):
                held_back = True
            else:
                stops.setdefault(consumer, []).append(partition)
    return stops, held_back


def _starts(
    state: State, missing: Missing, taken: frozenset[TopicPartition]
) -> tuple[dict[ConsumerId, dict[TopicPartition, StartFrom]], bool]:
    """What to start now, and whether more is to be started when consumers are ready."""
    starts: dict[ConsumerId, dict[TopicPartition, StartFrom]] = {}
    waiting, unknown = False, state.unknown
    for consumer, partitions in missing.items():
        view = state.consumers.get(consumer)
        is_ready = view is not None and view.phase is Phase.READY
        if waiting and not is_ready:
            continue  # nothing is started there, and that something waits is known
        for partition in sorted(partitions - taken):
            service = state.service_of(partition.topic)
            if service is None or state.is_resting(partition) or state.must_wait(partition, unknown):
                continue
            # A consumer reads a topic by one definition: the old one is stopped before the new one is started.
            if view is None or not is_ready or is_outdated(state, view, partition.topic):
                waiting = True
            else:
                starts.setdefault(consumer, {})[partition] = state.stopped.get(partition, RECOVER)
    return starts, waiting


def _is_ready(state: State, consumer: ConsumerId | None) -> bool:
    view = state.consumers.get(consumer) if consumer is not None else None
    return view is not None and view.phase is Phase.READY


def _is_anybody_asked(state: State) -> bool:
    working = (Phase.READY, Phase.RESTARTED)
    return any(view.sent for view in state.consumers.values() if view.phase in working)


def _finish(turn: Turn, target: Assignment) -> None:
    staying = set(target.consumers)
    for consumer in turn.state.usable():
        if consumer not in staying:
            assert not turn.state.consumers[consumer].may_hold, f"consumer {consumer} goes with partitions"
            turn.note(consumer, "has nothing left to read; it is deleted")
            dismiss(turn, consumer)
    turn.set(target=None)
    turn.go(Stage.SENTINEL, Cause.DONE)
