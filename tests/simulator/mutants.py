"""Bugs that were easy to make, each put into a machine by replacing one of its functions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from restow.consumer import machine as consumer
from restow.consumer.answers import Outcome
from restow.consumer.events import CommandRead
from restow.consumer.state import State as ConsumerState
from restow.controller import manage, patience, sentinel
from restow.controller.effects import DeleteConsumer, Send
from restow.controller.events import SpeedsMeasured
from restow.controller.state import Sent, State, View
from restow.controller.turn import Turn
from restow.model import ConsumerId, TopicPartition
from restow.protocol.messages import Command

Mutant = Callable[[pytest.MonkeyPatch], None]


def only_the_last_command_is_remembered(patch: pytest.MonkeyPatch) -> None:
    def command(turn: Turn, to: ConsumerId, message: Command) -> None:
        sent = Sent(message, turn.state.listened_s, frozenset(message.partitions))
        turn.change(to, sent=(sent,), sequence=message.sequence)
        turn.do(Send(to, message))

    patch.setattr(Turn, "_command", command)


def an_unanswered_start_is_no_claim(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(View, "may_hold", property(lambda view: view.held))


def a_start_does_not_wait_for_the_stop(patch: pytest.MonkeyPatch) -> None:
    starts = manage._starts

    def eager(state: State, target: Any, holders: manage.Holders, settled: frozenset[ConsumerId]) -> Any:
        def stops(partition: TopicPartition) -> bool:
            return all(state.consumers[consumer].is_stopping(partition) for consumer in holders[partition])

        return starts(state, target, {p: holders[p] for p in holders if not stops(p)}, settled)

    patch.setattr(manage, "_starts", eager)


def a_number_is_free_before_its_owner_is_gone(patch: pytest.MonkeyPatch) -> None:
    def give_up(turn: Turn, lost: ConsumerId) -> None:
        turn.do(DeleteConsumer(lost))
        patience.gone(turn, lost)

    patch.setattr(patience, "give_up", give_up)


def every_sink_is_believed_to_refuse_late_writes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(State, "refuses_late_writes", lambda state, topic: True)


def nonsense_is_believed(patch: pytest.MonkeyPatch) -> None:
    def measure(turn: Turn, event: SpeedsMeasured) -> None:
        turn.learn(event.speeds)
        turn.set(measured=event, measured_s=turn.state.time_s)

    patch.setattr(sentinel, "measure", measure)


def _reads(patch: pytest.MonkeyPatch, change: Callable[[ConsumerState, CommandRead], CommandRead]) -> None:
    read = consumer._command_read
    patch.setattr(consumer, "_command_read", lambda state, event: read(state, change(state, event)))


def an_old_epoch_is_obeyed(patch: pytest.MonkeyPatch) -> None:
    def renewed(state: ConsumerState, event: CommandRead) -> CommandRead:
        return replace(event, command=replace(event.command, epoch=max(state.epoch, event.command.epoch)))

    _reads(patch, renewed)


def commands_to_another_incarnation_are_obeyed(patch: pytest.MonkeyPatch) -> None:
    def addressed(state: ConsumerState, event: CommandRead) -> CommandRead:
        return replace(event, command=replace(event.command, incarnation=state.incarnation or 0))

    _reads(patch, addressed)


def a_repeated_command_is_applied_again(patch: pytest.MonkeyPatch) -> None:
    plan = consumer.plan
    patch.setattr(consumer, "plan", lambda held, topics, commands, last: plan(held, topics, commands, 0))


def a_query_is_answered_before_the_commands_are_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ConsumerState, "query_is_due", property(lambda state: state.query is not None))


def a_stop_tells_an_offset_too_many(patch: pytest.MonkeyPatch) -> None:
    stopped_at = Outcome._stopped_at

    def further(outcome: Outcome, partition: TopicPartition) -> int | None:
        offset = stopped_at(outcome, partition)
        return None if offset is None else offset + 1

    patch.setattr(Outcome, "_stopped_at", further)


def what_was_taken_over_is_kept(patch: pytest.MonkeyPatch) -> None:
    ended = consumer._cycle_ended
    patch.setattr(consumer, "_cycle_ended", lambda state, event: ended(state, replace(event, dropped=())))
