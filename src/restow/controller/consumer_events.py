"""What consumers say, and what follows for what they may hold.

An incarnation's number is the offset of its ConsumerReady, so that the newer of two is known. What an older one says
is passed over: it has been replaced. A newer one, of whose start we heard nothing, is believed when it tells what it
holds.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from restow.controller.state import Pause, Sent, View
from restow.controller.transition import Turn
from restow.controller.transitions import Cause, Phase
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages import (
    ConsumerReady,
    ConsumerReport,
    ConsumingRefused,
    FromConsumer,
    StartConsumingCommand,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.text import counted

MOST_DOUBLINGS = 20


def hear(turn: Turn, offset: int, message: FromConsumer) -> None:
    view = turn.view(message.consumer)
    if view is None:
        return  # nobody we know; the platform's next list tells whether it is one of ours
    match message:
        case ConsumerReady():
            _started(turn, view, offset, message)
        case StateQueryResponse():
            _responded(turn, view, message)
        case ConsumerReport():
            _reported(turn, view, message)
        case StartConsumingEvent() | StopConsumingEvent() | ConsumingRefused():
            ours = message.sequence is None or message.epoch == turn.state.epoch
            if ours and view.told and message.incarnation == view.incarnation:
                turn.change(message.consumer, heard_s=turn.state.listened_s)
                _answered(turn, message)
        case _:
            assert_never(message)


def _started(turn: Turn, view: View, offset: int, message: ConsumerReady) -> None:
    if view.incarnation is not None and offset <= view.incarnation:
        return
    first = view.phase is Phase.AWAITED
    _told(turn, message.consumer, offset, frozenset(message.partitions), message.definitions)
    turn.change(message.consumer, versions=message.versions)
    words = "is ready" if first else f"started again ({'after a clean end' if message.clean else 'after a crash'})"
    turn.note(message.consumer, f"{words}, with {counted(len(message.partitions), 'partition')}")
    if first or view.phase is Phase.ROLLING:
        turn.set(creation=Pause(0, 0.0), to_replace=False)


def _responded(turn: Turn, view: View, message: StateQueryResponse) -> None:
    if view.phase is Phase.AWAITED:
        return  # it was never asked: this is from one that had its number before
    newer = view.incarnation is None or message.incarnation > view.incarnation
    if message.epoch == turn.state.epoch and newer:
        held = frozenset(message.partitions)
        _told(turn, message.consumer, message.incarnation, held, message.definitions)
        turn.note(message.consumer, f"answered: it has {counted(len(held), 'partition')}")


def _reported(turn: Turn, view: View, message: ConsumerReport) -> None:
    if view.incarnation is None or message.incarnation < view.incarnation:
        return  # it has not told us yet what it holds, or it has been replaced
    held = frozenset(message.lag_records)
    if message.incarnation > view.incarnation:
        _told(turn, message.consumer, message.incarnation, held, message.definitions)
    for gap in message.gaps:
        turn.note(message.consumer, str(gap))
    view = turn.change(message.consumer, heard_s=turn.state.listened_s, report=message)
    definitions = _of_topics(message.definitions, held)
    agrees = held == view.held and definitions == view.definitions
    if not view.sent and not agrees and view.phase is Phase.READY:
        turn.change(message.consumer, held=held, definitions=definitions)
        turn.learn(held)
        if held != view.held:
            turn.upset = Cause.DISAGREEMENT
            turn.note(
                message.consumer, f"reports {counted(len(held), 'partition')} where {len(view.held)} were believed"
            )


def _told(
    turn: Turn,
    consumer: ConsumerId,
    incarnation: int,
    held: frozenset[TopicPartition],
    definitions: SortedMapping[str, str],
) -> None:
    """All that it holds, from itself. Commands to an older incarnation are void: this one obeys none of them."""
    before = turn.state.consumers[consumer]
    phase = before.phase if before.phase in (Phase.LEAVING, Phase.LOST) else Phase.READY
    turn.change(
        consumer,
        phase=phase,
        incarnation=incarnation,
        held=held,
        definitions=_of_topics(definitions, held),
        sent=(),
        told=True,
        report=None,
        heard_s=turn.state.listened_s,
    )
    turn.learn(held)
    if before.told and held != before.may_hold:
        turn.upset = Cause.DISAGREEMENT
    if before.phase is Phase.ROLLING:
        turn.upset = Cause.BACK


def _answered(turn: Turn, message: StartConsumingEvent | StopConsumingEvent | ConsumingRefused) -> None:
    consumer = message.consumer
    view = turn.state.consumers[consumer]
    answered = frozenset(message.partitions)
    if message.sequence is not None:
        sent = next((sent for sent in view.sent if sent.command.sequence == message.sequence), None)
        if sent is None or not answered & sent.left or sent.starts is isinstance(message, StopConsumingEvent):
            return  # a repeated answer, or none to this command
        answered &= sent.left
        view = turn.change(consumer, sent=_left(view.sent, message.sequence, answered))
        if isinstance(message, StartConsumingEvent):
            assert isinstance(sent.command, StartConsumingCommand)
            digests = {topic: service.digest for topic, service in sent.command.topics.items()}
            _holds(turn, consumer, view.held | answered, digests)
            _forgive(turn, answered)
            return
    if isinstance(message, StopConsumingEvent):
        _holds(turn, consumer, view.held - answered)
        offsets = {partition: message.partitions[partition] for partition in sorted(answered)}
        # Two that stopped the same partition: what the first of them had not stored may be stored nowhere.
        before = turn.state.stopped
        known = {p: min(offset, before.get(p, offset)) for p, offset in offsets.items() if offset is not None}
        turn.set(stopped=SortedMapping({**before, **known}))
        if message.sequence is None and view.phase is Phase.READY:
            turn.change(consumer, phase=Phase.RESTARTED)
            turn.note(consumer, "ends as it was told, by somebody else; it is waited for")
    elif isinstance(message, ConsumingRefused):
        _holds(turn, consumer, view.held - answered)
        _refused(turn, message, answered)


def _left(sent: tuple[Sent, ...], sequence: int, answered: frozenset[TopicPartition]) -> tuple[Sent, ...]:
    """Commands are applied in order: an answer settles what was said of its partitions before, too. A Start that was
    followed by a Stop in the same cycle is never opened, and may have no offset to answer with."""
    remaining = (
        replace(each, left=each.left - answered) if each.command.sequence <= sequence else each for each in sent
    )
    return tuple(each for each in remaining if each.left)


def _holds(
    turn: Turn, consumer: ConsumerId, held: frozenset[TopicPartition], digests: dict[str, str] | None = None
) -> None:
    definitions = {**turn.state.consumers[consumer].definitions, **(digests or {})}
    turn.change(consumer, held=held, definitions=_of_topics(definitions, held))


def _of_topics(definitions: Mapping[str, str], held: frozenset[TopicPartition]) -> SortedMapping[str, str]:
    """Of a topic of which nothing is held any more, no definition is worked by."""
    topics = {partition.topic for partition in held}
    return SortedMapping({topic: digest for topic, digest in definitions.items() if topic in topics})


def _refused(turn: Turn, message: ConsumingRefused, partitions: frozenset[TopicPartition]) -> None:
    turn.upset = Cause.REFUSED
    turn.note(message.consumer, f"refused {counted(len(partitions), 'partition')}: {message.reason}")
    if message.kind == "replaced" and message.sequence is None:
        return  # it lost them to somebody; where a Start itself is answered so, somebody else goes on writing there
    refused = dict(turn.state.refused)
    base_s = turn.state.rules.controller.refused_again_after_s
    for partition in partitions:
        failures = refused[partition].failures + 1 if partition in refused else 1
        refused[partition] = Pause(failures, turn.state.time_s + pause_after(failures, base_s))
    turn.set(refused=SortedMapping(refused))
    for topic in sorted({partition.topic for partition in partitions}):
        turn.flag(f"refused {topic}", message.reason)


def _forgive(turn: Turn, started: frozenset[TopicPartition]) -> None:
    """What was refused once and goes now is no longer talked of."""
    if started.isdisjoint(turn.state.refused):
        return
    refused = {partition: pause for partition, pause in turn.state.refused.items() if partition not in started}
    turn.set(refused=SortedMapping(refused))
    for topic in sorted({partition.topic for partition in started} - {partition.topic for partition in refused}):
        turn.flag(f"refused {topic}", None)


def forget_refusals(turn: Turn, topic: str) -> None:
    """What was refused by an old definition of it may go by the new one."""
    refused = {partition: pause for partition, pause in turn.state.refused.items() if partition.topic != topic}
    turn.set(refused=SortedMapping(refused))
    turn.flag(f"refused {topic}", None)


def pause_after(failures: int, base_s: float) -> float:
    """Doubles with each failure, up to twenty times the first."""
    return float(min(base_s * 2 ** min(failures - 1, MOST_DOUBLINGS), 20 * base_s))
