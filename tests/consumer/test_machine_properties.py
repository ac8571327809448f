"""The machine against a model: any commands, repeats, stale ones and queries, between any cycles."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.consumer_machines import (
    A0,
    A1,
    B0,
    EPOCH,
    INCARNATION,
    ME,
    REPLACED,
    TO_A,
    TO_B,
    TO_ELSEWHERE,
    World,
)
from tests.support.examples import examples

from restow.consumer.effects import ChangeAssignment
from restow.model import SortedMapping, TopicPartition
from restow.protocol.field_types import RECOVER, Offsets, StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StopConsumingCommand
from restow.protocol.messages.consumer_events import (
    ConsumingRefused,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.unions import Command, FromConsumer
from restow.protocol.topic_service import TopicService

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
    ignored: int = 0
    query: int | None = None

    def reads(self, command: Command) -> None:
        if command.incarnation != INCARNATION or command.epoch < self.epoch:
            self.ignored += 1
            return
        self.raises(command.epoch)
        self.waiting.append(command)

    def asked(self, epoch: int, query: int) -> None:
        if epoch < self.epoch:
            self.ignored += 1
            return
        self.raises(epoch)
        self.query = query

    def raises(self, epoch: int) -> None:
        if epoch > self.epoch:
            self.ignored += len(self.waiting)
            self.epoch, self.last, self.answers, self.waiting, self.query = epoch, 0, {}, [], None

    def applies(self, table: dict[TopicPartition, int], broken: set[TopicPartition]) -> list[FromConsumer]:
        """The messages sent when the cycle has ended."""
        commands, self.waiting = self.waiting, []
        after = self.after(commands)
        opening = {p for p, service in after.items() if self.services.get(p) != service}
        refused = opening & broken
        known = dict(self.held) | {p: table[p] for p in opening - broken}
        messages: list[FromConsumer] = []
        for command in commands:
            if command.sequence > self.last:
                self.last = command.sequence
                self.answers[command.sequence] = self.answer(command, known, refused)
            messages += self.answers.get(command.sequence, [])
            self.ignored += command.sequence not in self.answers  # a number that was left out, or long ago
        for partition in refused:
            del self.held[partition], self.services[partition]
        return messages + self.response()

    def response(self) -> list[FromConsumer]:
        if self.query is None:
            return []
        query, self.query = self.query, None
        digests = SortedMapping({partition.topic: service.digest for partition, service in self.services.items()})
        held: Offsets = SortedMapping(self.held)
        return [StateQueryResponse(ME, INCARNATION, self.epoch, query, held, digests, self.last)]

    def after(self, commands: list[Command]) -> dict[TopicPartition, TopicService]:
        """What would be held, and by which definition, if nothing were refused."""
        trial = Model(dict(self.held), dict(self.services), last=self.last)
        for command in commands:
            if command.sequence > trial.last:
                trial.last = command.sequence
                trial.answer(command, {}, set())
        return trial.services

    def answer(
        self, command: Command, known: dict[TopicPartition, int], refused: set[TopicPartition]
    ) -> list[FromConsumer]:
        """`known`: where the partitions are that are held before or after all the commands. Others are never opened."""
        head = (ME, INCARNATION, command.epoch, command.sequence)
        if not isinstance(command, StartConsumingCommand):
            for partition in command.partitions:
                self.services.pop(partition, None)
            stopped = {p: self.held.pop(p, UNKNOWN) for p in command.partitions}
            return [StopConsumingEvent(*head, SortedMapping({p: known_or_none(at) for p, at in stopped.items()}))]
        against = []
        for partition, at in command.partitions.items():
            service = command.topics[partition.topic]
            if partition in self.held:
                continue
            if any(p.topic == partition.topic and self.services[p] != service for p in self.held):
                against.append(partition)
            else:
                self.held[partition] = known.get(partition, UNKNOWN if at == RECOVER else at)
                self.services[partition] = service
        unusable = [p for p in command.partitions if p in refused and p not in against]
        begun = {p: self.held[p] for p in command.partitions if p not in (*unusable, *against)}
        messages: list[FromConsumer] = [ConsumingRefused(*head, (p,), "table", "broken") for p in unusable]
        if against:
            messages.append(ConsumingRefused(*head, tuple(against), "table", AGAINST))
        offsets: Offsets = SortedMapping({p: at for p, at in begun.items() if at != UNKNOWN})
        return [StartConsumingEvent(*head, offsets), *messages] if offsets or not messages else messages


UNKNOWN = -1


def known_or_none(offset: int) -> int | None:
    return None if offset == UNKNOWN else offset


ONE_OR_MORE = st.sets(st.sampled_from(PARTITIONS), min_size=1).map(sorted)
EPOCHS = st.sampled_from([0, 0, 0, 0, 0, 0, -1, 1])
"""Relative to the greatest epoch so far: mostly the same, sometimes an older or a newer controller."""
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
        before = len(self.world.sent)
        expected: list[FromConsumer] = []
        if partition in self.model.held:
            del self.model.held[partition], self.model.services[partition]
            epoch = self.model.epoch
            expected = [ConsumingRefused(ME, INCARNATION, epoch, None, (partition,), "replaced", REPLACED)]
            self.world.loses(partition)
        else:
            self.world.finish()
        while isinstance(self.world.running, ChangeAssignment):
            self.world.finish()
        expected += self.model.applies(dict(self.world.table), set(self.world.refuses))
        assert self.world.sent[before:] == expected
        self.compare()

    def compare(self) -> None:
        state = self.world.state
        assert dict(state.positions) == self.model.held
        assert {p: state.topics[p.topic] for p in state.positions} == self.model.services
        assert (state.epoch, state.ignored) == (self.model.epoch, self.model.ignored)

    def controller(self, newer: int) -> int:
        if newer > 0:
            self.epoch += newer
            self.sequence = 0
        return self.epoch + min(newer, 0)

    def number(self, back: int) -> int:
        self.sequence += back == 0
        return max(1, self.sequence - back)


@settings(max_examples=examples(300))
@given(st.lists(st.one_of(STARTS, STOPS, OTHERS), max_size=40))
def test_it_holds_and_answers_as_if_commands_were_applied_one_by_one(
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
