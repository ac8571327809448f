"""The load of partitions and consumers, in bytes/s of mean cost: speeds, and backlogs spread over the catch-up time, or
over less if unread records would be deleted before (urgency.py)."""

import math
from collections.abc import Iterable
from itertools import repeat

from restow.controller.state import State, View
from restow.controller.stuck import is_stuck
from restow.model import ConsumerId, Speeds, TopicPartition

SLACK = 1 + 1e-9
"""For rounding, where a load is compared with a limit."""


def backlogs(state: State) -> dict[TopicPartition, float]:
    """Lag in bytes, as far as consumers have reported it and can work it off. Left out are partitions without lag, and
    those that fail or are stuck: more consumers would not help them."""
    return {partition: size for view in state.consumers.values() for partition, size in _backlogs(state, view)}


class Loads:
    """The load of each partition in one state. Costs and backlogs are looked up once."""

    def __init__(self, state: State) -> None:
        self._state, self.capacities = state, state.capacities()
        self._costs: dict[str, float] = {}
        self._written = Speeds() if state.measured is None else weighted(state, state.measured.speeds)
        self._loads = self._written.to_dict()
        self._loads |= {
            partition: self._with_backlog(partition, size, consumer)
            for consumer, view in state.consumers.items()
            for partition, size in _backlogs(state, view)
        }

    def of(self, partition: TopicPartition) -> float:
        return self._loads.get(partition, 0.0)

    def total(self, partitions: Iterable[TopicPartition]) -> float:
        return math.fsum(map(self._loads.get, partitions, repeat(0.0)))

    def written(self, partition: TopicPartition) -> float:
        """Without the backlog."""
        return self._written.get(partition, 0.0)

    def cost_of(self, topic: str) -> float:
        if topic not in self._costs:
            self._costs[topic] = self._state.cost_of(topic)
        return self._costs[topic]

    def _with_backlog(self, partition: TopicPartition, backlog: float, consumer: ConsumerId) -> float:
        """A backlog raises a partition to its consumer's fill at most: it can't be read by more than one."""
        work, fill_to = backlog * self.cost_of(partition.topic), self._state.rules.controller.fill_to
        within_s = _catch_up_s(self._state, partition)
        return with_catch_up(self.written(partition), work, within_s, self.capacities[consumer] * fill_to)


def _catch_up_s(state: State, partition: TopicPartition) -> float:
    """Half of the time that is left before unread records are deleted, if that is shorter than the catch-up time."""
    catch_up_s, deadline_s = state.rules.controller.catch_up_s, state.deadlines_s.get(partition)
    return catch_up_s if deadline_s is None else min(catch_up_s, max(1.0, (deadline_s - state.time_s) / 2))


def weighted(state: State, speeds: Speeds) -> Speeds:
    """The speeds as bytes of mean cost."""
    costs = {topic: state.cost_of(topic) for topic in speeds.topics}
    if all(cost == 1 for cost in costs.values()):
        return speeds
    return Speeds({partition: speed * costs[partition.topic] for partition, speed in speeds.items()})


def with_catch_up(speed: float, backlog: float, catch_up_s: float, most: float) -> float:
    """A speed in bytes/s with its backlog in bytes spread over the catch-up time, up to `most`."""
    return max(speed, min(speed + backlog / catch_up_s, most))


def loads(state: State) -> dict[ConsumerId, float]:
    each = Loads(state)
    return {consumer: each.total(view.held) for consumer, view in state.consumers.items()}


def overloaded(state: State, factor: float = 1.0) -> tuple[ConsumerId, ...]:
    """The consumers above the trigger, or whose load would be if it were this multiple."""
    capacities, trigger = state.capacities(), state.rules.controller.trigger
    return tuple(c for c, load in loads(state).items() if load * factor > capacities[c] * trigger * SLACK)


def _backlogs(state: State, view: View) -> list[tuple[TopicPartition, float]]:
    if view.report is None or not any(view.report.lag_records.values()):
        return []
    judges = state.rules.judges_evidence
    return [
        (partition, records * _record_bytes(state, view, partition))
        for partition, records in view.report.lag_records.items()
        if records
        and partition in view.held
        and not (judges and (partition in state.failing or is_stuck(state, view, partition)))
    ]


def _record_bytes(state: State, view: View, partition: TopicPartition) -> float:
    """The mean record size: the monitor's, or the consumer's own if nothing is produced to the partition."""
    if state.measured is not None:
        records_per_s = state.measured.records_per_s.get(partition, 0.0)
        if records_per_s > 0:
            return state.measured.speeds.get(partition, 0.0) / records_per_s
    assert view.report is not None
    return view.report.bytes_per_s / view.report.records_per_s if view.report.records_per_s > 0 else 0.0
