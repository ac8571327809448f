"""What consumers send, and what follows for the partitions they may hold.

An incarnation's number is the offset of its ConsumerReady, so that the newer of two is known. Messages of an older
incarnation are ignored: it has been replaced. A newer one, whose ConsumerReady did not arrive, is believed as soon as
it reports what it holds.
"""

from collections.abc import Mapping
from typing import Final, assert_never

from restow.controller import (
    broken_code,
    capacity,
    claims,
    failures,
    foreign,
    gains,
    left_out,
    pins,
    poison,
    starts,
    stuck,
    takeover,
    timeouts,
)
from restow.controller.state import Pause, Sent, View
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase
from restow.frozen import changed
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import FromConsumer
from restow.settings import START_CAPACITY_BYTES_PER_S
from restow.text import counted

ALIVE_AFTER_S: Final = 20.0
"""Longer than a report of a process that crashed may be on its way."""


def receive(transition: Transition, offset: int, message: FromConsumer) -> None:
    if (platform := foreign.platform_of(transition.state, message)) is not None:
        foreign.hear(transition, message.consumer, platform)
        return
    view = transition.view(message.consumer)
    if view is None:
        return  # unknown; the platform's next list shows whether it belongs to the group
    match message:
        case ConsumerReady():
            _ready(transition, view, offset, message)
        case StateQueryResponse():
            _responded(transition, view, message)
        case ConsumerReport():
            _reported(transition, view, message)
        case StartConsumingEvent() | StopConsumingEvent() | ConsumingRefused():
            is_ours = message.sequence is None or message.epoch == transition.state.epoch
            if is_ours and view.has_reported_holdings and message.incarnation == view.incarnation:
                transition.change(message.consumer, heard_s=transition.state.listened_s)
                _answered(transition, message)
        case _:
            assert_never(message)


def _ready(transition: Transition, view: View, offset: int, message: ConsumerReady) -> None:
    if view.incarnation is not None and offset <= view.incarnation:
        return
    is_new = view.phase is Phase.AWAITED
    if view.phase is Phase.READY and view.has_reported_holdings and not message.clean:
        poison.crashed(transition, message.consumer, view)  # it was back before the platform's report of the crash
    _learn_holdings(transition, message.consumer, offset, frozenset(message.partitions), message.definitions)
    transition.change(message.consumer, versions=message.versions, crashed_s=None, ready_s=transition.state.listened_s)
    claims.learn(transition, message.consumer, message.claims, False)
    if view.crashed_s is not None:
        takeover.restarted(transition, transition.state.listened_s - view.crashed_s)
    words = "ready" if is_new else f"restarted {'after a clean stop' if message.clean else 'after a crash'}"
    claimed = f", and claims {len(message.claims)}" if message.claims else ""
    transition.note(message.consumer, f"{words}, with {counted(len(message.partitions), 'partition')}{claimed}")
    broken_code.learn(transition, message)
    if broken_code.gives_up(transition, view, message):
        return
    if is_new or view.phase is Phase.ROLLING:
        starts.succeeded(transition, message.consumer, view)


def _responded(transition: Transition, view: View, message: StateQueryResponse) -> None:
    if view.phase is Phase.AWAITED:
        return  # never queried: an answer of the consumer that had this number before
    is_newer = view.incarnation is None or message.incarnation > view.incarnation
    if message.epoch == transition.state.epoch and is_newer:
        held = frozenset(message.partitions)
        _learn_holdings(transition, message.consumer, message.incarnation, held, message.definitions)
        claims.learn(transition, message.consumer, message.claims, message.will_claim)
        transition.note(message.consumer, f"answered the query: it holds {counted(len(held), 'partition')}")


