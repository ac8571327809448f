"""The difference between what each consumer holds and what the target gives it.

Manage asks for all consumers at every change, and in a large group nearly all are as they were: a deviation is cached
until the consumer, the target or the topics change.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from restow.controller.state import AWAY, Rules, State, View
from restow.controller.transitions import Phase
from restow.model import Assignment, ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.topic_service import TopicService

NO_PARTITIONS: Final[frozenset[TopicPartition]] = frozenset()


class Deviation(NamedTuple):
    surplus: frozenset[TopicPartition]
    """What it may hold and should not, or not by this definition; everything if it leaves, except what its tables
    protect if it was given up. No other consumer may start these partitions."""
    not_stopping: frozenset[TopicPartition]
    """The part of the surplus that it has no pending Stop for."""
    missing: frozenset[TopicPartition]
    """What it should hold and does not."""
    view: View
    updates: SortedMapping[str, TopicService | None]
    rules: Rules
    """The inputs of the above: the cached value is valid while they are the same objects."""


def deviations(state: State, target: Assignment) -> Iterator[tuple[ConsumerId, Deviation]]:
    """Of all consumers, by number."""
    cached, updates, rules = _cache_of(target), state.updates, state.rules
    for consumer, view in state.consumers.items():
        known = cached.get(consumer)
        if known is None or known.view is not view or known.updates is not updates or known.rules is not rules:
            known = cached[consumer] = _deviation(state, view, wanted_of(target).get(consumer, NO_PARTITIONS))
        yield consumer, known


@lru_cache(maxsize=2)
def wanted_of(target: Assignment) -> dict[ConsumerId, frozenset[TopicPartition]]:
    return {consumer: frozenset(partitions) for consumer, partitions in target.by_consumer.items()}


def is_outdated(state: State, view: View, topic: str) -> bool:
    """Whether it reads a topic by another definition than the current one, or will when it has obeyed its commands."""
    service = state.service_of(topic)
    if service is None:
        return False
    if not view.sent:
        return view.definitions.get(topic, service.digest) != service.digest
    return not view.digests_of(topic) <= {service.digest}


class OutdatedTopics(dict[ConsumerId, frozenset[str]]):
    """The topics that each consumer reads by another definition than the current one, looked up once."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state

    def __missing__(self, consumer: ConsumerId) -> frozenset[str]:
        self[consumer] = _outdated_topics(self._state, self._state.consumers[consumer])
        return self[consumer]


def _outdated_topics(state: State, view: View) -> frozenset[str]:
    starts = (sent.command.topics for sent in view.sent if isinstance(sent.command, StartConsumingCommand))
    topics = {*view.definitions, *(topic for topics in starts for topic in topics)}
    return frozenset(topic for topic in topics if is_outdated(state, view, topic))


@lru_cache(maxsize=2)
def _cache_of(target: Assignment) -> dict[ConsumerId, Deviation]:
    del target  # the key
    return {}


def _deviation(state: State, view: View, wanted: frozenset[TopicPartition]) -> Deviation:
    may_hold = view.may_hold
    surplus = may_hold if view.phase in AWAY else may_hold - wanted
    outdated = _outdated_topics(state, view) if may_hold else ()
    if outdated:
        surplus = surplus.union(partition for partition in may_hold if partition.topic in outdated)
    if view.phase is Phase.LOST:
        surplus = frozenset(partition for partition in surplus if not state.is_given_up(view, partition))
    not_stopping = frozenset(p for p in surplus if not view.is_stopping(p)) if view.sent else surplus
    return Deviation(surplus, not_stopping, wanted - may_hold, view, state.updates, state.rules)
