"""The consumer's messages to the controller, made from its state. `answers.py` has the answers to commands."""

from typing import Final

from restow.consumer.events import RefusedPartitions
from restow.consumer.state import State
from restow.model import SortedMapping, TopicPartition
from restow.protocol.field_types import BrokenTransforms
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.reports import ConsumerReport, Failure
from restow.protocol.records import known_versions

Stopped = SortedMapping[TopicPartition, int | None]

STALLED: Final = "the consumer's running cycle makes no progress; its log has a thread dump"


def ready(state: State, broken: BrokenTransforms) -> ConsumerReady:
    return ConsumerReady(
        state.consumer,
        state.checkpoint.clean,
        tuple(state.positions),
        state.definitions,
        known_versions(),
        broken,
        platform=state.platform,
        claims=tuple(state.claims.positions),
    )


def stopped(state: State, sequence: int | None, offsets: Stopped) -> StopConsumingEvent:
    return StopConsumingEvent(state.consumer, _incarnation(state), state.epoch, sequence, offsets)


def refused(state: State, refused: RefusedPartitions) -> ConsumingRefused:
    """Gives up partitions that it held, without a command."""
    head = (state.consumer, _incarnation(state), state.epoch, None)
    return ConsumingRefused(*head, tuple(sorted(refused.partitions)), refused.kind, refused.reason)


def response(state: State) -> StateQueryResponse:
    """The answer to the state's query."""
    assert state.query is not None
    return StateQueryResponse(
        state.consumer,
        _incarnation(state),
        state.epoch,
        state.query.query.query,
        state.positions,
        state.definitions,
        state.last_sequence,
        platform=state.platform,
        claims=tuple(state.claims.positions),
        will_claim=state.will_claim,
    )


def report(state: State, now_s: float) -> ConsumerReport:
    window = state.report_window
    return ConsumerReport(
        state.consumer,
        _incarnation(state),
        # A report names every partition held; before the first cycle reads one, its lag is unknown, hence 0.
        state.positions.with_values(state.lag_records.values_of(state.positions, 0)),
        state.definitions,
        records_per_s=window.per_s(window.totals.records, now_s),
        bytes_per_s=window.per_s(window.totals.bytes, now_s),
        saturated=window.saturated,
        cycle_s_mean=window.totals.mean_s,
        cycle_s_max=window.totals.longest_s,
        gaps=window.gaps,
        next_offsets=state.positions,
        failures=_failures(state),
        platform=state.platform,
        work=window.work.work(),
        rejected=tuple(window.rejected.values()),
        will_claim=state.will_claim,
        suspects=tuple(partition for partition in state.suspects if partition in state.positions),
    )


def _failures(state: State) -> tuple[Failure, ...]:
    """While a cycle is stalled no topic is stored."""
    if state.is_stalled:
        return tuple(Failure(topic, STALLED) for topic in state.topics)
    return tuple(failure for failure in state.failures if failure.topic in state.topics)


def _incarnation(state: State) -> int:
    assert state.incarnation is not None, "ConsumerReady comes first"
    return state.incarnation
