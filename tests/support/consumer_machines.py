"""For tests of the consumer's machine: short names for long values, and a World that carries out its effects with a
checkpoint, a table of positions and a list of sent messages.
"""

from dataclasses import dataclass, field
from math import inf

from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import ChangeAssignment, Effect, End, RunCycle, Save, Send
from restow.consumer.events import (
    AssignmentChanged,
    CommandRead,
    CycleEnded,
    Event,
    QueryRead,
    ReadySent,
    RefusedPartitions,
)
from restow.consumer.machine import begin, step
from restow.consumer.state import State
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.field_types import RECOVER, Offsets, StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    Refusal,
    StartConsumingEvent,
    StopConsumingEvent,
)
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import Command, FromConsumer
from restow.protocol.topic_service import TopicService

ME = ConsumerId(3)
EPOCH = 7
INCARNATION = 40
A0, A1, A2, B0 = (TopicPartition.parse(name) for name in ("a-0", "a-1", "a-2", "b-0"))
TO_A, TO_B, TO_ELSEWHERE = TopicService(table="table-a"), TopicService(table="table-b"), TopicService(table="other")
SERVICES = {"a": TO_A, "b": TO_B}
REPLACED = "the table has more than it should"
NOTHING: Offsets = SortedMapping()


def offsets(**at: int) -> Offsets:
    """offsets(a_0=5) is a-0 at 5."""
    return SortedMapping({_named(name): offset for name, offset in at.items()})


def optional_offsets(**at: int | None) -> SortedMapping[TopicPartition, int | None]:
    """The same, where an offset may not be known."""
    return SortedMapping({_named(name): offset for name, offset in at.items()})


def begins(**at: StartFrom) -> SortedMapping[TopicPartition, StartFrom]:
    """The same, where it may be "recover"."""
    return SortedMapping({_named(name): position for name, position in at.items()})


def _named(name: str) -> TopicPartition:
    return TopicPartition.parse(name.replace("_", "-"))


def services(*topics: str) -> SortedMapping[str, TopicService]:
    return SortedMapping({topic: SERVICES[topic] for topic in topics})


def start(
    sequence: int,
    *partitions: TopicPartition,
    at: StartFrom = RECOVER,
    epoch: int = EPOCH,
    incarnation: int = INCARNATION,
    service: TopicService | None = None,
) -> StartConsumingCommand:
    return StartConsumingCommand(
        epoch,
        sequence,
        incarnation,
        SortedMapping({topic: service or SERVICES[topic] for topic in {each.topic for each in partitions}}),
        SortedMapping(dict.fromkeys(partitions, at)),
    )


def stop(
    sequence: int, *partitions: TopicPartition, epoch: int = EPOCH, incarnation: int = INCARNATION
) -> StopConsumingCommand:
    return StopConsumingCommand(epoch, sequence, incarnation, partitions)


def started(sequence: int, at: Offsets, epoch: int = EPOCH) -> StartConsumingEvent:
    return StartConsumingEvent(ME, INCARNATION, epoch, sequence, at)


def stopped(
    sequence: int | None, at: "Offsets | SortedMapping[TopicPartition, int | None]", epoch: int = EPOCH
) -> StopConsumingEvent:
    return StopConsumingEvent(ME, INCARNATION, epoch, sequence, SortedMapping(at))


def refusal(sequence: int | None, *partitions: TopicPartition, kind: Refusal, reason: str) -> ConsumingRefused:
    return ConsumingRefused(ME, INCARNATION, EPOCH, sequence, partitions, kind, reason)


HELD = Checkpoint(ME, epoch=EPOCH, clean=False, positions=offsets(a_0=10, b_0=20), topics=services("a", "b"))


class Crash(Exception):
    """The process dies with its memory."""


