"""Flags partitions that are faster than any consumer, with what would help and by how much.

Scaling does not help them, because a partition is read by one consumer. Each measurement is checked, in every stage.
"""

import math
from typing import Final

from restow.controller.load import SLACK, Loads
from restow.controller.state import State
from restow.controller.transition import Transition
from restow.model import SortedMapping, TopicPartition
from restow.text import listed, percent, sized

INFEASIBLE: Final = "infeasible"
"""The flag."""
SAID_AGAIN: Final = 1.25
"""The flag gets new words if what is needed changes by this factor: speeds change with every measurement."""


def review(transition: Transition) -> None:
    found = too_fast(transition.state)
    if not found:
        if transition.state.too_fast:
            transition.set(too_fast=SortedMapping())
        transition.clear(INFEASIBLE, "every partition fits one consumer")
    elif not _is_said(transition.state.too_fast, found):
        transition.set(too_fast=found)
        transition.flag(INFEASIBLE, _words(transition.state, found))


def too_fast(state: State) -> SortedMapping[TopicPartition, float]:
    """The partitions above the trigger of the largest consumer, each with how many times more than one may carry."""
    if state.measured is None:
        return SortedMapping()
    rules, largest = state.rules.controller, _largest(state)
    limit = largest * rules.trigger * SLACK
    if max(state.measured.speeds.values(), default=0.0) * _highest_cost(state) <= limit:
        return SortedMapping()
    each = Loads(state)
    return SortedMapping(
        {
            partition: each.written(partition) / (largest * rules.fill_to)
            for partition in state.measured.speeds
            if each.written(partition) > limit and state.service_of(partition.topic) is not None
        }
    )


def _is_said(said: SortedMapping[TopicPartition, float], found: SortedMapping[TopicPartition, float]) -> bool:
    return said.keys() == found.keys() and all(
        times / SAID_AGAIN < said[partition] < times * SAID_AGAIN for partition, times in found.items()
    )


def _words(state: State, found: SortedMapping[TopicPartition, float]) -> str:
    assert state.measured is not None
    worst = max(found, key=lambda partition: (found[partition], partition))
    times, largest, cost = found[worst], _largest(state), state.cost_of(worst.topic)
    learned = "" if state.fixed_capacity_bytes_per_s is not None else ", as far as it is learned"
    weight = "" if cost == 1 else f", which is the work of {sized(cost * state.measured.speeds[worst])}/s"
    return (
        f"{listed(list(found))} faster than any consumer: {worst} is written at "
        f"{sized(state.measured.speeds[worst])}/s{weight}, and one consumer carries {sized(largest)}/s{learned}. "
        f"What helps: {math.ceil(times)} times as many partitions of {worst.topic}, consumers that carry "
        f"{sized(largest * times)}/s, or a transform with {percent(round(1 / times, 2))} of the work"
    )


def _largest(state: State) -> float:
    capacities = state.capacities()
    return max([capacities.default, *(capacities[consumer] for consumer in state.usable())])


def _highest_cost(state: State) -> float:
    learned = (known.cost for known in state.learned.costs.values())
    services = (*state.rules.consume.values(), *state.updates.values())
    fixed = (service.cost for service in services if service is not None and service.cost is not None)
    return max([1.0, *learned, *fixed])
