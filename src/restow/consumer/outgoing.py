"""What a consumer has to say, made from its state; `machine.py` has it told. Answers to commands: `answers.py`."""

from restow.consumer.events import Refused
from restow.consumer.state import State
from restow.model import SortedMapping, TopicPartition
from restow.protocol.messages import (
    ConsumerReady,
    ConsumerReport,
    ConsumingRefused,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.records import known_versions

Stopped = SortedMapping[TopicPartition, int | None]


def ready(state: State) -> ConsumerReady:
    return ConsumerReady(state.consumer, state.saved.clean, tuple(state.positions), state.definitions, known_versions())


def stopped(state: State, sequence: int | None, offsets: Stopped) -> StopConsumingEvent:
    return StopConsumingEvent(state.consumer, _incarnation(state), state.epoch, sequence, offsets)


def refused(state: State, refused: Refused) -> ConsumingRefused:
    """Nobody asked: it gives up what it held."""
    head = (state.consumer, _incarnation(state), state.epoch, None)
    return ConsumingRefused(*head, tuple(sorted(refused.partitions)), refused.kind, refused.reason)


def response(state: State) -> StateQueryResponse:
    """To the query that it has."""
    assert state.query is not None
    return StateQueryResponse(
        state.consumer,
        _incarnation(state),
        state.epoch,
        state.query.query.query,
        state.positions,
        state.definitions,
        state.last_sequence,
    )


def report(state: State, now_s: float) -> ConsumerReport:
    work = state.work
    return ConsumerReport(
        state.consumer,
        _incarnation(state),
        # What it holds must be told whole; of what no cycle has looked at yet, no lag is known.
        SortedMapping({partition: state.lag_records.get(partition, 0) for partition in state.positions}),
        state.definitions,
        records_per_s=work.per_s(work.records, now_s),
        bytes_per_s=work.per_s(work.bytes, now_s),
        saturated=work.saturated,
        cycle_s_mean=work.cycle_s_mean,
        cycle_s_max=work.longest_s,
        gaps=work.gaps,
    )


def _incarnation(state: State) -> int:
    assert state.incarnation is not None, "nothing but that it is ready is told before it is announced"
    return state.incarnation