def _reported(transition: Transition, view: View, message: ConsumerReport) -> None:
    if view.incarnation is None or message.incarnation < view.incarnation:
        return  # its holdings are not known yet, or it has been replaced
    held = frozenset(message.lag_records)
    if message.incarnation > view.incarnation:
        _learn_holdings(transition, message.consumer, message.incarnation, held, message.definitions)
    for gap in message.gaps:
        transition.warn(message.consumer, str(gap))
    view = transition.change(
        message.consumer, heard_s=transition.state.listened_s, report=message, report_s=transition.state.time_s
    )
    view = _still_alive(transition, view, message.consumer)
    _learn_after_crash(transition, view, message)
    failures.learn(transition, message)
    left_out.learn(transition, message)
    stuck.learn(transition, message)
    _learn_capacity(transition, message)
    if view.sent or view.phase is not Phase.READY or (held == view.held and message.definitions == view.definitions):
        return
    definitions = _of_held_topics(message.definitions, held)
    if held != view.held or definitions != view.definitions:
        transition.change(message.consumer, held=held, definitions=definitions)
        transition.learn(held)
        if held != view.held:
            transition.replan_cause = Cause.DISAGREEMENT
            words = f"reports {counted(len(held), 'partition')}, the controller assumed {len(view.held)}"
            transition.warn(message.consumer, words)


def _still_alive(transition: Transition, view: View, consumer: ConsumerId) -> View:
    """A report so long after the crash means that the platform was wrong, or late: that process runs."""
    if view.phase is not Phase.CRASHED or transition.state.listened_s - view.since_s < ALIVE_AFTER_S:
        return view
    timeouts.resume(transition, consumer)
    return transition.change(consumer, crashed_s=None)


def _learn_after_crash(transition: Transition, view: View, report: ConsumerReport) -> None:
    if report.will_claim != view.will_claim:
        transition.change(report.consumer, will_claim=report.will_claim)
    if view.claims and not view.claims.isdisjoint(report.lag_records):  # resumed: no controller had answered
        transition.change(report.consumer, claims=view.claims.difference(report.lag_records))
    poison.learn(transition, view, report)


def _learn_capacity(transition: Transition, report: ConsumerReport) -> None:
    state = transition.state
    if report.work is not None and state.fixed_capacity_bytes_per_s is None:
        terms = capacity.Terms(START_CAPACITY_BYTES_PER_S, gains.may_fall(state), state.fixed_cost)
        transition.set(learned=capacity.learn(state.learned, report, terms))


def _learn_holdings(
    transition: Transition,
    consumer: ConsumerId,
    incarnation: int,
    held: frozenset[TopicPartition],
    definitions: SortedMapping[str, str],
) -> None:
    """The consumer has reported all that it holds. Its incarnation obeys no command sent to an older one."""
    before = transition.state.consumers[consumer]
    phase = before.phase if before.phase in (Phase.LEAVING, Phase.LOST) else Phase.READY
    transition.change(
        consumer,
        phase=phase,
        incarnation=incarnation,
        held=held,
        definitions=_of_held_topics(definitions, held),
        sent=(),
        has_reported_holdings=True,
        report=None,
        lagging=SortedMapping(),
        heard_s=transition.state.listened_s,
    )
    transition.set(learned=capacity.restarted(transition.state.learned, consumer))
    transition.learn(held)
    # A Stop that the former process did not answer is void: in a group that is held, no other is sent for load.
    is_kept = transition.state.only_recovers and any(map(before.is_stopping, held))
    if before.has_reported_holdings and (held != before.may_hold or is_kept):
        transition.replan_cause = Cause.DISAGREEMENT
    if before.phase is Phase.ROLLING:
        transition.replan_cause = Cause.ROLLED


def _answered(transition: Transition, message: StartConsumingEvent | StopConsumingEvent | ConsumingRefused) -> None:
    consumer = message.consumer
    view = transition.state.consumers[consumer]
    answered = frozenset(message.partitions)
    if message.sequence is not None:
        sent = next((sent for sent in view.sent if sent.command.sequence == message.sequence), None)
        if sent is None or not answered & sent.left or sent.starts is isinstance(message, StopConsumingEvent):
            return  # a repeated answer, or none to this command
        answered &= sent.left
        view = transition.change(consumer, sent=_unanswered(view.sent, message.sequence, answered))
        if isinstance(message, StartConsumingEvent):
            assert isinstance(sent.command, StartConsumingCommand)
            digests = {topic: service.digest for topic, service in sent.command.topics.items()}
            _set_held(transition, consumer, view.held | answered, digests)
            _clear_refusals(transition, answered)
            poison.started(transition, {p: at for p, at in message.partitions.items() if p in answered})
            if sent.command.answers_claims:  # its checkpoint has it now
                transition.change(consumer, will_claim=True)
            return
    if isinstance(message, StopConsumingEvent):
        _set_held(transition, consumer, view.held - answered)
        _remember_stops(transition, {p: message.partitions[p] for p in sorted(answered)})
        if message.sequence is None:
            _shuts_down(transition, consumer, view)
    elif isinstance(message, ConsumingRefused):
        _set_held(transition, consumer, view.held - answered)
        _refused(transition, message, answered)


