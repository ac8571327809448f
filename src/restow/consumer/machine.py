"""The consumer as a machine: `begin` it with what its volume has, then `step(state, event) -> (state, effects)`.

`process.py` drives it with Kafka, a volume and a sink; the simulator drives it with its own. It reads in cycles. What
arrives meanwhile waits for the end of the cycle; then all commands become one change of what is read, that is saved,
and only then it is told. So a crash between any two effects leaves a volume that says either what was before the change
or what is after it, and the controller has been told nothing that is not on it.
"""

from dataclasses import replace
from typing import assert_never

from restow.consumer import outgoing
from restow.consumer.answers import Answer, Outcome, remember
from restow.consumer.checkpoint import Saved
from restow.consumer.commands import Batch, named_start, plan
from restow.consumer.effects import ChangeAssignment, Effect, End, RunCycle, Save, Tell
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
from restow.consumer.state import Doing, State
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages import (
    RECOVER,
    Command,
    Offsets,
    StartConsumingCommand,
    StartFrom,
    StopConsumingCommand,
)

Step = tuple[State, tuple[Effect, ...]]


def begin(consumer: ConsumerId, saved: Saved | None, report_every_s: float) -> Step:
    """`saved` is what the volume has; nothing where it has nothing that can be read."""
    saved = saved or Saved(consumer)
    assert saved.consumer == consumer, "the volume is another consumer's"
    state = State(
        consumer,
        report_every_s,
        saved,
        epoch=saved.epoch,
        positions=saved.positions,
        topics=saved.topics,
    )
    return state, (Tell(outgoing.ready(state)),)


def step(state: State, event: Event) -> Step:
    if state.doing is Doing.NOTHING:
        return state, ()
    match event:
        case ReadySent(incarnation):
            return _announced(state, incarnation)
        case ClockTicked(now_s):
            return _ticked(state, now_s)
        case CommandRead():
            return _command_read(state, event), ()
        case CommandsReadTo(offset):
            return replace(state, commands_read_to=max(state.commands_read_to, offset)), ()
        case QueryRead():
            return _query_read(state, event), ()
        case CycleEnded():
            return _cycle_ended(state, event)
        case AssignmentChanged():
            assert state.doing is Doing.CHANGING, f"nothing was changed while {state.doing.value}"
            return _changed(state, event)
        case EndRequested():
            return replace(state, ending=True), ()
        case _:
            assert_never(event)


def _announced(state: State, incarnation: int) -> Step:
    assert state.doing is Doing.ANNOUNCING, "it is announced once"
    # Both are offsets of one log, and a controller that we have seen was there before us: a log in which we come first
    # has been made anew, and its controllers count from the beginning again.
    epoch = state.epoch if state.epoch < incarnation else 0
    state = replace(state, incarnation=incarnation, epoch=epoch)
    if state.ending:  # nothing was opened, so that only the tables know the offsets
        return _end(state, SortedMapping(dict.fromkeys(state.positions, None)))
    state, effects = _save(state)
    if state.positions:
        start: dict[TopicPartition, StartFrom] = dict.fromkeys(state.positions, RECOVER)
        return _after(effects, _change(state, Batch(start=SortedMapping(start), topics=state.topics)))
    return _after(effects, _run_cycle(state))


# What is read: it waits for the end of the cycle.


def _command_read(state: State, read: CommandRead) -> State:
    state = replace(state, commands_read_to=max(state.commands_read_to, read.offset + 1))
    command = read.command
    if state.ending or command.incarnation != state.incarnation or command.epoch < state.epoch:
        return replace(state, passed_over=state.passed_over + 1)
    state = _raise_epoch(state, command.epoch)
    return replace(state, waiting=(*state.waiting, command))


def _query_read(state: State, read: QueryRead) -> State:
    if read.query.epoch < state.epoch:
        return replace(state, passed_over=state.passed_over + 1)
    return replace(_raise_epoch(state, read.query.epoch), query=read)


def _raise_epoch(state: State, epoch: int) -> State:
    """Another controller is in charge: what the one before it said, and was told, counts no more."""
    if epoch == state.epoch:
        return state
    return replace(
        state,
        epoch=epoch,
        waiting=(),
        passed_over=state.passed_over + len(state.waiting),
        last_sequence=0,
        answers=SortedMapping(),
        query=None,
    )


# Between two cycles.


def _cycle_ended(state: State, ended: CycleEnded) -> Step:
    assert state.doing is Doing.READING, f"no cycle was run while {state.doing.value}"
    lost = {partition for refused in ended.dropped for partition in refused.partitions}
    positions = {p: ended.positions.get(p, offset) for p, offset in state.positions.items() if p not in lost}
    state = _holding(state, SortedMapping(positions))
    state = replace(state, lag_records=ended.lag_records, work=state.work.with_cycle(ended))
    effects: tuple[Effect, ...] = ()
    if lost:
        state, effects = _save(state)
        effects += tuple(Tell(outgoing.refused(state, refused)) for refused in ended.dropped)
    if state.ending:
        return _after(effects, _stop_all(state))
    if state.waiting:
        return _after(effects, _apply(state))
    return _after(effects, _go_on(state))


