"""A step of the event log, told: one line for each thing that a person would ask about. `restow replay` prints them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

from restow.controller.effects import Effect, ListConsumers, Moved, Noted, Send
from restow.controller.event_log import Step
from restow.platform.interface import CreateConsumer, DeleteConsumer, RestartConsumer
from restow.protocol.messages import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.text import listed

LineKind = Literal["transition", "decision", "flag", "consumer", "command", "platform"]


@dataclass(frozen=True, slots=True)
class Line:
    time_s: float
    """Of the controller's own clock."""
    kind: LineKind
    names: frozenset[str]
    """The partitions and consumers that it is about."""
    words: str


def lines_of(step: Step) -> Iterator[Line]:
    for effect in step.effects:
        told = _told(effect)
        if told is not None:
            kind, names, words = told
            yield Line(step.after.time_s, kind, frozenset(names), words)


def _told(effect: Effect) -> tuple[LineKind, tuple[str, ...], str] | None:
    match effect:
        case Moved(source, target, _, words):
            return "transition", (), f"{source} -> {target}: {words}"
        case Noted(kind, subject, words):
            return _kind_of(kind), (subject,), effect.line
        case Send(consumer, message):
            return "command", _named(consumer, message), f"to consumer {consumer}: {_command(message)}"
        case CreateConsumer(consumer):
            return "platform", (f"consumer {consumer}",), f"create consumer {consumer}"
        case DeleteConsumer(consumer):
            return "platform", (f"consumer {consumer}",), f"delete consumer {consumer}"
        case RestartConsumer(consumer):
            return "platform", (f"consumer {consumer}",), f"restart consumer {consumer}"
        case ListConsumers():
            return None
        case _:
            assert_never(effect)


def _kind_of(kind: str) -> LineKind:
    return "decision" if kind == "decision" else "consumer" if kind == "consumer" else "flag"


def _named(consumer: int, message: StartConsumingCommand | StopConsumingCommand | StateQuery) -> tuple[str, ...]:
    partitions = () if isinstance(message, StateQuery) else message.partitions
    return (f"consumer {consumer}", *map(str, partitions))


def _command(message: StartConsumingCommand | StopConsumingCommand | StateQuery) -> str:
    match message:
        case StateQuery(_, query):
            return f"what do you hold? (query {query})"
        case StopConsumingCommand():
            return f"stop {listed(message.partitions)} (command {message.sequence})"
        case StartConsumingCommand():
            return f"start {listed(tuple(message.partitions))} (command {message.sequence})"
