"""The consumer as a pure machine: `begin` with the checkpoint, then `step(state, event) -> (state, effects)`.

`roles/consumer.py` drives it with Kafka, a volume and a pipeline; the simulator drives it with its own.

A process that starts after a crash claims what the one before held, and reads none of it unasked (claims.py).

The consumer reads in cycles. Commands that arrive during a cycle wait for its end. Then they become one change of the
assignment, the new assignment is saved, and only then are the commands answered. So a crash between any two effects
leaves a checkpoint from before or after the whole change, and no answer ever runs ahead of the checkpoint.
"""

from collections.abc import Iterable
from dataclasses import replace
from math import inf
from typing import Final, assert_never

from restow.consumer import outgoing
from restow.consumer.answers import Answer, AppliedBatch, remember
from restow.consumer.checkpoint import Checkpoint
from restow.consumer.claims import NO_CLAIMS, Claims
from restow.consumer.commands import CommandBatch, merge_commands, named_start
from restow.consumer.effects import ChangeAssignment, Effect, End, RunCycle, Save, Send
from restow.consumer.events import (
    AssignmentChanged,
    ClockTicked,
    CommandRead,
    CommandsReadTo,
    CycleEnded,
    EndRequested,
    Event,
    QueryRead,
    ReadySent,
)
from restow.consumer.outgoing import Stopped
from restow.consumer.state import Activity, State
from restow.frozen import changed
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.field_types import RECOVER, BrokenTransforms, Offsets, StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StopConsumingCommand
from restow.protocol.messages.unions import Command
from restow.protocol.platform_identity import PlatformIdentity

NONE_BROKEN: Final[BrokenTransforms] = SortedMapping()
RESUME_AFTER_S: Final = 10.0
"""The default of `resume_after_s` in [consumer]."""

Step = tuple[State, tuple[Effect, ...]]


def begin(
    consumer: ConsumerId,
    checkpoint: Checkpoint | None,
    report_every_s: float,
    broken: BrokenTransforms = NONE_BROKEN,
    platform: PlatformIdentity | None = None,
    resume_after_s: float = RESUME_AFTER_S,
    cycle_bytes: float = inf,
) -> Step:
    """`checkpoint` is None if the volume has none that can be read; `cycle_bytes` is the most that a cycle reads."""
    checkpoint = checkpoint or Checkpoint(consumer)
    assert checkpoint.consumer == consumer, "the checkpoint is another consumer's"
    will_claim = checkpoint.will_claim
    state = State(
        consumer,
        report_every_s,
        checkpoint,
        platform,
        epoch=checkpoint.epoch,
        positions=SortedMapping() if will_claim else checkpoint.positions,
        topics=SortedMapping() if will_claim else checkpoint.topics,
        claims=Claims.of(checkpoint, resume_after_s) if will_claim else NO_CLAIMS,
        will_claim=will_claim,
        cycle_bytes=cycle_bytes,
    )
    return state, (Send(outgoing.ready(state, broken)),)


def step(state: State, event: Event) -> Step:
    if state.activity is Activity.ENDED:
        return state, ()
    match event:
        case ReadySent(incarnation):
            return _announced(state, incarnation)
        case ClockTicked(now_s, is_stalled):
            return _ticked(state if state.is_stalled == is_stalled else changed(state, is_stalled=is_stalled), now_s)
        case CommandRead():
            return _command_read(state, event), ()
        case CommandsReadTo(offset):
            return changed(state, commands_read_to=max(state.commands_read_to, offset)), ()
        case QueryRead():
            return _query_read(state, event), ()
        case CycleEnded():
            return _cycle_ended(state, event)
        case AssignmentChanged():
            assert state.activity is Activity.CHANGING, f"nothing was changed while {state.activity.value}"
            return _changed(state, event)
        case EndRequested():
            return changed(state, ending=True), ()
        case _:
            assert_never(event)


def _announced(state: State, incarnation: int) -> Step:
    assert state.activity is Activity.ANNOUNCING, "it is announced once"
    # Epochs and incarnations are offsets of the same log, and the epoch in the checkpoint was there before us. If it is
    # not smaller than our incarnation, the topic was recreated, and its epochs start again from 0.
    epoch = state.epoch if state.epoch < incarnation else 0
    state = changed(state, incarnation=incarnation, epoch=epoch)
    if state.ending:  # nothing was opened: only the tables know the offsets
        return _end(state, SortedMapping(dict.fromkeys(state.positions, None)))
    state, effects = _save(state)
    if state.positions:
        start: dict[TopicPartition, StartFrom] = dict.fromkeys(state.positions, RECOVER)
        return _after(effects, _change(state, CommandBatch(start=SortedMapping(start), topics=state.topics)))
    return _after(effects, _run_cycle(state))


