"""What each partition asks of its consumer: its speed, and its backlog to be worked off in the catch-up time."""

import math

from restow.controller.state import State, View
from restow.model import ConsumerId, TopicPartition


def backlogs(state: State) -> dict[TopicPartition, float]:
    """In bytes, as far as consumers have reported it. Partitions without any are left out."""
    found: dict[TopicPartition, float] = {}
    for view in state.consumers.values():
        if view.report is not None:
            for partition, records in view.report.lag_records.items():
                if records and partition in view.held:
                    found[partition] = records * _record_bytes(state, view, partition)
    return found


def effective_speed(state: State, partition: TopicPartition, backlog: float) -> float:
    """Bytes/s. A backlog never makes a partition count for more than a consumer's fill: it can't have more than one."""
    speed = state.measured.speeds.get(partition, 0.0) if state.measured else 0.0
    if not backlog:
        return speed
    rules = state.rules.controller
    return max(speed, min(speed + backlog / rules.catch_up_s, state.capacity_bytes_per_s * rules.fill_to))


def loads(state: State) -> dict[ConsumerId, float]:
    waiting = backlogs(state)
    return {
        consumer: math.fsum(effective_speed(state, partition, waiting.get(partition, 0.0)) for partition in view.held)
        for consumer, view in state.consumers.items()
    }


def _record_bytes(state: State, view: View, partition: TopicPartition) -> float:
    """In Kafka's log, by the monitor; for a partition that stands still, as its consumer found its records to be."""
    if state.measured is not None:
        records_per_s = state.measured.records_per_s.get(partition, 0.0)
        if records_per_s > 0:
            return state.measured.speeds.get(partition, 0.0) / records_per_s
    assert view.report is not None
    return view.report.bytes_per_s / view.report.records_per_s if view.report.records_per_s > 0 else 0.0