def _shuts_down(transition: Transition, consumer: ConsumerId, view: View) -> None:
    """The process ends. One that became ready while its restart was requested is READY until it says so."""
    if view.phase is Phase.READY:
        transition.change(consumer, phase=Phase.RESTARTED)
        if view.is_replaced(transition.state.rules.consumer.grace_s):
            transition.warn(consumer, "shuts down, not on the controller's request; waiting for its restart")
        else:
            transition.note(consumer, "shuts down for its restart")
    transition.change(consumer, is_ending=False)


def _remember_stops(transition: Transition, offsets: Mapping[TopicPartition, int | None]) -> None:
    """If two consumers stopped the same partition, the lower offset counts: beyond it, one may have stored nothing."""
    before = transition.state.stopped
    known = {p: min(offset, before.get(p, offset)) for p, offset in offsets.items() if offset is not None}
    transition.set(stopped=SortedMapping({**before, **known}))


def _unanswered(sent: tuple[Sent, ...], sequence: int, answered: frozenset[TopicPartition]) -> tuple[Sent, ...]:
    """Commands are applied in order, so an answer also settles earlier commands for its partitions. A Start that was
    followed by a Stop in the same cycle is never opened, and may have no offset to answer with."""
    remaining = (
        changed(each, left=each.left - answered) if each.command.sequence <= sequence else each for each in sent
    )
    return tuple(each for each in remaining if each.left)


def _set_held(
    transition: Transition,
    consumer: ConsumerId,
    held: frozenset[TopicPartition],
    digests: dict[str, str] | None = None,
) -> None:
    definitions = {**transition.state.consumers[consumer].definitions, **(digests or {})}
    transition.change(consumer, held=held, definitions=_of_held_topics(definitions, held))


def _of_held_topics(definitions: Mapping[str, str], held: frozenset[TopicPartition]) -> SortedMapping[str, str]:
    topics = {partition.topic for partition in held}
    return SortedMapping({topic: digest for topic, digest in definitions.items() if topic in topics})


def _refused(transition: Transition, message: ConsumingRefused, partitions: frozenset[TopicPartition]) -> None:
    transition.replan_cause = Cause.REFUSED
    transition.warn(message.consumer, f"refused {counted(len(partitions), 'partition')}: {message.reason}")
    if message.kind == "replaced" and message.sequence is None:
        return  # it lost them to another consumer. As the answer to a Start, it means that another still writes there.
    refused = dict(transition.state.refused)
    first_s = transition.state.rules.controller.refused_again_after_s
    for partition in partitions:
        refused[partition] = refused.get(partition, Pause()).after_failure(first_s, transition.state.time_s)
    transition.set(refused=SortedMapping(refused))
    if message.kind == "transform":
        broken_code.learn_from_refusal(transition, message.consumer, {partition.topic for partition in partitions})
    failures.forget(transition, partitions, "its partitions are refused")
    pins.drop_refused(transition, message.consumer, partitions)
    for topic in sorted({partition.topic for partition in partitions}):
        transition.flag(_flag_of(topic), message.reason)


def _clear_refusals(transition: Transition, started: frozenset[TopicPartition]) -> None:
    if started.isdisjoint(transition.state.refused):
        return
    refused = {partition: pause for partition, pause in transition.state.refused.items() if partition not in started}
    transition.set(refused=SortedMapping(refused))
    for topic in sorted({partition.topic for partition in started} - {partition.topic for partition in refused}):
        transition.clear(_flag_of(topic), "its partitions are consumed")


def forget_refusals(transition: Transition, topic: str) -> None:
    """Partitions refused under the topic's old definition may be accepted under the new one."""
    refused = {partition: pause for partition, pause in transition.state.refused.items() if partition.topic != topic}
    transition.set(refused=SortedMapping(refused))
    transition.clear(_flag_of(topic), "the topic's definition changed and its partitions are tried again")


def _flag_of(topic: str) -> str:
    return f"refused {topic}"
