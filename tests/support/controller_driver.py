"""Drives a controller's machine through a test. Every method is an event, and returns the requests that follow from it;
`notes` and `moved` have what the controller noted since the last event.

Fake consumers obey when a test calls `answers`, and remember what they hold; nothing happens on its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from restow.controller.effects import Effect, ListConsumers, Moved, Noted, Send
from restow.controller.event_log import entry, header
from restow.controller.events import (
    ClockTicked,
    CodeChanged,
    ConsumersListed,
    Event,
    Heard,
    PlatformRefused,
    Received,
    ServiceChanged,
    SpeedsMeasured,
    TookOver,
)
from restow.controller.machine import begin, step
from restow.controller.state import Rules, State, View
from restow.controller.transitions import Cause, Stage
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.platform.interface import (
    ConsumerCrashed,
    ConsumerFailing,
    ConsumerGone,
    ConsumerUp,
    CreateConsumer,
    DeleteConsumer,
    Listed,
    PlatformAction,
    RestartConsumer,
)
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.field_types import Offsets, StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    Refusal,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Command, FromConsumer, OnService
from restow.protocol.topic_service import TopicService
from restow.settings import Consumer, Controller

EPOCH = 7
CAPACITY = 100.0
A0, A1, A2, A3, A4, B0 = (TopicPartition.parse(name) for name in ("a-0", "a-1", "a-2", "a-3", "a-4", "b-0"))
TO_A, TO_B, ELSEWHERE = TopicService("tables/a"), TopicService("tables/b"), TopicService("tables/elsewhere")
PLAIN = TopicService("files/a", refuses_late_writes=False)
CONSUME = SortedMapping({"a": TO_A, "b": TO_B})
AT_ONCE: dict[str, Any] = {"close_after_s": 0.0, "cool_down_after_opening_s": 0.0, "cool_down_after_closing_s": 0.0}
"""A consumer is closed as soon as the speeds of the moment allow it, and none is opened ahead. test_closing.py and
test_rise.py test the rules that wait and predict."""
RULES = Rules(Controller(**AT_ONCE), Consumer(capacity_bytes_per_s=CAPACITY, memory_mb=1024), CONSUME)
SETTINGS = ConsumerSettings(memory_mb=1024, cores=1.0, capacity_bytes_per_s=CAPACITY)
KNOWS_CLAIMS = SortedMapping({"ConsumerReady": 2, "StartConsumingCommand": 3})
TAKE_OVER_S = 1000.0
NOON_UTC_S = 1_772_366_400.0
"""2026-03-01T12:00:00Z, when it takes over."""

Request = Send | ListConsumers | CreateConsumer | DeleteConsumer | RestartConsumer
Requests = tuple[Request, ...]


def rules(consume: Mapping[str, TopicService] = CONSUME, **controller: Any) -> Rules:
    return Rules(Controller(**{**AT_ONCE, **controller}), RULES.consumer, SortedMapping(consume))


def named(values: Mapping[str, Any]) -> SortedMapping[TopicPartition, Any]:
    """a_0=40 is a-0 at 40."""
    return SortedMapping({TopicPartition.parse(name.replace("_", "-")): value for name, value in values.items()})


@dataclass
class FakeConsumer:
    """A consumer's own view of itself."""

    incarnation: int
    held: dict[TopicPartition, int] = field(default_factory=dict)
    topics: dict[str, TopicService] = field(default_factory=dict)
    will_claim: bool = False
    """Whether the last Start said that claims are answered."""

    @property
    def definitions(self) -> SortedMapping[str, str]:
        return SortedMapping({topic: self.topics[topic].digest for topic in {p.topic for p in self.held}})


