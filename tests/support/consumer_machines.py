"""What the tests of the consumer's machine share: short words for long values, and a small world that does what the
machine wants: a volume, a sink that knows its positions, and an ear for what is told.
"""

from dataclasses import dataclass, field

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
from restow.protocol.messages import (
    RECOVER,
    Command,
    ConsumerReady,
    ConsumerReport,
    FromConsumer,
    Offsets,
    StartConsumingCommand,
    StartConsumingEvent,
    StartFrom,
    StateQuery,
    StopConsumingCommand,
    StopConsumingEvent,
    TopicService,
)

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


def told_offsets(**at: int | None) -> SortedMapping[TopicPartition, int | None]:
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


class Crash(Exception):
    """The process is gone, and all that it knew."""


@dataclass
class World:
    """Does one effect after the other. What takes time waits in `under_way` until `finish` is called."""

    state: State = field(init=False)
    saved: Checkpoint | None = None
    incarnation: int = INCARNATION
    table: dict[TopicPartition, int] = field(default_factory=dict)
    """Where each partition stands, whoever reads it; one that it doesn't know begins at 0, or where it is told."""
    refuses: dict[TopicPartition, str] = field(default_factory=dict)
    dropped: set[TopicPartition] = field(default_factory=set)
    told: list[FromConsumer] = field(default_factory=list)
    done: list[Effect] = field(default_factory=list)
    under_way: ChangeAssignment | RunCycle | None = None
    ended: bool = False
    offset: int = 0
    """Of the next command."""
    crash_after: int | None = None
    """So many effects are done; then it crashes."""

    def begin(self) -> "World":
        self.state, effects = begin(ME, self.saved, report_every_s=5.0)
        self.do(effects)
        return self

    def ready(self) -> "World":
        self.begin()
        self.happens(ReadySent(self.incarnation))
        while isinstance(self.under_way, ChangeAssignment):
            self.finish()
        return self

    def happens(self, event: Event) -> tuple[Effect, ...]:
        self.state, effects = step(self.state, event)
        self.do(effects)
        if any(isinstance(effect, Send) and not isinstance(effect.message, ConsumerReport) for effect in effects):
            assert self.saved is not None, "told before it was saved"
            assert list(self.saved.positions) == list(self.state.positions), "told before it was saved"
            assert (self.saved.topics, self.saved.epoch) == (self.state.topics, self.state.epoch), "told before saved"
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
                    self.told.append(message)
                case Save(saved):
                    self.saved = saved
                case ChangeAssignment() | RunCycle():
                    assert self.under_way is None, "two things under way"
                    self.under_way = effect
                case End():
                    assert self.under_way is None, "something is under way"
                    self.ended = True

    def finish(self, progress: int = 0) -> tuple[Effect, ...]:
        """What is under way ends; a cycle reads so many records of each partition."""
        effect, self.under_way = self.under_way, None
        match effect:
            case ChangeAssignment():
                return self.happens(self.change(effect))
            case RunCycle(positions):
                for partition in positions:
                    assert self.table.setdefault(partition, positions[partition]) == positions[partition]
                    self.table[partition] = positions[partition] + progress
                now: Offsets = SortedMapping({partition: self.table[partition] for partition in positions})
                return self.happens(CycleEnded(now, SortedMapping(dict.fromkeys(now, 0)), records=progress))
            case None:
                raise AssertionError("nothing is under way")

    def change(self, effect: ChangeAssignment) -> AssignmentChanged:
        refused = tuple(
            RefusedPartitions((partition,), "table", self.refuses[partition])
            for partition in effect.start
            if partition in self.refuses
        )
        for partition, position in effect.start.items():
            if partition not in self.refuses:  # what is opened is known to its table from then on
                self.table.setdefault(partition, 0 if position == RECOVER else position)
        return AssignmentChanged(
            started=SortedMapping({p: self.table[p] for p in effect.start if p not in self.refuses}),
            stopped=SortedMapping({p: self.table[p] for p in effect.stop}),
            refused=refused,
        )

    def loses(self, partition: TopicPartition) -> tuple[Effect, ...]:
        """The cycle ends, and the table says that somebody else has written what this partition is to write."""
        assert isinstance(self.under_way, RunCycle)
        self.under_way = None
        self.dropped.add(partition)
        left: Offsets = SortedMapping({p: at for p, at in self.state.positions.items() if p != partition})
        dropped = (RefusedPartitions((partition,), "replaced", REPLACED),)
        return self.happens(CycleEnded(left, SortedMapping(dict.fromkeys(left, 1)), dropped=dropped))

    def turn(self, progress: int = 0) -> list[FromConsumer]:
        """The cycle ends, what waits is applied, and the next cycle runs. What was told meanwhile."""
        before = len(self.told)
        self.finish(progress)
        while isinstance(self.under_way, ChangeAssignment):
            self.finish()
        return self.told[before:]

    @property
    def announced(self) -> ConsumerReady:
        [ready] = [message for message in self.told if isinstance(message, ConsumerReady)]
        return ready