# Commands and queries: they wait for the end of the cycle.


def _command_read(state: State, read: CommandRead) -> State:
    state = changed(state, commands_read_to=max(state.commands_read_to, read.offset + 1))
    command = read.command
    if state.ending or command.incarnation != state.incarnation or command.epoch < state.epoch:
        return changed(state, ignored=state.ignored + 1)
    state = _raise_epoch(state, command.epoch)
    return changed(state, waiting=(*state.waiting, command), claims=state.claims.heard())


def _query_read(state: State, read: QueryRead) -> State:
    if read.query.epoch < state.epoch:
        return changed(state, ignored=state.ignored + 1)
    return changed(_raise_epoch(state, read.query.epoch), query=read, claims=state.claims.heard())


def _raise_epoch(state: State, epoch: int) -> State:
    """A newer controller is in charge: waiting commands and remembered answers of the previous one are void."""
    if epoch == state.epoch:
        return state
    return changed(
        state,
        epoch=epoch,
        waiting=(),
        ignored=state.ignored + len(state.waiting),
        last_sequence=0,
        answers=SortedMapping(),
        query=None,
    )


# Between two cycles: apply the commands, save, answer.


def _cycle_ended(state: State, ended: CycleEnded) -> Step:
    assert state.activity is Activity.READING, f"no cycle was run while {state.activity.value}"
    lost = {partition for refused in ended.dropped for partition in refused.partitions}
    positions = ended.positions
    if lost or list(positions) != list(state.positions):
        kept = (item for item in state.positions.items() if item[0] not in lost)
        positions = SortedMapping({partition: positions.get(partition, offset) for partition, offset in kept})
    state = _holding(state, positions)
    state = changed(
        state,
        lag_records=ended.lag_records,
        failures=ended.failures,
        report_window=state.report_window.with_cycle(ended),
        suspects=_still_suspected(state, ended),
    )
    effects: tuple[Effect, ...] = ()
    if lost:
        state, effects = _save(state)
        effects += tuple(Send(outgoing.refused(state, refused)) for refused in ended.dropped)
    if state.ending:
        return _after(effects, _stop_all(state))
    if state.waiting:
        return _after(effects, _apply(state))
    if state.claims.is_due:
        return _after(effects, _resume(state))
    return _after(effects, _continue(state))


def _resume(state: State) -> Step:
    """No controller has answered the claims."""
    claims, batch = state.claims.resumed(state.topics)
    return _change(changed(state, claims=claims), batch)


def _apply(state: State) -> Step:
    batch = merge_commands(state.positions, state.topics, state.waiting, state.last_sequence)
    starts = [command for command in state.waiting if isinstance(command, StartConsumingCommand)]
    state = changed(
        state,
        claims=state.claims.answered(state.waiting),
        will_claim=starts[-1].answers_claims if starts else state.will_claim,
        suspects=_suspects(state, starts),
    )
    state = _taken(state)
    if batch.changes_something:
        return _change(state, batch)
    return _changed(changed(state, batch=batch), AssignmentChanged(SortedMapping(), SortedMapping()))


def _changed(state: State, event: AssignmentChanged) -> Step:
    """Saves, then answers in the order of the commands, then answers the query if it is due."""
    batch, incarnation = state.batch, state.incarnation
    assert batch is not None
    assert incarnation is not None
    applied = AppliedBatch(state.consumer, incarnation, batch, state.positions, event)
    state = _holding(changed(state, batch=None, topics=batch.topics), applied.positions())
    if batch.ends:
        return _end(state, SortedMapping(event.stopped))
    sends = [Send(outgoing.refused(state, refused)) for refused in applied.unsolicited_refusals()]
    for command, answers in applied.answers():
        state, answers = _remembered(state, command, answers)
        sends += [Send(answer) for answer in answers]
    state, effects = _save(state)
    return _after((*effects, *sends), _stop_all(state) if state.ending else _continue(state))


def _remembered(state: State, command: Command, answers: tuple[Answer, ...] | None) -> tuple[State, tuple[Answer, ...]]:
    """Remembers the answers to a command, or looks up those to a repeat: none if they were forgotten."""
    if command.epoch != state.epoch:
        return state, answers or ()  # of an older controller: a newer one's commands have their own sequences
    if answers is None:
        known = state.answers.get(command.sequence)
        return (state, known) if known else (changed(state, ignored=state.ignored + 1), ())
    return changed(state, answers=remember(state.answers, command.sequence, answers)), answers


def _continue(state: State) -> Step:
    state, effects = _answer_query(state)
    return _after(effects, _run_cycle(state))


def _answer_query(state: State) -> Step:
    if not state.query_is_due:
        return state, ()
    send = Send(outgoing.response(state))
    state, effects = _save(changed(state, query=None))
    return state, (*effects, send)


