"""The machine against a model: any commands, repeats, stale ones and queries, between any cycles."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.consumer.machines import A0, A1, B0, EPOCH, INCARNATION, ME, REPLACED, TO_A, TO_B, TO_ELSEWHERE, World

from restow.consumer.effects import ChangeAssignment
from restow.model import SortedMapping, TopicPartition
from restow.protocol.messages import (
    RECOVER,
    Command,
    ConsumingRefused,
    FromConsumer,
    Offsets,
    StartConsumingCommand,
    StartConsumingEvent,
    StartFrom,
    StateQueryResponse,
    StopConsumingCommand,
    StopConsumingEvent,
    TopicService,
)

PARTITIONS = (A0, A1, B0)
TABLE = {A0: 100, A1: 200, B0: 300}
AGAINST = "other partitions of a are read here by another definition; stop them first"


@dataclass
class Model:
    """A consumer that applies one command after the other, each as if it were alone."""

    held: dict[TopicPartition, int] = field(default_factory=dict)
    services: dict[TopicPartition, TopicService] = field(default_factory=dict)
    epoch: int = 0
    last: int = 0
    answers: dict[int, list[FromConsumer]] = field(default_factory=dict)
    waiting: list[Command] = field(default_factory=list)
    passed_over: int = 0
    query: int | None = None

    def reads(self, command: Command) -> None:
        if command.incarnation != INCARNATION or command.epoch < self.epoch:
            self.passed_over += 1
            return
        self.raises(command.epoch)
        self.waiting.append(command)

    def asked(self, epoch: int, query: int) -> None:
        if epoch < self.epoch:
            self.passed_over += 1
            return
        self.raises(epoch)
        self.query = query

    def raises(self, epoch: int) -> None:
        if epoch > self.epoch:
            self.passed_over += len(self.waiting)
            self.epoch, self.last, self.answers, self.waiting, self.query = epoch, 0, {}, [], None

    def applies(self, table: dict[TopicPartition, int], broken: set[TopicPartition]) -> list[FromConsumer]:
        """What is told when the cycle has ended. What is held neither before nor after it is never opened."""
        commands, self.waiting, before = self.waiting, [], dict(self.held)
        lasting = self.lasting(commands)
        told: list[FromConsumer] = []
        refused: set[TopicPartition] = set()
        for command in commands:
            if command.sequence > self.last:
                self.last = command.sequence
                self.answers[command.sequence] = self.answer(command, before, table, lasting, broken, refused)
            told += self.answers.get(command.sequence, [])
        for partition in refused & set(self.held):
            del self.held[partition], self.services[partition]
        if self.query is not None:
            definitions = SortedMapping({p.topic: self.services[p].digest for p in sorted(self.held)}.items())
            told.append(
                StateQueryResponse(
                    ME, INCARNATION, self.epoch, self.query, SortedMapping(self.held), definitions, self.last
                )
            )
            self.query = None
        return told

    def lasting(self, commands: list[Command]) -> set[TopicPartition]:
        trial = Model(dict(self.held), dict(self.services), last=self.last)
        for command in commands:
            if command.sequence > trial.last:
                trial.last = command.sequence
                trial.answer(command, {}, TABLE, set(), set(), set())
        return set(trial.held)

    def answer(
        self,
        command: Command,
        before: dict[TopicPartition, int],
        table: dict[TopicPartition, int],
        lasting: set[TopicPartition],
        broken: set[TopicPartition],
        refused: set[TopicPartition],
    ) -> list[FromConsumer]:
        head = (ME, INCARNATION, command.epoch, command.sequence)
        if not isinstance(command, StartConsumingCommand):
            stopped = {p: self.held.pop(p, None) for p in command.partitions}
            for partition in command.partitions:
                self.services.pop(partition, None)
            return [
                StopConsumingEvent(*head, SortedMapping({p: None if at == -1 else at for p, at in stopped.items()}))
            ]
        begun: dict[TopicPartition, int] = {}
        against, unusable = [], []
        for partition, at in command.partitions.items():
            service = command.topics[partition.topic]
            if partition not in self.held:
                if any(p.topic == partition.topic and self.services[p] != service for p in self.held):
                    against.append(partition)
                    continue
                self.held[partition] = self.opened(partition, at, before, table, lasting)
                self.services[partition] = service
            if partition in lasting and partition in broken and partition not in before:
                unusable.append(partition)
                refused.add(partition)
            else:
                begun[partition] = self.held[partition]
        told: list[FromConsumer] = []
        known: Offsets = SortedMapping({p: at for p, at in begun.items() if at != -1})
        if known or not (against or unusable):
            told.append(StartConsumingEvent(*head, known))
        told += [ConsumingRefused(*head, (p,), "table", "broken") for p in unusable]
        if against:
            told.append(ConsumingRefused(*head, tuple(against), "table", AGAINST))
        return told

    def opened(
        self,
        partition: TopicPartition,
        at: StartFrom,
        before: dict[TopicPartition, int],
        table: dict[TopicPartition, int],
        lasting: set[TopicPartition],
    ) -> int:
        """-1: nobody knows, since it was not opened."""
        if partition in before or partition in lasting:
            return before.get(partition, table[partition])
        return -1 if at == RECOVER else at


ONE_OR_MORE = st.sets(st.sampled_from(PARTITIONS), min_size=1).map(sorted)
EPOCHS = st.sampled_from([0, 0, 0, 0, 0, 0, -1, 1])
"""Against the greatest so far: mostly the same, sometimes an older or a newer controller."""
INCARNATIONS = st.sampled_from([0, 0, 0, 0, 0, 0, 0, -1])
BACK = st.sampled_from([0, 0, 0, 0, 1, 2])
"""Mostly a new sequence, sometimes one of the last."""
STARTS = st.tuples(
    st.just("start"),
    ONE_OR_MORE,
    st.sampled_from([RECOVER, 5, 6]),
    st.sampled_from([TO_A, TO_A, TO_ELSEWHERE]),
    EPOCHS,
    INCARNATIONS,
    BACK,
)
STOPS = st.tuples(st.just("stop"), ONE_OR_MORE, EPOCHS, INCARNATIONS, BACK)
OTHERS = st.one_of(
    st.tuples(st.just("query"), EPOCHS),
    st.tuples(st.just("cycle"), st.integers(0, 3)),
    st.tuples(st.just("cycle"), st.integers(0, 3)),
    st.tuples(st.just("lose"), st.sampled_from(PARTITIONS)),
    st.tuples(st.just("break"), st.sampled_from(PARTITIONS)),
    st.tuples(st.just("mend"), st.sampled_from(PARTITIONS)),
)


class Play:
    """The machine and the model, side by side."""

    def __init__(self) -> None:
        self.world = World(table=dict(TABLE)).ready()
        self.model = Model()
        self.epoch, self.sequence, self.query = EPOCH, 0, 0

    def start(
        self, partitions: list[TopicPartition], at: StartFrom, service: TopicService, epoch: int, other: int, back: int
    ) -> None:
        services = {"a": service, "b": TO_B}
        self.command(
            StartConsumingCommand(
                self.controller(epoch),
                self.number(back),
                INCARNATION + other,
                SortedMapping({partition.topic: services[partition.topic] for partition in partitions}),
                SortedMapping(dict.fromkeys(partitions, at)),
            )
        )

    def stop(self, partitions: list[TopicPartition], epoch: int, other: int, back: int) -> None:
        self.command(
            StopConsumingCommand(self.controller(epoch), self.number(back), INCARNATION + other, (*partitions,))
        )

    def command(self, command: Command) -> None:
        self.world.reads(command)
        self.model.reads(command)

    def ask(self, epoch: int) -> None:
        self.query += 1
        epoch = self.controller(epoch)
        self.world.asked(self.query, epoch)
        self.model.asked(epoch, self.query)

    def cycle(self, progress: int) -> None:
        for partition in self.model.held:
            self.model.held[partition] += progress
        assert self.world.turn(progress) == self.model.applies(dict(self.world.table), set(self.world.refuses))
        self.compare()

    def lose(self, partition: TopicPartition) -> None:
        told = len(self.world.told)
        expected: list[FromConsumer] = []
        if partition in self.model.held:
            del self.model.held[partition], self.model.services[partition]
            epoch = self.model.epoch
            expected = [ConsumingRefused(ME, INCARNATION, epoch, None, (partition,), "replaced", REPLACED)]
            self.world.loses(partition)
        else:
            self.world.finish()
        while isinstance(self.world.under_way, ChangeAssignment):
            self.world.finish()
        expected += self.model.applies(dict(self.world.table), set(self.world.refuses))
        assert self.world.told[told:] == expected
        self.compare()

    def compare(self) -> None:
        state = self.world.state
        assert dict(state.positions) == self.model.held
        assert {p: state.topics[p.topic] for p in state.positions} == self.model.services
        assert (state.epoch, state.passed_over) == (self.model.epoch, self.model.passed_over)

    def controller(self, newer: int) -> int:
        if newer > 0:
            self.epoch += newer
            self.sequence = 0
        return self.epoch + min(newer, 0)

    def number(self, back: int) -> int:
        self.sequence += back == 0
        return max(1, self.sequence - back)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(STARTS, STOPS, OTHERS), max_size=40))
def test_whatever_it_is_told_it_holds_and_answers_what_one_command_after_the_other_would(
    happenings: list[tuple[Any, ...]],
) -> None:
    play = Play()
    for what, *details in happenings:
        match what:
            case "start":
                play.start(*details)
            case "stop":
                play.stop(*details)
            case "query":
                play.ask(*details)
            case "cycle":
                play.cycle(*details)
            case "lose":
                play.lose(*details)
            case "break":
                play.world.refuses[details[0]] = "broken"
            case "mend":
                play.world.refuses.pop(details[0], None)
    play.cycle(1)
