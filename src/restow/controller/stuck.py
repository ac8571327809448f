"""Finds stuck partitions: their backlog does not shrink although their consumer has room.

More consumers would not help them: a transform fails on a record, a table can't be written, or Kafka does not serve the
partition. They are flagged with the consumer's last error, and their backlog counts as no load (load.py). Each report
is compared with the smallest backlog since the partition last made progress.
"""

from typing import Final

from restow.controller.state import Lagging, State, View
from restow.controller.transition import Transition
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages.reports import ConsumerReport
from restow.text import counted, listed

STUCK: Final = "stuck partitions"
"""The flag."""
LEAST_S: Final = 30.0
"""A backlog of fewer seconds of the partition's records comes and goes with the cycles."""


def learn(transition: Transition, report: ConsumerReport) -> None:
    """Compares a report with the backlogs before. The consumer's view has the report already."""
    state = transition.state
    view = state.consumers[report.consumer]
    if not view.lagging and not any(report.lag_records.values()):
        return
    lagging = {} if report.saturated else _lagging(state, view, report)
    if lagging != dict(view.lagging):
        transition.change(report.consumer, lagging=SortedMapping(lagging))


def review(transition: Transition) -> None:
    """Raises the flag, changes its words or clears it. A suspect is read in small ranges, and has a flag of its own
    (poison.py)."""
    state = transition.state
    found = {partition: consumer for partition, consumer in stuck(state).items() if partition not in state.suspects}
    if not found:
        transition.clear(STUCK, "their backlogs shrink, or their consumers have no room")
        return
    first, consumer = next(iter(found.items()))
    lag = state.consumers[consumer].lagging[first].lag_records
    words = f"{listed(list(found))}: the backlog has not shrunk for {state.rules.controller.stuck_after_s:g} s"
    words += f" although consumer {consumer} has room; {first} is {counted(lag, 'record')} behind"
    error = _error(state, consumer, first)
    words += f"; its last error: {error}" if error else "; it reports no error"
    transition.flag(STUCK, f"{words}; this backlog opens no consumers")


def stuck(state: State) -> dict[TopicPartition, ConsumerId]:
    """The stuck partitions, each with its consumer."""
    return {
        partition: consumer
        for consumer, view in state.consumers.items()
        for partition in view.lagging
        if partition in view.held and is_stuck(state, view, partition)
    }


def is_stuck(state: State, view: View, partition: TopicPartition) -> bool:
    known = view.lagging.get(partition)
    return known is not None and state.listened_s - known.since_s >= state.rules.controller.stuck_after_s


def _lagging(state: State, view: View, report: ConsumerReport) -> dict[TopicPartition, Lagging]:
    rates = {} if state.measured is None else state.measured.records_per_s
    found = {}
    for partition, lag in report.lag_records.items():
        offset = report.next_offsets.get(partition)
        if not lag or offset is None or lag < LEAST_S * rates.get(partition, 0.0):
            continue
        known = view.lagging.get(partition)
        if known is None or known.made_progress(lag, offset):
            known = Lagging(lag, offset, state.listened_s)
        found[partition] = known
    return found


def _error(state: State, consumer: ConsumerId, partition: TopicPartition) -> str | None:
    if partition in state.failing:
        return state.failing[partition]
    report = state.consumers[consumer].report
    failures = () if report is None else report.failures
    return next((failure.reason for failure in failures if failure.topic == partition.topic), None)
