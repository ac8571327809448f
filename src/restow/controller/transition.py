"""One step in progress: the state so far, and the effects so far. Every handler of an event works on a `Transition`."""

from collections.abc import Iterable
from typing import Any

from restow.controller.effects import Effect, Moved, Noted, Send
from restow.controller.state import Sent, State, View
from restow.controller.transitions import PHASES, TRANSITIONS, Cause, Phase, Stage
from restow.frozen import changed
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.platform.interface import RestartConsumer
from restow.protocol.field_types import StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.unions import Command


class Transition:
    def __init__(self, state: State) -> None:
        self.before = self.state = state
        self.effects: list[Effect] = []
        self.replan_cause: Cause | None = None
        """Why the plan can't stay as it is; None if it can."""

    def set(self, **changes: Any) -> None:
        self.state = changed(self.state, **changes)

    def do(self, *effects: Effect) -> None:
        self.effects += effects

    def enter(self, target: Stage, cause: Cause, words: str = "") -> None:
        source = self.state.stage
        assert (source, target, cause) in TRANSITIONS, f"no transition from {source} to {target} because of {cause}"
        self.set(stage=target)
        self.do(Moved(source, target, cause, words or cause.words))

    def note(self, consumer: ConsumerId, words: str) -> None:
        self.do(Noted("consumer", f"consumer {consumer}", words))

    def warn(self, consumer: ConsumerId, words: str) -> None:
        """Something went wrong with the consumer, and the controller deals with it."""
        self.do(Noted("failure", f"consumer {consumer}", words))

    def flag(self, name: str, words: str) -> None:
        """Raises a flag, or changes its words."""
        if self.state.flags.get(name) != words:
            self.set(flags=SortedMapping({**self.state.flags, name: words}))
            self.do(Noted("flag", name, words))

    def clear(self, name: str, words: str) -> None:
        """Clears a flag that is raised; `words` say how things are now."""
        if name in self.state.flags:
            flags = {other: text for other, text in self.state.flags.items() if other != name}
            self.set(flags=SortedMapping(flags))
            self.do(Noted("cleared", name, f"resolved, {words}"))

    def view(self, consumer: ConsumerId) -> View | None:
        return self.state.consumers.get(consumer)

    def put(self, consumer: ConsumerId, view: View) -> None:
        before = self.view(consumer)
        if before is None or before.phase is not view.phase:
            source = None if before is None else before.phase
            assert (source, view.phase) in PHASES, f"consumer {consumer} can't go from {source} to {view.phase}"
            view = changed(view, since_s=self.state.listened_s)
        consumers = {**self.state.consumers, consumer: view}
        self.set(consumers=consumers if before is not None else dict(sorted(consumers.items())))

    def change(self, consumer: ConsumerId, **changes: Any) -> View:
        view = changed(self.state.consumers[consumer], **changes)
        self.put(consumer, view)
        return view

    def add(self, consumer: ConsumerId, phase: Phase, settings: str | None) -> None:
        if phase is Phase.AWAITED:  # what was learned of an earlier consumer with its number is not its own
            self.set(learned=self.state.learned.without(consumer))
        self.put(consumer, View(phase, self.state.listened_s, self.state.listened_s, settings=settings))

    def remove(self, consumer: ConsumerId) -> View:
        consumers = dict(self.state.consumers)
        view = consumers.pop(consumer)
        assert (view.phase, None) in PHASES, f"consumer {consumer} can't vanish from {view.phase}"
        self.set(consumers=consumers, learned=self.state.learned.without(consumer))
        return view

    def learn(self, partitions: Iterable[TopicPartition]) -> None:
        """Adds to the partitions known to exist."""
        if not self.state.known.issuperset(partitions):
            self.set(known=self.state.known.union(partitions))

    def command_stop(self, consumer: ConsumerId, partitions: tuple[TopicPartition, ...]) -> None:
        view = self.state.consumers[consumer]
        epoch, incarnation = _address(self.state, view)
        self._command(consumer, StopConsumingCommand(epoch, view.sequence + 1, incarnation, partitions))

    def command_start(self, consumer: ConsumerId, partitions: SortedMapping[TopicPartition, StartFrom]) -> None:
        view = self.state.consumers[consumer]
        epoch, incarnation = _address(self.state, view)
        services = {partition.topic: self.state.service_of(partition.topic) for partition in partitions}
        topics = SortedMapping({topic: service for topic, service in services.items() if service is not None})
        suspects = tuple(partition for partition in partitions if partition in self.state.suspects)
        address = (epoch, view.sequence + 1, incarnation)
        self._command(consumer, StartConsumingCommand(*address, topics, partitions, view.knows_claims, suspects))

    def query(self, consumer: ConsumerId) -> None:
        """Asks the consumer for its state."""
        view = self.state.consumers[consumer]
        view = self.change(consumer, queries=view.queries + 1, asked_s=self.state.listened_s)
        assert self.state.epoch is not None
        self.do(Send(consumer, StateQuery(self.state.epoch, view.queries)))

    def restart(self, consumer: ConsumerId) -> None:
        """Restarts the consumer with the current settings."""
        state = self.state
        self.change(consumer, settings=state.fingerprint, asked_s=state.listened_s)
        self.do(RestartConsumer(consumer, state.consumer_settings))

    def repeat(self, consumer: ConsumerId, sent: Sent) -> None:
        """Sends what is unanswered of a command again, with its sequence number."""
        again = changed(sent, since_s=self.state.listened_s, tries=sent.tries + 1)
        view = self.state.consumers[consumer]
        self.change(consumer, sent=tuple(again if other is sent else other for other in view.sent))
        self.do(Send(consumer, sent.unanswered))

    def _command(self, consumer: ConsumerId, command: Command) -> None:
        view = self.state.consumers[consumer]
        sent = (*view.sent, Sent(command, self.state.listened_s, frozenset(command.partitions)))
        self.change(consumer, sent=sent, sequence=command.sequence)
        self.do(Send(consumer, command))


def _address(state: State, view: View) -> tuple[int, int]:
    """Epoch and incarnation of a command."""
    assert state.epoch is not None, "only a controller that took over sends commands"
    assert view.incarnation is not None, "only a consumer with a known incarnation gets commands"
    return state.epoch, view.incarnation