class Driver:
    def __init__(self, rules: Rules = RULES) -> None:
        self.state: State = begin(rules)
        self.now_s = TAKE_OVER_S
        self.offset = 100
        self.fakes: dict[int, FakeConsumer] = {}
        self.inbox: dict[int, list[Command | StateQuery]] = {}
        self.position = 10
        self.measurements = 0
        self.notes: tuple[Noted, ...] = ()
        self.moved: tuple[Moved, ...] = ()
        self.log = [header(self.state)]
        self.speeds: Speeds = Speeds()
        self.service_offset = -1
        self.clock_off_s = 0.0
        """How far the wall clock is off."""

    @property
    def utc_s(self) -> float:
        return NOON_UTC_S + self.now_s - TAKE_OVER_S + self.clock_off_s

    # Events.

    def happens(self, *events: Event) -> Requests:
        effects: list[Effect] = []
        for event in events:
            self.state, done = step(self.state, event)
            self.log.append(entry(event, done, self.state))
            effects += done
        self.notes = tuple(effect for effect in effects if isinstance(effect, Noted))
        self.moved = tuple(effect for effect in effects if isinstance(effect, Moved))
        for effect in effects:
            if isinstance(effect, Send):
                self.inbox.setdefault(effect.consumer, []).append(effect.message)
        return tuple(effect for effect in effects if not isinstance(effect, Moved | Noted))

    def takes_over(
        self, holding: Mapping[int, Iterable[TopicPartition]] | None = None, settings: str | None = None
    ) -> "Driver":
        """Starts, finds these consumers with these partitions and settings, and enters Sentinel."""
        assert self.starts() == (ListConsumers(),)
        self.lists(*(holding or {}), settings=settings)
        for consumer, partitions in (holding or {}).items():
            held = dict.fromkeys(partitions, self.position)
            self.fakes[consumer] = FakeConsumer(self.next_offset(), held, self.services_of(held))
            self.answers(consumer)
        assert self.state.stage is Stage.SENTINEL
        return self

    def starts(self) -> Requests:
        self.happens(ClockTicked(self.now_s, utc_s=self.utc_s))
        return self.happens(TookOver(EPOCH))

    def ticks(self, seconds: float = 1.0, listening: bool = True) -> Requests:
        self.now_s += seconds
        return self.happens(ClockTicked(self.now_s, listening, self.utc_s))

    def waits(
        self, seconds: float, *, silent: Iterable[int] = (), measured: bool = True, listening: bool = True
    ) -> Requests:
        """Lets time pass in steps of a second; all consumers but the silent ones report, and the same speeds are
        measured. ListConsumers requests are left out and stay unanswered."""
        silent = set(silent)
        requests: list[Request] = []
        notes: list[Noted] = []
        moved: list[Moved] = []
        for second in range(1, round(seconds) + 1):
            done = [*self.ticks(1.0, listening)]
            notes += self.notes
            moved += self.moved
            if second % 5 == 0 and measured:
                done += self.measures()
                notes += self.notes
                moved += self.moved
            if second % 5 == 0:
                for consumer in sorted(self.fakes.keys() - silent):
                    done += self.reports(consumer)
                    notes += self.notes
                    moved += self.moved
            requests += done
        self.notes, self.moved = tuple(notes), tuple(moved)
        return tuple(request for request in requests if not isinstance(request, ListConsumers))

    def measures(self, records_per_s: Mapping[str, float] | None = None, **speeds: float) -> Requests:
        """Measures these speeds, or the last ones again."""
        if speeds:
            self.speeds = Speeds(named(speeds))
        return self.happens(SpeedsMeasured(self.next_time(), self.speeds, named(records_per_s or {})))

    def lists(self, *consumers: int, leaving: Iterable[int] = (), settings: str | None = None) -> Requests:
        there = [Listed(ConsumerId(consumer), consumer in leaving, settings) for consumer in (*consumers, *leaving)]
        return self.happens(ConsumersListed(tuple(there)))

    def goes(self, consumer: int) -> Requests:
        """The platform reports the consumer gone."""
        self.fakes.pop(consumer, None)
        self.inbox.pop(consumer, None)
        return self.happens(ConsumerGone(ConsumerId(consumer)))

    def fails(self, consumer: int, reason: str = "no memory") -> Requests:
        return self.happens(ConsumerFailing(ConsumerId(consumer), reason))

    def crashes(self, consumer: int, reason: str = "killed") -> Requests:
        """The platform reports the first crash."""
        self.fakes.pop(consumer, None)
        self.inbox.pop(consumer, None)
        return self.happens(ConsumerCrashed(ConsumerId(consumer), reason))

    def is_up(self, consumer: int) -> Requests:
        return self.happens(ConsumerUp(ConsumerId(consumer)))

    def platform_refuses(self, action: PlatformAction, consumer: int) -> Requests:
        return self.happens(PlatformRefused(ConsumerId(consumer), action, "too busy"))

    def changes(self, topic: str, service: TopicService | None) -> Requests:
        action = "remove" if service is None else "change"
        return self.happens(ServiceChanged(ServiceUpdate("remove" if action == "remove" else "change", topic, service)))

    def changes_consumers(self, settings: ConsumerSettings) -> Requests:
        return self.happens(ServiceChanged(ServiceUpdate("consumers", consumers=settings)))

    def desires(self, record: OnService) -> Requests:
        """The record arrives on the service topic."""
        self.service_offset += 1
        return self.happens(ServiceChanged(record, offset=self.service_offset))

    def changes_code(self, code: str | None) -> Requests:
        return self.happens(CodeChanged(code))

    # Messages of consumers.

    def hears(self, message: FromConsumer) -> Requests:
        return self.happens(Received((Heard(self.next_offset(), message),)))

    def claims(self, consumer: int, *partitions: TopicPartition) -> Requests:
        """The consumer is back after a crash, holds nothing, and claims these."""
        fake = self.fakes[consumer] = FakeConsumer(self.next_offset(), will_claim=True)
        self.inbox[consumer] = []
        empty: SortedMapping[str, str] = SortedMapping()
        message = ConsumerReady(ConsumerId(consumer), False, (), empty, KNOWS_CLAIMS, claims=partitions)
        return self.happens(Received((Heard(fake.incarnation, message),)))

    def is_ready(
        self, consumer: int, *partitions: TopicPartition, clean: bool = True, broken: Mapping[str, str] | None = None
    ) -> Requests:
        """The consumer starts, for the first time or again."""
        fake = FakeConsumer(self.next_offset(), dict.fromkeys(partitions, self.position), self.services_of(partitions))
        self.fakes[consumer] = fake
        self.inbox[consumer] = []
        message = ConsumerReady(
            ConsumerId(consumer), clean, partitions, fake.definitions, SortedMapping(), SortedMapping(broken or {})
        )
        return self.happens(Received((Heard(fake.incarnation, message),)))

    def reports(self, consumer: int, **changes: Any) -> Requests:
        """What it holds, and how it is doing; lag in records by partition."""
        fake = self.fakes[consumer]
        lag: Offsets = SortedMapping(dict.fromkeys(fake.held, 0))
        report = ConsumerReport(
            ConsumerId(consumer), fake.incarnation, lag, fake.definitions, 0.0, 0.0, False, 0.5, 0.5
        )
        report = replace(report, will_claim=fake.will_claim)
        return self.hears(replace(report, **changes))

    def answers(self, *consumers: int) -> Requests:
        """The consumers, or all of them, obey their commands in order and answer."""
        requests: Requests = ()
        for consumer in consumers or sorted(self.inbox):
            messages, self.inbox[consumer] = self.inbox.get(consumer, []), []
            for message in messages:
                requests += self.hears(self.answer_of(consumer, message))
        return requests

    def settles(self) -> Requests:
        """All consumers answer until no command is left."""
        requests: Requests = ()
        for _ in range(20):
            if not any(self.inbox.values()):
                return requests
            requests += self.answers()
        raise AssertionError(f"still commanding: {self.inbox}")

    def answer_of(self, consumer: int, message: Command | StateQuery) -> FromConsumer:
        """Obeys a message, and returns the answer."""
        fake, number = self.fakes[consumer], ConsumerId(consumer)
        match message:
            case StateQuery(epoch, query):
                held: Offsets = SortedMapping(fake.held)
                return StateQueryResponse(number, fake.incarnation, epoch, query, held, fake.definitions, 0)
            case StartConsumingCommand():
                begun = {p: 0 if at == "recover" else at for p, at in message.partitions.items()}
                fake.held |= begun
                fake.topics |= message.topics
                fake.will_claim = message.answers_claims
                return self.started(consumer, message.sequence, begun)
            case StopConsumingCommand():
                ended = {partition: fake.held.pop(partition, None) for partition in message.partitions}
                return self.stopped(consumer, message.sequence, ended)

    def started(self, consumer: int, sequence: int, at: Mapping[TopicPartition, int]) -> StartConsumingEvent:
        incarnation = self.fakes[consumer].incarnation
        return StartConsumingEvent(ConsumerId(consumer), incarnation, EPOCH, sequence, SortedMapping(at))

    def stopped(
        self, consumer: int, sequence: int | None, at: Mapping[TopicPartition, int | None]
    ) -> StopConsumingEvent:
        incarnation = self.fakes[consumer].incarnation
        return StopConsumingEvent(ConsumerId(consumer), incarnation, EPOCH, sequence, SortedMapping(at))

    def refused(
        self, consumer: int, sequence: int | None, *partitions: TopicPartition, kind: Refusal = "table"
    ) -> ConsumingRefused:
        incarnation = self.fakes[consumer].incarnation
        return ConsumingRefused(ConsumerId(consumer), incarnation, EPOCH, sequence, partitions, kind, "no such table")

    # Expected commands.

    def granting(self, consumer: int, sequence: int, *suspects: TopicPartition, **at: StartFrom) -> Send:
        """The same as `start`, to a consumer that knows claims."""
        send = self.start(consumer, sequence, **at)
        assert isinstance(send.message, StartConsumingCommand)
        return Send(send.consumer, replace(send.message, answers_claims=True, suspects=suspects))

    def start(self, consumer: int, sequence: int, **at: StartFrom) -> Send:
        """driver.start(2, 1, a_0=15): to consumer 2, its first command: read a-0 from 15 on."""
        partitions = named(at)
        topics = SortedMapping(self.services_of(partitions))
        incarnation = self.fakes[consumer].incarnation
        command = StartConsumingCommand(EPOCH, sequence, incarnation, topics, partitions)
        return Send(ConsumerId(consumer), command)

    def stop(self, consumer: int, sequence: int, *partitions: TopicPartition) -> Send:
        incarnation = self.fakes[consumer].incarnation
        return Send(ConsumerId(consumer), StopConsumingCommand(EPOCH, sequence, incarnation, partitions))

    # State.

    def view(self, consumer: int) -> View:
        return self.state.consumers[ConsumerId(consumer)]

    @property
    def phases(self) -> dict[int, str]:
        return {int(consumer): view.phase.value for consumer, view in self.state.consumers.items()}

    @property
    def held(self) -> dict[int, tuple[TopicPartition, ...]]:
        """What each consumer itself holds."""
        return {consumer: tuple(sorted(fake.held)) for consumer, fake in sorted(self.fakes.items())}

    @property
    def causes(self) -> list[Cause]:
        return [moved.cause for moved in self.moved]

    @property
    def words(self) -> list[str]:
        return [f"{noted.subject}: {noted.words}" for noted in self.notes]

    @property
    def flags(self) -> dict[str, str]:
        return dict(self.state.flags)

    @property
    def is_calm(self) -> bool:
        return self.state.stage is Stage.SENTINEL and not any(view.sent for view in self.state.consumers.values())

    def service_of(self, topic: str) -> TopicService:
        return self.state.updates.get(topic) or self.state.rules.consume.get(topic) or CONSUME[topic]

    def services_of(self, partitions: Iterable[TopicPartition]) -> dict[str, TopicService]:
        return {partition.topic: self.service_of(partition.topic) for partition in partitions}

    def next_time(self) -> str:
        """The monitor's time, never the same twice."""
        self.measurements += 1
        passed_s = self.now_s - TAKE_OVER_S + self.measurements / 1000
        hours, minutes = 12 + int(passed_s // 3600), int(passed_s % 3600 // 60)
        return f"2026-03-01T{hours:02}:{minutes:02}:{passed_s % 60:06.3f}Z"

    def next_offset(self) -> int:
        self.offset += 1
        return self.offset


def query(consumer: int, number: int = 1) -> Send:
    return Send(ConsumerId(consumer), StateQuery(EPOCH, number))


def create(consumer: int, settings: ConsumerSettings = SETTINGS) -> CreateConsumer:
    return CreateConsumer(ConsumerId(consumer), settings)


def delete(consumer: int) -> DeleteConsumer:
    return DeleteConsumer(ConsumerId(consumer))


def restart(consumer: int, settings: ConsumerSettings = SETTINGS) -> RestartConsumer:
    return RestartConsumer(ConsumerId(consumer), settings)


def stopping(driver: Driver) -> Driver:
    """Consumer 1 of a pair is commanded to stop a-1, for consumer 3."""
    assert driver.measures(a_0=60, a_1=40, a_2=40, a_3=40) == (create(3),)
    assert driver.is_ready(3) == (driver.stop(1, 1, A1),)
    return driver


def pair_of(service: TopicService) -> Driver:
    """Consumer 1 has a-0 and a-1, consumer 2 has a-2 and a-3, each partition at 40 % of a consumer."""
    driver = Driver(rules({"a": service}))
    driver.takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    return driver
