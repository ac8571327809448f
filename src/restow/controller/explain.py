"""Explains a step of the event log, in lines for `restow replay`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from restow.controller.effects import Effect, ListConsumers, Moved, Noted, NoteKind, Send
from restow.controller.event_log import Step
from restow.platform.interface import CreateConsumer, DeleteConsumer, RestartConsumer
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.unions import Command
from restow.text import listed

LineKind = Literal["log", "transition", "decision", "flag", "consumer", "command", "platform"]

LINE_KINDS: Final[dict[NoteKind, LineKind]] = {
    "decision": "decision",
    "flag": "flag",
    "cleared": "flag",
    "consumer": "consumer",
    "failure": "consumer",
}


@dataclass(frozen=True, slots=True)
class Line:
    time_s: float
    """On the controller's monotonic clock."""
    kind: LineKind
    names: frozenset[str]
    """The partitions, consumers or flags that it is about."""
    words: str
    utc_s: float | None = None
    """The wall clock, in seconds since 1970; None if the log does not have it."""


def lines_of(step: Step) -> Iterator[Line]:
    for effect in step.effects:
        line = _line_of(effect)
        if line is not None:
            kind, names, words = line
            yield Line(step.after.time_s, kind, frozenset(names), words, step.utc_s)


def _line_of(effect: Effect) -> tuple[LineKind, tuple[str, ...], str] | None:
    match effect:
        case Moved(source, target, _, words):
            return "transition", (), f"{source} -> {target}: {words}"
        case Noted(kind, subject):
            return LINE_KINDS[kind], (subject,), effect.line
        case Send(consumer, message):
            return "command", _names(consumer, message), f"to consumer {consumer}: {_message(message)}"
        case CreateConsumer(consumer) | DeleteConsumer(consumer) | RestartConsumer(consumer):
            return "platform", (f"consumer {consumer}",), f"{effect.action} consumer {consumer}"
        case ListConsumers():
            return None
        case _:
            assert_never(effect)


def _names(consumer: int, message: Command | StateQuery) -> tuple[str, ...]:
    partitions = () if isinstance(message, StateQuery) else message.partitions
    return (f"consumer {consumer}", *map(str, partitions))


def _message(message: Command | StateQuery) -> str:
    match message:
        case StateQuery(_, query):
            return f"report what you hold (query {query})"
        case StopConsumingCommand():
            return f"stop {listed(message.partitions)} (command {message.sequence})"
        case StartConsumingCommand():
            return f"start {listed(tuple(message.partitions))} (command {message.sequence})"