@dataclass
class World:
    """Carries out effects one by one. A cycle or a change stays in `running` until `finish` is called."""

    state: State = field(init=False)
    checkpoint: Checkpoint | None = None
    incarnation: int = INCARNATION
    table: dict[TopicPartition, int] = field(default_factory=dict)
    """The position of each partition. A new one begins at 0, or where its command says."""
    refuses: dict[TopicPartition, str] = field(default_factory=dict)
    dropped: set[TopicPartition] = field(default_factory=set)
    sent: list[FromConsumer] = field(default_factory=list)
    done: list[Effect] = field(default_factory=list)
    running: ChangeAssignment | RunCycle | None = None
    ended: bool = False
    offset: int = 0
    """The offset of the next command."""
    crash_after: int | None = None
    """Crashes after this many effects."""
    record_bytes: int = 0
    cycle_bytes: float = inf

    def begin(self) -> "World":
        self.state, effects = begin(ME, self.checkpoint, report_every_s=5.0, cycle_bytes=self.cycle_bytes)
        self.do(effects)
        return self

    def ready(self) -> "World":
        self.begin()
        self.happens(ReadySent(self.incarnation))
        while isinstance(self.running, ChangeAssignment):
            self.finish()
        return self

    def happens(self, event: Event) -> tuple[Effect, ...]:
        self.state, effects = step(self.state, event)
        self.do(effects)
        if any(isinstance(effect, Send) and not isinstance(effect.message, ConsumerReport) for effect in effects):
            assert self.checkpoint is not None, "sent before it was saved"
            positions, topics = self.state.claims.saved_beside(self.state.positions, self.state.topics)
            assert list(self.checkpoint.positions) == list(positions), "sent before it was saved"
            assert (self.checkpoint.topics, self.checkpoint.epoch) == (topics, self.state.epoch), "sent before saved"
        return effects

    def reads(self, *commands: Command) -> None:
        for command in commands:
            assert self.happens(CommandRead(self.offset, command)) == ()
            self.offset += 1

    def asked(self, query: int, epoch: int = EPOCH, commands_end: int | None = None) -> None:
        end = self.offset if commands_end is None else commands_end
        assert self.happens(QueryRead(StateQuery(epoch, query), end)) == ()

    def do(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if len(self.done) == self.crash_after:
                raise Crash
            self.done.append(effect)
            match effect:
                case Send(message):
                    self.sent.append(message)
                case Save(checkpoint):
                    self.checkpoint = checkpoint
                case ChangeAssignment() | RunCycle():
                    assert self.running is None, "two things at a time"
                    self.running = effect
                case End():
                    assert self.running is None, "something is running"
                    self.ended = True

    def finish(self, progress: int = 0, lag: int = 0) -> tuple[Effect, ...]:
        """Ends the running cycle or change. A cycle reads `progress` records of each partition, and leaves `lag`."""
        effect, self.running = self.running, None
        match effect:
            case ChangeAssignment():
                return self.happens(self.change(effect))
            case RunCycle(positions):
                for partition in positions:
                    assert self.table.setdefault(partition, positions[partition]) == positions[partition]
                    self.table[partition] = positions[partition] + progress
                now: Offsets = SortedMapping({partition: self.table[partition] for partition in positions})
                lags: Offsets = SortedMapping(dict.fromkeys(now, lag))
                return self.happens(CycleEnded(now, lags, records=progress, bytes=progress * self.record_bytes))
            case None:
                raise AssertionError("nothing is running")

    def change(self, effect: ChangeAssignment) -> AssignmentChanged:
        refused = tuple(
            RefusedPartitions((partition,), "table", self.refuses[partition])
            for partition in effect.start
            if partition in self.refuses
        )
        for partition, position in effect.start.items():
            if partition not in self.refuses:  # an opened partition is known to its table
                self.table.setdefault(partition, 0 if position == RECOVER else position)
        return AssignmentChanged(
            started=SortedMapping({p: self.table[p] for p in effect.start if p not in self.refuses}),
            stopped=SortedMapping({p: self.table[p] for p in effect.stop}),
            refused=refused,
        )

    def loses(self, partition: TopicPartition) -> tuple[Effect, ...]:
        """The cycle ends, and another consumer has taken the partition over."""
        assert isinstance(self.running, RunCycle)
        self.running = None
        self.dropped.add(partition)
        left: Offsets = SortedMapping({p: at for p, at in self.state.positions.items() if p != partition})
        dropped = (RefusedPartitions((partition,), "replaced", REPLACED),)
        return self.happens(CycleEnded(left, SortedMapping(dict.fromkeys(left, 1)), dropped=dropped))

    def turn(self, progress: int = 0) -> list[FromConsumer]:
        """Ends the cycle, applies waiting commands, starts the next cycle, and returns the messages sent."""
        before = len(self.sent)
        self.finish(progress)
        while isinstance(self.running, ChangeAssignment):
            self.finish()
        return self.sent[before:]

    @property
    def announced(self) -> ConsumerReady:
        [ready] = [message for message in self.sent if isinstance(message, ConsumerReady)]
        return ready
