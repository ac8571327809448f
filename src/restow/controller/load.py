"""The load of each consumer: its partitions' speeds, and their backlogs spread over the catch-up time."""

import math

from restow.controller.state import State, View
from restow.model import ConsumerId, TopicPartition


def backlogs(state: State) -> dict[TopicPartition, float]:
    """Lag in bytes, as far as consumers have reported it. Partitions without lag are left out."""
    found: dict[TopicPartition, float] = {}
    for view in state.consumers.values():
        if view.report is not None:
            for partition, records in view.report.lag_records.items():
                if records and partition in view.held:
                    found[partition] = records * _record_bytes(state, view, partition)
    return found


def effective_speed(state: State, partition: TopicPartition, backlog: float) -> float:
    """Bytes/s. A backlog raises a partition to a consumer's fill at most: it can't be read by more than one."""
    speed = state.measured.speeds.get(partition, 0.0) if state.measured else 0.0
    if not backlog:
        return speed
    rules = state.rules.controller
    return with_catch_up(speed, backlog, rules.catch_up_s, state.capacity_bytes_per_s * rules.fill_to)


def with_catch_up(speed: float, backlog: float, catch_up_s: float, most: float) -> float:
    """A speed in bytes/s with its backlog in bytes spread over the catch-up time, up to `most`."""
    return max(speed, min(speed + backlog / catch_up_s, most))


def loads(state: State) -> dict[ConsumerId, float]:
    waiting = backlogs(state)
    return {
        consumer: math.fsum(effective_speed(state, partition, waiting.get(partition, 0.0)) for partition in view.held)
        for consumer, view in state.consumers.items()
    }


def overloaded(state: State) -> tuple[ConsumerId, ...]:
    """The consumers above the trigger."""
    limit = state.capacity_bytes_per_s * state.rules.controller.trigger
    return tuple(consumer for consumer, load in loads(state).items() if load > limit * (1 + 1e-9))


def _record_bytes(state: State, view: View, partition: TopicPartition) -> float:
    """The mean record size: the monitor's, or the consumer's own if nothing is produced to the partition."""
    if state.measured is not None:
        records_per_s = state.measured.records_per_s.get(partition, 0.0)
        if records_per_s > 0:
            return state.measured.speeds.get(partition, 0.0) / records_per_s
    assert view.report is not None
    return view.report.bytes_per_s / view.report.records_per_s if view.report.records_per_s > 0 else 0.0