# Shutdown.


def _stop_all(state: State) -> Step:
    if not state.positions:
        return _end(state, SortedMapping())
    return _change(state, CommandBatch(stop=tuple(state.positions), ends=True))


def _end(state: State, stopped: Stopped) -> Step:
    """Ends the machine. Partitions of a waiting Start are reported as stopped where they were to begin."""
    waiting = state.waiting
    started = {p for command in waiting if isinstance(command, StartConsumingCommand) for p in command.partitions}
    stopped = SortedMapping({p: named_start(p, waiting) for p in started} | dict(stopped))
    stops = [command for command in waiting if isinstance(command, StopConsumingCommand)]
    answers = [answer for command in stops for answer in _last_answers(state, command, stopped)]
    state = _holding(changed(_taken(state), activity=Activity.ENDED, claims=NO_CLAIMS), SortedMapping())
    state, saves = _save(state)
    state, responses = _answer_query(state)
    return state, (*saves, Send(outgoing.stopped(state, None, stopped)), *map(Send, answers), *responses, End())


def _last_answers(state: State, command: StopConsumingCommand, stopped: Stopped) -> tuple[Answer, ...]:
    if command.sequence <= state.last_sequence:
        return state.answers.get(command.sequence, ())
    return (outgoing.stopped(state, command.sequence, SortedMapping({p: stopped.get(p) for p in command.partitions})),)


# Suspects: partitions that consumers crashed on.


def _suspects(state: State, starts: Iterable[StartConsumingCommand]) -> SortedMapping[TopicPartition, int | None]:
    suspects = dict(state.suspects)
    for command in starts:
        suspects |= {partition: None for partition in command.suspects if partition not in state.suspects}
    return SortedMapping(suspects)


def _still_suspected(state: State, ended: CycleEnded) -> SortedMapping[TopicPartition, int | None]:
    """A partition is a suspect until all that its log had at the end of its first cycle is stored, or as much of it
    as the cycle of a crashed process can have read."""
    if not state.suspects:
        return state.suspects
    most_records = ended.records * state.cycle_bytes / ended.bytes if ended.bytes else inf
    left: dict[TopicPartition, int | None] = {}
    for partition, until in state.suspects.items():
        position = ended.positions.get(partition)
        if position is None or partition not in state.positions:
            continue
        lag = ended.lag_records.get(partition)
        if until is None:
            until = None if lag is None else position + int(min(lag, most_records))
        if until is None or position < until:
            left[partition] = until
    return SortedMapping(left)


# Reports.


def _ticked(state: State, now_s: float) -> Step:
    if state.incarnation is not None and state.claims.positions:
        state = changed(state, claims=state.claims.ticked(now_s))
    window = state.report_window
    if window.since_s is not None and not window.is_due(now_s):
        return state, ()
    effects: tuple[Effect, ...] = ()
    if window.is_due(now_s) and state.incarnation is not None:
        effects = (Send(outgoing.report(state, now_s)),)
    return changed(state, report_window=window.restarted(now_s, state.report_every_s)), effects


# Parts of the steps above.


def _taken(state: State) -> State:
    last = max([state.last_sequence, *(command.sequence for command in state.waiting)])
    return changed(state, waiting=(), last_sequence=last)


def _change(state: State, batch: CommandBatch) -> Step:
    state = changed(state, activity=Activity.CHANGING, batch=batch)
    return state, (ChangeAssignment(batch.stop, batch.start, batch.topics),)


def _run_cycle(state: State) -> Step:
    suspects = tuple(partition for partition in state.suspects if partition in state.positions)
    return changed(state, activity=Activity.READING), (RunCycle(state.positions, state.topics, suspects),)


def _holding(state: State, positions: Offsets) -> State:
    topics = {partition.topic for partition in positions}
    if len(topics) == len(state.topics):
        return changed(state, positions=positions)
    kept = SortedMapping({topic: service for topic, service in state.topics.items() if topic in topics})
    return changed(state, positions=positions, topics=kept)


def _save(state: State) -> Step:
    """Saves if the assignment, its definitions or the epoch changed. Offsets alone are no reason: tables have them."""
    is_clean = state.activity is Activity.ENDED
    positions, topics = state.claims.saved_beside(state.positions, state.topics)
    checkpoint = Checkpoint(state.consumer, state.epoch, is_clean, positions, topics, state.will_claim)
    holds_the_same = list(checkpoint.positions) == list(state.checkpoint.positions)
    if holds_the_same and replace(checkpoint, positions=state.checkpoint.positions) == state.checkpoint:
        return state, ()
    return changed(state, checkpoint=checkpoint), (Save(checkpoint),)


def _after(effects: tuple[Effect, ...], then: Step) -> Step:
    state, more = then
    return state, (*effects, *more)
