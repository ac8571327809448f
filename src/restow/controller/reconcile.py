"""Where each consumer differs from what is wanted of it. Manage asks for all of them whenever there is news, and in a
large group nearly all are as they were: what was found is remembered until the consumer, the target or the topics
change.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from restow.controller.state import Rules, State, View
from restow.controller.transitions import Phase
from restow.model import Assignment, ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages import StartConsumingCommand, TopicService

NOTHING: Final[frozenset[TopicPartition]] = frozenset()


class Place(NamedTuple):
    odd: frozenset[TopicPartition]
    """What it may hold and should not, or not by this definition; all of it, if it is on its way out, but for what its
    tables protect if it was given up. Nobody else may start that."""
    undecided: frozenset[TopicPartition]
    """What of that it was not told to stop."""
    missing: frozenset[TopicPartition]
    """What it should hold and doesn't."""
    view: View
    updates: SortedMapping[str, TopicService | None]
    rules: Rules
    """What the above follows from."""


def places(state: State, target: Assignment) -> Iterator[tuple[ConsumerId, Place]]:
    """Of all consumers that are there, by number."""
    remembered, updates, rules = _remembered(target), state.updates, state.rules
    for consumer, view in state.consumers.items():
        known = remembered.get(consumer)
        if known is None or known.view is not view or known.updates is not updates or known.rules is not rules:
            known = remembered[consumer] = _place(state, view, wanted_of(target).get(consumer, NOTHING))
        yield consumer, known


@lru_cache(maxsize=2)
def wanted_of(target: Assignment) -> dict[ConsumerId, frozenset[TopicPartition]]:
    return {consumer: frozenset(partitions) for consumer, partitions in target.by_consumer.items()}


def is_outdated(state: State, view: View, topic: str) -> bool:
    """Whether it reads a topic, or will when it obeys, by another definition than is wanted now."""
    service = state.service_of(topic)
    return service is not None and not view.digests_of(topic) <= {service.digest}


def _outdated_topics(state: State, view: View) -> frozenset[str]:
    starts = (sent.command.topics for sent in view.sent if isinstance(sent.command, StartConsumingCommand))
    topics = {*view.definitions, *(topic for topics in starts for topic in topics)}
    return frozenset(topic for topic in topics if is_outdated(state, view, topic))


@lru_cache(maxsize=2)
def _remembered(target: Assignment) -> dict[ConsumerId, Place]:
    del target  # the key
    return {}


def _place(state: State, view: View, wanted: frozenset[TopicPartition]) -> Place:
    may_hold = view.may_hold
    odd = may_hold if view.phase in (Phase.LEAVING, Phase.LOST, Phase.ROLLING) else may_hold - wanted
    outdated = _outdated_topics(state, view) if may_hold else ()
    if outdated:
        odd = odd.union(partition for partition in may_hold if partition.topic in outdated)
    if view.phase is Phase.LOST:
        odd = frozenset(partition for partition in odd if not state.refuses_late_writes(partition.topic))
    undecided = frozenset(partition for partition in odd if not view.is_stopping(partition)) if view.sent else odd
    return Place(odd, undecided, wanted - may_hold, view, state.updates, state.rules)
