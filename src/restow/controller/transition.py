"""One step under way: the state as it has become so far, and what is to be done. Every handler works on one."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from restow.controller.effects import Effect, Moved, Noted, Send
from restow.controller.state import Sent, State, View
from restow.controller.transitions import PHASES, TRANSITIONS, Cause, Phase, Stage
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages import (
    Command,
    StartConsumingCommand,
    StartFrom,
    StateQuery,
    StopConsumingCommand,
)


class Turn:
    def __init__(self, state: State) -> None:
        self.before = self.state = state
        self.effects: list[Effect] = []
        self.upset: Cause | None = None
        """Something happened after which the plan can't stay as it is."""

    def set(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)

    def do(self, *effects: Effect) -> None:
        self.effects += effects

    def go(self, target: Stage, cause: Cause, words: str = "") -> None:
        source = self.state.stage
        assert (source, target, cause) in TRANSITIONS, f"no way from {source} to {target} because {cause}"
        self.set(stage=target)
        self.do(Moved(source, target, cause, words or cause.value))

    def note(self, consumer: ConsumerId, words: str) -> None:
        self.do(Noted("consumer", f"consumer {consumer}", words))

    def flag(self, name: str, words: str | None) -> None:
        """Raises a flag, or changes its words, or clears it with None. Said once, when that changes."""
        before = self.state.flags.get(name)
        if words == before:
            return
        flags = {other: text for other, text in self.state.flags.items() if other != name}
        if words is not None:
            flags[name] = words
        self.set(flags=SortedMapping(flags))
        self.do(Noted("cleared", name, f"over: {before}") if words is None else Noted("flag", name, words))

    def view(self, consumer: ConsumerId) -> View | None:
        return self.state.consumers.get(consumer)

    def put(self, consumer: ConsumerId, view: View) -> None:
        """The consumer as it is seen from now on."""
        before = self.view(consumer)
        if before is None or before.phase is not view.phase:
            source = None if before is None else before.phase
            assert (source, view.phase) in PHASES, f"consumer {consumer} can't go from {source} to {view.phase}"
            view = replace(view, since_s=self.state.listened_s)
        consumers = {**self.state.consumers, consumer: view}
        self.set(consumers=consumers if before is not None else dict(sorted(consumers.items())))

    def change(self, consumer: ConsumerId, **changes: Any) -> View:
        view = replace(self.state.consumers[consumer], **changes)
        self.put(consumer, view)
        return view

    def forget(self, consumer: ConsumerId) -> View:
        consumers = dict(self.state.consumers)
        view = consumers.pop(consumer)
        assert (view.phase, None) in PHASES, f"consumer {consumer} can't vanish from {view.phase}"
        self.set(consumers=consumers)
        return view

    def appear(self, consumer: ConsumerId, phase: Phase, settings: str | None) -> None:
        self.put(consumer, View(phase, self.state.listened_s, self.state.listened_s, settings=settings))

    def learn(self, partitions: Iterable[TopicPartition]) -> None:
        """That they exist."""
        if not self.state.known.issuperset(partitions):
            self.set(known=self.state.known.union(partitions))

    def command_stop(self, consumer: ConsumerId, partitions: tuple[TopicPartition, ...]) -> None:
        view = self.state.consumers[consumer]
        epoch, incarnation = _addressed(self.state, view)
        self._command(consumer, StopConsumingCommand(epoch, view.sequence + 1, incarnation, partitions))

    def command_start(self, consumer: ConsumerId, partitions: SortedMapping[TopicPartition, StartFrom]) -> None:
        view = self.state.consumers[consumer]
        epoch, incarnation = _addressed(self.state, view)
        services = {partition.topic: self.state.service_of(partition.topic) for partition in partitions}
        topics = SortedMapping({topic: service for topic, service in services.items() if service is not None})
        self._command(consumer, StartConsumingCommand(epoch, view.sequence + 1, incarnation, topics, partitions))

    def ask(self, consumer: ConsumerId) -> None:
        """For its state."""
        view = self.state.consumers[consumer]
        view = self.change(consumer, queries=view.queries + 1, asked_s=self.state.listened_s)
        assert self.state.epoch is not None
        self.do(Send(consumer, StateQuery(self.state.epoch, view.queries)))

    def repeat(self, consumer: ConsumerId, sent: Sent) -> None:
        """The same command again, with its number."""
        again = replace(sent, since_s=self.state.listened_s, tries=sent.tries + 1)
        view = self.state.consumers[consumer]
        self.change(consumer, sent=tuple(again if other is sent else other for other in view.sent))
        self.do(Send(consumer, sent.command))

    def _command(self, consumer: ConsumerId, command: Command) -> None:
        view = self.state.consumers[consumer]
        sent = (*view.sent, Sent(command, self.state.listened_s, frozenset(command.partitions)))
        self.change(consumer, sent=sent, sequence=command.sequence)
        self.do(Send(consumer, command))


def _addressed(state: State, view: View) -> tuple[int, int]:
    assert state.epoch is not None, "commands are sent by a controller that took over"
    assert view.incarnation is not None, "commands are sent to consumers that have spoken"
    return state.epoch, view.incarnation
