"""A controller process: the real machine with a simulated Kafka and platform.

It waits as a standby while another controller is in charge. In charge, it gives signs of life.

A step's messages are committed in one transaction with the intention to change the platform; then the platform is
changed; then it is asked for its consumers. The process may crash or hang between any two of these, and a newer one may
be in charge when it comes back.
"""

import random
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from restow.controller import machine
from restow.controller.effects import Effect, ListConsumers, Moved, Send
from restow.controller.events import (
    ClockTicked,
    CodeChanged,
    ConsumerElsewhere,
    ConsumersListed,
    Event,
    Heard,
    LearningRecalled,
    PlatformRefused,
    Received,
    RetentionSeen,
    ServiceChanged,
    TookOver,
)
from restow.controller.foreign import REPORTS_MISSED
from restow.controller.standby import ALIVE_EVERY_S, Standby
from restow.controller.transitions import Stage
from restow.model import ConsumerId, SortedMapping
from restow.picture.lag import Clock
from restow.picture.observer import Observer
from restow.picture.picture import Picture
from restow.platform.interface import CreateConsumer, DeleteConsumer, PlatformRequest, RestartConsumer
from restow.protocol.channels import MeasurementReader
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.protocol.messages.controller_events import (
    ControllerAlive,
    ControllerStarted,
    ControllerStopped,
    PlatformChangeIntended,
)
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import FromConsumer, OfController, OnService
from restow.protocol.platform_identity import PlatformIdentity
from restow.simulator.monitor import time_text
from restow.simulator.platform import PlatformClient
from restow.simulator.processes import SimulatedProcess
from restow.simulator.topics import LOOK_BACK, Fenced, Topic, TopicReader
from restow.simulator.wire import GROUP, Measured

if TYPE_CHECKING:
    from restow.simulator.world import World

Todo = tuple[bool, Callable[[], None]]
"""Whether it needs the brokers, and the action."""

REPORTS: Final = (ConsumerReport, ConsumerReady)
"""What a standby knows consumers by."""
LOCKED: Final = 0.5
"""How often a controller has a lock by which the next one sees that it is dead: where both are on one machine."""
LOOP_S: Final = 0.4
"""The shortest time between two rounds of its loop."""
TICK_S: Final = 2.5
"""The longest."""
STANDBY_LOOK_S: Final = 1.0
"""Between two looks of a standby."""
RETENTION_EVERY_S: Final = 20.0
BEHIND_S: Final = 2.0
"""With an unread record older than this, it is not listening."""


