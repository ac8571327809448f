"""restow in a comparison: the real controller over the model that all policies share.

The controller's machine gets what its process would hear: speeds with the noise of a monitor, reports of lag and
throughput, consumers that become ready and answer commands. Who reads what, and how far each partition is behind, is in
the shared model alone. `restow simulate` without --compare has real consumers and faults as well, and takes longer."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from restow.clock import utc_text
from restow.controller import machine
from restow.controller.effects import Effect, ListConsumers, Send
from restow.controller.events import (
    ClockTicked,
    ConsumersListed,
    Event,
    Heard,
    Received,
    SpeedsMeasured,
    TookOver,
)
from restow.controller.state import Rules
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.platform.interface import ConsumerGone, CreateConsumer, DeleteConsumer, Listed, RestartConsumer
from restow.protocol.field_types import Offsets
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery
from restow.protocol.messages.consumer_events import ConsumerReady, StartConsumingEvent, StopConsumingEvent
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import Command, FromConsumer
from restow.protocol.topic_service import TopicService
from restow.settings import Consumer, Controller
from restow.study.comparison.accounting import STEP_S, Accounting, Outcome
from restow.study.comparison.loads import Load
from restow.study.comparison.times import Times

MEASURE_EVERY_S: Final = 10.0
NOISE: Final = 0.02
"""Of a measured speed."""
REPORT_AT_LEAST_EVERY_S: Final = 30.0
"""A consumer that is behind reports with each measurement."""
RECORD_BYTES: Final = 1000.0
BEHIND_S: Final = 0.1
"""A consumer with a larger backlog, in seconds of its capacity, has no room."""
BEGINNING: Final = datetime(2026, 3, 1, tzinfo=UTC)
EPOCH: Final = 1


def simulate(load: Load, times: Times, controller: Controller, consumer: Consumer | None = None) -> Outcome:
    """`consumer`: its capacity is that of the comparison."""
    return ControlledGroup(load, times, controller, consumer or Consumer()).run()


class ControlledGroup:
    def __init__(self, load: Load, times: Times, controller: Controller, consumer: Consumer) -> None:
        self._load, self._times = load, times
        topics = sorted({partition.topic for partition in load.partitions})
        self._services = {topic: TopicService(f"lake/{topic}") for topic in topics}
        self._digests = {topic: service.digest for topic, service in self._services.items()}
        settings = replace(consumer, capacity_bytes_per_s=load.capacity_bytes_per_s)
        self._state = machine.begin(Rules(controller, settings, SortedMapping(self._services)))
        self._accounting = Accounting(load.speeds, load.capacity_bytes_per_s, times.cycle_s, load.counted_from_s)
        self._rows = {partition: row for row, partition in enumerate(load.partitions)}
        self._noise = random.Random(f"monitor/{load.workload}/{load.seed}")
        self._ready_s: dict[ConsumerId, float] = {}
        """When each consumer that exists has started."""
        self._settings: dict[ConsumerId, str] = {}
        self._incarnations: dict[ConsumerId, int] = {}
        """Of the consumers that have started."""
        self._held: dict[ConsumerId, set[TopicPartition]] = {}
        self._reported_s: dict[ConsumerId, float] = {}
        self._offset = 0

    def run(self) -> Outcome:
        accounting = self._accounting
        self._tick()
        self._feed(TookOver(EPOCH))
        while not accounting.is_over:
            is_measured, starting = accounting.now_s % MEASURE_EVERY_S == 0, self._starting()
            if is_measured or starting:
                self._tick()
            for consumer in starting:
                self._start(consumer)
            if is_measured:
                self._feed(self._measurement())
                self._report()
            accounting.advance(len(self._ready_s))
        return accounting.outcome()

    def _tick(self) -> None:
        now_s = self._accounting.now_s
        self._feed(ClockTicked(now_s, utc_s=BEGINNING.timestamp() + now_s))

    def _measurement(self) -> SpeedsMeasured:
        lately = self._accounting.seen(MEASURE_EVERY_S).tolist()
        speeds = [float(round(speed * self._noise.uniform(1 - NOISE, 1 + NOISE))) for speed in lately]
        time = utc_text(BEGINNING + timedelta(seconds=self._accounting.now_s))
        rates = dict(zip(self._load.partitions, [speed / RECORD_BYTES for speed in speeds], strict=True))
        written = dict.fromkeys(self._services, 0)
        for partition, size in zip(self._load.partitions, self._accounting.written().tolist(), strict=True):
            written[partition.topic] += int(size / RECORD_BYTES)
        named = Speeds(dict(zip(self._load.partitions, speeds, strict=True)))
        return SpeedsMeasured(time, named, SortedMapping(rates), SortedMapping(written))

    # The controller's requests, carried out at once; what they lead to is heard together.

    def _feed(self, event: Event) -> None:
        pending: list[Event] = [event]
        while pending:
            self._state, effects = machine.step(self._state, pending.pop(0))
            pending += self._carried_out(effects)

    def _carried_out(self, effects: tuple[Effect, ...]) -> Iterator[Event]:
        answers: list[FromConsumer] = []
        for effect in effects:
            match effect:
                case Send(consumer, message) if not isinstance(message, StateQuery):
                    answers.append(self._obeyed(consumer, message))
                case ListConsumers():
                    yield ConsumersListed(tuple(Listed(each, settings=of) for each, of in self._settings.items()))
                case CreateConsumer(consumer, settings):
                    self._ready_s[consumer] = self._accounting.now_s + self._times.start_s
                    self._settings[consumer] = settings.fingerprint
                case DeleteConsumer(consumer):
                    for known in (self._ready_s, self._settings, self._incarnations, self._held, self._reported_s):
                        known.pop(consumer, None)
                    yield ConsumerGone(consumer)
                case RestartConsumer():
                    raise AssertionError("nothing fails, and no setting changes")
                case _:
                    pass
        if answers:
            yield Received(tuple(Heard(self._next_offset(), answer) for answer in answers))

    def _obeyed(self, consumer: ConsumerId, command: Command) -> FromConsumer:
        incarnation, held = self._incarnations[consumer], self._held[consumer]
        if isinstance(command, StartConsumingCommand):
            held.update(command.partitions)
            for partition in command.partitions:
                self._accounting.assign(self._rows[partition], int(consumer), self._times.restow_join_s)
            started: Offsets = SortedMapping(dict.fromkeys(command.partitions, 0))
            return StartConsumingEvent(consumer, incarnation, EPOCH, command.sequence, started)
        held.difference_update(command.partitions)
        stopped: dict[TopicPartition, int | None] = dict.fromkeys(command.partitions, 0)
        return StopConsumingEvent(consumer, incarnation, EPOCH, command.sequence, SortedMapping(stopped))

    def _next_offset(self) -> int:
        self._offset += 1
        return self._offset

    # Consumers.

    def _starting(self) -> list[ConsumerId]:
        """The consumers that are ready now."""
        now_s, known = self._accounting.now_s, self._incarnations
        return sorted(each for each, ready_s in self._ready_s.items() if ready_s <= now_s and each not in known)

    def _start(self, consumer: ConsumerId) -> None:
        self._incarnations[consumer] = offset = self._next_offset()
        self._held[consumer] = set()
        ready = ConsumerReady(consumer, True, (), SortedMapping(), SortedMapping())
        self._feed(Received((Heard(offset, ready),)))

    def _report(self) -> None:
        found = [report for consumer in sorted(self._held) if (report := self._report_of(consumer)) is not None]
        if found:
            self._feed(Received(tuple(Heard(self._next_offset(), report) for report in found)))

    def _report_of(self, consumer: ConsumerId) -> ConsumerReport | None:
        """Returns None if it has nothing to say, as most of the time."""
        rows = {partition: self._rows[partition] for partition in self._held[consumer]}
        backlog, own = self._accounting.backlog, list(rows.values())
        behind = float(backlog[own].sum())
        since_s = self._accounting.now_s - self._reported_s.get(consumer, -REPORT_AT_LEAST_EVERY_S)
        if not behind and since_s < REPORT_AT_LEAST_EVERY_S:
            return None
        self._reported_s[consumer] = self._accounting.now_s
        stored, speed = self._accounting.stored(), float(self._accounting.read[own].sum()) / STEP_S
        return ConsumerReport(
            consumer,
            self._incarnations[consumer],
            SortedMapping({each: int(backlog[row] / RECORD_BYTES) for each, row in rows.items()}),
            SortedMapping({each.topic: self._digests[each.topic] for each in rows}),
            speed / RECORD_BYTES,
            speed,
            behind > BEHIND_S * self._load.capacity_bytes_per_s,
            self._times.cycle_s,
            self._times.cycle_s,
            next_offsets=SortedMapping({each: int(stored[row] / RECORD_BYTES) for each, row in rows.items()}),
        )