def _apply(state: State) -> Step:
    batch = plan(state.positions, state.topics, state.waiting, state.last_sequence)
    state = _taken(state)
    if batch.changes_something:
        return _change(state, batch)
    return _changed(replace(state, batch=batch), AssignmentChanged(SortedMapping(), SortedMapping()))


def _changed(state: State, changed: AssignmentChanged) -> Step:
    """Saved, then told in the order of the commands; then what the query asked, if all it waits for is done."""
    batch, incarnation = state.batch, state.incarnation
    assert batch is not None
    assert incarnation is not None
    outcome = Outcome(state.consumer, incarnation, batch, state.positions, changed)
    state = _holding(replace(state, batch=None, topics=batch.topics), outcome.positions())
    if batch.ends:
        return _end(state, SortedMapping(changed.stopped))
    tells = [Tell(outgoing.refused(state, refused)) for refused in outcome.refused_unasked()]
    for command, answers in outcome.answers():
        state, answers = _remembered(state, command, answers)
        tells += [Tell(answer) for answer in answers]
    state, effects = _save(state)
    return _after((*effects, *tells), _stop_all(state) if state.ending else _go_on(state))


def _remembered(state: State, command: Command, answers: tuple[Answer, ...] | None) -> tuple[State, tuple[Answer, ...]]:
    """The answers to a command, which a repeat of it will be given again. A repeat of what was forgotten has none."""
    if command.epoch != state.epoch:
        return state, answers or ()  # a newer controller came meanwhile; what it is told must not be taken from here
    if answers is None:
        known = state.answers.get(command.sequence)
        return (state, known) if known else (replace(state, passed_over=state.passed_over + 1), ())
    return replace(state, answers=remember(state.answers, command.sequence, answers)), answers


def _go_on(state: State) -> Step:
    state, effects = _answer_query(state)
    return _after(effects, _run_cycle(state))


def _answer_query(state: State) -> Step:
    if not state.query_is_due:
        return state, ()
    tell = Tell(outgoing.response(state))
    state, effects = _save(replace(state, query=None))
    return state, (*effects, tell)


# The end.


def _stop_all(state: State) -> Step:
    if not state.positions:
        return _end(state, SortedMapping())
    return _change(state, Batch(stop=tuple(state.positions), ends=True))


def _end(state: State, stopped: Stopped) -> Step:
    """A Start that waits is not obeyed any more: it is told as stopped where it was to begin."""
    waiting = state.waiting
    started = {p for command in waiting if isinstance(command, StartConsumingCommand) for p in command.partitions}
    stopped = SortedMapping({p: named_start(p, waiting) for p in started} | dict(stopped))
    stops = [command for command in waiting if isinstance(command, StopConsumingCommand)]
    answers = [answer for command in stops for answer in _last_answers(state, command, stopped)]
    state = _holding(replace(_taken(state), doing=Doing.NOTHING), SortedMapping())
    state, saves = _save(state)
    state, responses = _answer_query(state)
    return state, (*saves, Tell(outgoing.stopped(state, None, stopped)), *map(Tell, answers), *responses, End())


def _last_answers(state: State, command: StopConsumingCommand, stopped: Stopped) -> tuple[Answer, ...]:
    if command.sequence <= state.last_sequence:
        return state.answers.get(command.sequence, ())
    return (outgoing.stopped(state, command.sequence, SortedMapping({p: stopped.get(p) for p in command.partitions})),)


# On every tick.


def _ticked(state: State, now_s: float) -> Step:
    work = state.work
    if work.since_s is not None and not work.is_due(now_s):
        return state, ()
    effects: tuple[Effect, ...] = ()
    if work.is_due(now_s) and state.incarnation is not None:
        effects = (Tell(outgoing.report(state, now_s)),)
    return replace(state, work=work.begun(now_s, state.report_every_s)), effects


# Small steps.


def _taken(state: State) -> State:
    last = max([state.last_sequence, *(command.sequence for command in state.waiting)])
    return replace(state, waiting=(), last_sequence=last)


def _change(state: State, batch: Batch) -> Step:
    state = replace(state, doing=Doing.CHANGING, batch=batch)
    return state, (ChangeAssignment(batch.stop, batch.start, batch.topics),)


def _run_cycle(state: State) -> Step:
    return replace(state, doing=Doing.READING), (RunCycle(state.positions, state.topics),)


def _holding(state: State, positions: Offsets) -> State:
    topics = {partition.topic for partition in positions}
    if len(topics) == len(state.topics):
        return replace(state, positions=positions)
    kept = SortedMapping({topic: service for topic, service in state.topics.items() if topic in topics})
    return replace(state, positions=positions, topics=kept)


def _save(state: State) -> Step:
    """If the volume says something else. Where a partition stands is its table's to know: that alone is no reason."""
    saved = Saved(state.consumer, state.epoch, state.doing is Doing.NOTHING, state.positions, state.topics)
    holds_the_same = list(saved.positions) == list(state.saved.positions)
    if holds_the_same and replace(saved, positions=state.saved.positions) == state.saved:
        return state, ()
    return replace(state, saved=saved), (Save(saved),)


def _after(effects: tuple[Effect, ...], then: Step) -> Step:
    state, more = then
    return state, (*effects, *more)