class ControllerProcess(SimulatedProcess):
    def __init__(self, world: "World", rng: random.Random, name: str, is_forced: bool = False) -> None:
        """`is_forced`: a person said `--take-over`."""
        super().__init__(world, rng)
        self.name, self.is_forced = name, is_forced
        self.lock = f"lock of {name}" if rng.random() < LOCKED else None
        self.state = machine.begin(world.rules)
        self.platform = PlatformClient(world.platform)
        self.observer: Observer | None = None
        """Follows the machine in a run whose picture is wanted."""
        self.epoch: int | None = None
        self.took_over_s = 0.0
        self.reload_requested = False
        self.should_stop = False
        self._todo: deque[Todo] = deque()
        self._due_s: float | None = None
        self._last_s = -LOOP_S
        self._sign_due_s = 0.0
        self._retention_due_s = 0.0
        self._reports: dict[tuple[ConsumerId, PlatformIdentity], float] = {}
        """When a standby has last read a report of each consumer."""

    def begin(self) -> None:
        """Looks for a controller in charge before it fences anybody."""
        kafka = self.world.kafka
        if not kafka.is_up:
            self.at(kafka.down_until_s + self.rng.random(), self.begin)
            return
        log = kafka.log(Topic.CONTROLLER, 0)
        start = max(0, log.end - LOOK_BACK)
        self.signs = TopicReader(kafka, log, start, lambda _: None)
        self.standby = Standby(self.world.rules.controller.take_over_after_s, from_beginning=start == 0)
        self._stand_by()

    def _stand_by(self) -> None:
        if self.should_stop:
            self.die()
            return
        kafka, now_s = self.world.kafka, self.now_s
        for offset, record in self.signs.read(now_s):
            sign = self.world.open(Topic.CONTROLLER, 0, offset, record)
            if isinstance(sign, REPORTS):
                if sign.platform is not None:
                    self._reports[sign.consumer, sign.platform] = now_s
            elif isinstance(sign, OfController):
                self.standby = self.standby.heard(sign)
        self.standby = self.standby.ticked(now_s, kafka.is_up and not self.signs.is_behind(now_s, BEHIND_S))
        if kafka.is_up and (self.is_forced or self.standby.cause(self._is_dead()) is not None):
            self._take_over()
        else:
            self.at(now_s + STANDBY_LOOK_S, self._stand_by)

    def _is_dead(self) -> bool:
        """Whether the controller in charge, by its lock, is dead."""
        lock = self.standby.lock
        return lock is not None and any(each.lock == lock[1] and not each.is_alive for each in self.world.controllers)

    def _take_over(self) -> None:
        """Fences every other producer with its transactional id."""
        kafka = self.world.kafka
        self.signs.close()
        self.world.watch.taking_over(self)
        kafka.take_over(self)
        self.took_over_s = self.now_s
        started = self.world.wire.seal(ControllerStarted(self.name, self.platform.identity, self.lock))
        [self.epoch] = kafka.commit(self, [(Topic.CONTROLLER, 0, started)])
        self._sign_due_s = self.now_s + ALIVE_EVERY_S
        self.world.trace("took over", self.name, self.epoch)
        if not self.passes():
            if self.is_alive:
                self.at(self.frozen_until_s, self.begin_to_read)
            return
        self.begin_to_read()

    def begin_to_read(self) -> None:
        kafka = self.world.kafka
        assert self.epoch is not None
        self.commands = TopicReader(kafka, kafka.log(Topic.CONTROLLER, 0), self.epoch + 1, self._wake)
        self.services = TopicReader(kafka, kafka.log(Topic.SERVICE, 0), 0, self._wake)
        newest = kafka.log(Topic.MONITOR, 0)
        self.measurements = MeasurementReader(GROUP)
        self.speeds = TopicReader(kafka, newest, max(0, newest.end - 1), self._wake)
        self.platform.changes()
        self._feed(ClockTicked(self.now_s, utc_s=self.world.utc_s))
        if self.world.windows.windows:
            self._feed(self.world.windows)
        self._feed(CodeChanged(self.world.code))
        self._feed(LearningRecalled(self.world.published.capacities, self.world.published.costs))
        self._read_services()  # before the first decision
        self._feed(TookOver(self.epoch, self.platform.identity, self._elsewhere(), self.is_forced))
        self._go_on()
        self._wake(self.now_s)

    def _elsewhere(self) -> tuple[ConsumerElsewhere, ...]:
        since_s = self.now_s - REPORTS_MISSED * self.world.scenario.consumer.report_every_s
        return tuple(
            ConsumerElsewhere(consumer, platform)
            for (consumer, platform), read_s in self._reports.items()
            if read_s >= since_s and platform.id != self.platform.identity.id
        )

    def picture(self) -> Picture | None:
        """The picture that it publishes now. Returns None if it does not: it hangs, or is not observed."""
        if self.observer is None or self.is_frozen or self.state.epoch is None:
            return None
        return self.observer.draw(self.state, Clock(self.now_s, self.now_s), time_text(self.now_s))

    def readers(self) -> list[TopicReader]:
        return [self.commands, self.services, self.speeds] if hasattr(self, "commands") else []

    def die(self) -> None:
        if self.is_alive:
            self.is_alive = False
            for reader in (*self.readers(), *([self.signs] if hasattr(self, "signs") else [])):
                reader.close()
            self.world.controller_ended()

    # Its loop: reads what has arrived, then acts on it in order.

    def _wake(self, time_s: float) -> None:
        """Runs the loop at this time, but at least `LOOP_S` after the last time."""
        time_s = max(time_s, self._last_s + LOOP_S)
        if self._due_s is None or time_s < self._due_s:
            self._due_s = time_s
            self.at(time_s, self._look)

    def _look(self) -> None:
        now_s = self.now_s
        if self._due_s is None or now_s < self._due_s:
            return  # rescheduled
        self._due_s, self._last_s = None, now_s
        if not self._todo and self._stays():
            self._read(now_s)
            self._go_on()
        self._wake(min(now_s + TICK_S, max(self._sign_due_s, now_s + LOOP_S)))

    def _stays(self) -> bool:
        """Gives a sign of life if it is time, or the last one if it should stop. Returns whether it is in charge."""
        assert self.epoch is not None
        if not self.should_stop and self.now_s < self._sign_due_s:
            return True
        sign: OfController = ControllerAlive(self.epoch, self.name, self.platform.identity, self.lock)
        if self.should_stop:
            sign = ControllerStopped(self.epoch, self.name)
        if self.world.kafka.is_up:
            self._sign_due_s = self.now_s + ALIVE_EVERY_S
            try:
                self.world.kafka.commit(self, [(Topic.CONTROLLER, 0, self.world.wire.seal(sign))])
            except Fenced:
                self.should_stop = True
        if self.should_stop:
            self.die()
        return self.passes()

    def _read(self, now_s: float) -> None:
        received = self.commands.read(now_s)
        listening = self.world.kafka.is_up and not self.commands.is_behind(now_s, BEHIND_S)
        self._feed(ClockTicked(now_s, listening, self.world.utc_s))
        if received:
            opened = ((offset, self.world.open(Topic.CONTROLLER, 0, offset, record)) for offset, record in received)
            heard = tuple(Heard(offset, message) for offset, message in opened if isinstance(message, FromConsumer))
            if heard:
                self._feed(Received(heard))
        self._read_services()
        if self.reload_requested:
            self.reload_requested = False
            self._feed(CodeChanged(self.world.code))
        for measured in [each for each in self._read_speeds() if each is not None][-1:]:
            self._todo.append((False, partial(self._measured, measured)))
        for change in self.platform.changes():
            self._feed(change)
        self._look_at_retention()

    def _look_at_retention(self) -> None:
        """Now and then the margins of partitions that lag, in runs whose topics keep records for a short time only."""
        kept_s, world, now_s = self.world.scenario.kept_s, self.world, self.now_s
        if kept_s is None or now_s < self._retention_due_s:
            return
        self._retention_due_s = now_s + RETENTION_EVERY_S
        left_s = {each: kept_s - world.measures.waiting_s(each, now_s) for each in world.consumed()}
        catch_up_s = world.rules.controller.catch_up_s
        urgent = {each: max(0.0, left) for each, left in left_s.items() if left < catch_up_s}
        if urgent or self.state.deadlines_s:
            self._feed(RetentionSeen(SortedMapping(urgent)))

    def _read_speeds(self) -> list[Measured | None]:
        arrived = self.speeds.read(self.now_s)
        return [self.world.open_measured(offset, record, self.measurements) for offset, record in arrived]

    def _read_services(self) -> None:
        for offset, record in self.services.read(self.now_s):
            update = self.world.open(Topic.SERVICE, 0, offset, record)
            if isinstance(update, OnService):
                self._feed(ServiceChanged(update, offset=offset))

    def _feed(self, event: Event) -> None:
        self._todo.append((False, partial(self._take, event)))

    def _go_on(self) -> None:
        """Works off `_todo` in order, which waits while the process hangs or its next action lacks the brokers."""
        while self._todo and self.is_alive:
            needs_kafka, act = self._todo[0]
            if self.is_frozen:
                self.at(self.frozen_until_s, self._go_on)
                return
            if needs_kafka and not self.world.kafka.is_up:
                self.at(self.world.kafka.down_until_s + self.rng.random(), self._go_on)
                return
            self._todo.popleft()
            act()

    def _measured(self, record: Measured) -> None:
        before = self.state
        self._take(record.event)
        if self.observer is not None:
            self.observer.measured(self.now_s, self.world.data.ends(self.now_s), self.now_s)
        self.world.watch.measured(self, record, before)

    def _take(self, event: Event) -> None:
        before = self.state
        self.state, effects = machine.step(before, event)
        self.world.coverage.controller(before, event, self.state, effects)
        if self.observer is not None:
            self.observer.follow(before, event, effects, self.state, time_text(self.now_s))
        self.world.watch.pins_hold.stepped(before, event, self.state, effects)
        self.world.watch.decided(self, before, effects, self.state)
        if effects:
            self.world.watch.stepped(before, effects, self.state)
            if any(isinstance(effect, Moved) and effect.target is Stage.SENTINEL for effect in effects):
                self.world.watch.progress.rested(self.world.agenda.now_s)
            self.world.trace("controller", event, effects)
            self._plan(effects)

    # Effects.

    def _plan(self, effects: tuple[Effect, ...]) -> None:
        """Puts the transaction, the platform requests and the list before everything else in `_todo`."""
        sends = [effect for effect in effects if isinstance(effect, Send)]
        requests = [effect for effect in effects if isinstance(effect, PlatformRequest)]
        steps: list[Todo] = []
        if sends or requests:
            steps.append((True, partial(self._commit, sends, requests)))
        steps += [(False, partial(self._request, request)) for request in requests]
        if any(isinstance(effect, ListConsumers) for effect in effects):
            steps.append((False, lambda: self._take(ConsumersListed(self.platform.list()))))
        self._todo.extendleft(reversed(steps))
        self.passes()

    def _commit(self, sends: list[Send], requests: list[PlatformRequest]) -> None:
        world = self.world
        assert self.epoch is not None
        records = []
        for send in sends:
            topic = Topic.QUERY if isinstance(send.message, StateQuery) else Topic.CONTROLLER
            records.append((topic, int(send.consumer), world.wire.seal(send.message)))
        intention = _intention(self.epoch, requests)
        if requests:
            records.append((Topic.CONTROLLER, 0, world.wire.seal(intention)))
        try:
            world.kafka.commit(self, records)
        except Fenced:
            self.die()
            return
        world.watch.intended(self, intention)
        for send in sends:
            world.watch.sent(self, send.consumer)
            if isinstance(send.message, StartConsumingCommand):
                world.watch.started(self, send.consumer, send.message)
        self.passes()

    def _request(self, request: PlatformRequest) -> None:
        refused = self.platform.take((request,))
        for each in refused:
            self._take(PlatformRefused(request.consumer, request.action, each.reason))
        if not refused:
            self.world.watch.requested(self, request)
        self.passes()


def _intention(epoch: int, requests: list[PlatformRequest]) -> PlatformChangeIntended:
    def numbers(kind: type[PlatformRequest]) -> tuple[ConsumerId, ...]:
        return tuple(request.consumer for request in requests if isinstance(request, kind))

    return PlatformChangeIntended(epoch, numbers(CreateConsumer), numbers(DeleteConsumer), numbers(RestartConsumer))
