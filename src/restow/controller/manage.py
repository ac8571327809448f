"""Manage: turn what is into the target, command by command, whatever has been answered so far.

Nothing is remembered but the target: each time, what is missing follows from who may hold what. A partition is started
only when nobody else may hold it. It is stopped for another consumer only when every new consumer is ready, so that
their start is no pause for the data; partitions that nobody holds are started as soon as their own consumer is ready.
"""

from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import Final

from restow.controller.patience import dismiss
from restow.controller.state import State, View
from restow.controller.transitions import Cause, Phase, Stage
from restow.controller.turn import Turn
from restow.model import Assignment, ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages import RECOVER, StartConsumingCommand, StartFrom, TopicService

NOTHING: Final[frozenset[TopicPartition]] = frozenset()

Holders = dict[TopicPartition, list[ConsumerId]]


def manage(turn: Turn) -> None:
    target = turn.state.target
    assert target is not None, "Manage works for a target"
    holders = _out_of_place(turn.state, target)
    all_there = turn.state.awaited().isdisjoint(target.consumers)
    stops, held_back = _stops(turn.state, target, holders, all_there)
    for consumer in sorted(stops):
        turn.command_stop(consumer, tuple(sorted(stops[consumer])))
    starts, waiting = _starts(turn.state, target, holders)
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


def _out_of_place(state: State, target: Assignment) -> Holders:
    """Who may hold what, of all that somebody may hold who should not, or not by this definition. In a large group that
    is little, and the rest is not gone through."""
    wanted, services = _wanted(target), _Services(state)
    found: Holders = {}
    for consumer, view in state.consumers.items():
        may_hold = view.may_hold
        if not may_hold:
            continue
        going = view.phase in (Phase.LEAVING, Phase.LOST)
        odd = may_hold if going else may_hold - wanted.get(consumer, NOTHING)
        outdated = _outdated_topics(view, services)
        if outdated:
            odd = odd.union(partition for partition in may_hold if partition.topic in outdated)
        for partition in odd:
            if view.phase is not Phase.LOST or not state.refuses_late_writes(partition.topic):
                found.setdefault(partition, []).append(consumer)
    for partition, consumers in found.items():
        owner = target.get(partition)
        if owner is None or owner in consumers or owner not in state.consumers:
            continue
        if partition in state.consumers[owner].may_hold:
            consumers.append(owner)
    return found


def _outdated_topics(view: View, services: Mapping[str, TopicService | None]) -> set[str]:
    """Which it reads, or will when it obeys, by another definition than is wanted now."""
    starts = (sent.command.topics for sent in view.sent if isinstance(sent.command, StartConsumingCommand))
    digests = chain(view.definitions.items(), ((name, given.digest) for each in starts for name, given in each.items()))
    return {topic for topic, digest in digests if (service := services[topic]) is not None and service.digest != digest}


class _Services(dict[str, TopicService | None]):
    """Each topic's, looked up once."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state

    def __missing__(self, topic: str) -> TopicService | None:
        self[topic] = found = self._state.service_of(topic)
        return found


@lru_cache(maxsize=4)
def _wanted(target: Assignment) -> dict[ConsumerId, frozenset[TopicPartition]]:
    return {consumer: frozenset(partitions) for consumer, partitions in target.by_consumer.items()}


def is_outdated(state: State, consumer: ConsumerId, partition: TopicPartition) -> bool:
    """Whether it is read by another definition than is wanted now."""
    return _is_outdated(state, state.consumers[consumer], partition.topic)


def _is_outdated(state: State, view: View, topic: str) -> bool:
    service = state.service_of(topic)
    return service is not None and not view.digests_of(topic) <= {service.digest}


def _stops(
    state: State, target: Assignment, holders: Holders, all_there: bool
) -> tuple[dict[ConsumerId, list[TopicPartition]], bool]:
    """What to stop now, and whether more is to be stopped when consumers are ready."""
    stops: dict[ConsumerId, list[TopicPartition]] = {}
    held_back = False
    for partition, consumers in holders.items():
        wanted, contenders = target.get(partition), state.contenders(consumers)
        if contenders == [wanted] and not is_outdated(state, contenders[0], partition):
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
    state: State, target: Assignment, holders: Holders
) -> tuple[dict[ConsumerId, dict[TopicPartition, StartFrom]], bool]:
    """What to start now, and whether more is to be started when consumers are ready."""
    starts: dict[ConsumerId, dict[TopicPartition, StartFrom]] = {}
    waiting, unknown = False, state.unknown
    for consumer, wanted in _wanted(target).items():
        view = state.consumers.get(consumer)
        is_ready = view is not None and view.phase is Phase.READY
        if waiting and not is_ready:
            continue  # nothing is started there, and that something waits is known
        missing = wanted if view is None else wanted - view.may_hold
        for partition in sorted(missing):
            service = state.service_of(partition.topic)
            if (
                partition in holders
                or service is None
                or state.is_resting(partition)
                or state.must_wait(partition, unknown)
            ):
                continue
            # A consumer reads a topic by one definition: the old one is stopped before the new one is started.
            if view is None or not is_ready or _is_outdated(state, view, partition.topic):
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
