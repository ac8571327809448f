"""The process behind `restow controller`: the machine, wired to Kafka and a platform. One loop, every wait is bounded.

A controller that starts while another is in charge waits as a standby (roles/standby.py). In charge, it gives a sign of
life every few seconds, and says when it ends.

A round reads what has arrived, steps the machine, commits the messages together with the intention to change the
platform, and then changes the platform. A crash at any point leaves a state that the next controller's Synchronize
repairs: the process keeps nothing that it can't ask for again.
"""

import logging
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Final

from restow.backoff import News
from restow.controller.effects import Effect, ListConsumers, Send
from restow.controller.events import (
    ClockTicked,
    CodeChanged,
    ConsumerElsewhere,
    ConsumersListed,
    Event,
    PlatformRefused,
    Received,
    TookOver,
)
from restow.controller.foreign import REPORTS_MISSED
from restow.controller.journal import Journal
from restow.controller.machine import begin, step
from restow.controller.standby import ALIVE_EVERY_S, Standby
from restow.controller.state import Rules, State
from restow.errors import RestowError
from restow.health import Health
from restow.kafka.admin import Admin
from restow.kafka.channels.controller import Addressed, ControllerChannel
from restow.kafka.channels.status import StatusReader
from restow.kafka.outages import Outages
from restow.metrics.board import Board
from restow.metrics.group import standby
from restow.packing import warm_up
from restow.picture.parts import Assembler
from restow.picture.recall import recalled
from restow.platform.interface import (
    CreateConsumer,
    DeleteConsumer,
    Platform,
    PlatformRefusal,
    PlatformRequest,
    RestartConsumer,
)
from restow.protocol.messages.commands import StateQuery
from restow.protocol.messages.controller_events import (
    ControllerAlive,
    ControllerStarted,
    ControllerStopped,
    PlatformChangeIntended,
)
from restow.protocol.records import common_version
from restow.roles.arrivals import Arrivals
from restow.roles.group_topics import GroupTopics
from restow.roles.local_code import Code
from restow.roles.notes import log_notes
from restow.roles.schedules import Schedules
from restow.roles.standby import Lock, wait_for_charge
from restow.roles.status import GroupStatus
from restow.settings import Settings
from restow.waiting import waiting

log = logging.getLogger(__name__)

ANSWER_WITHIN_S: Final = 5.0
"""Of a request about topics; a stop signal waits for its end."""
ROUND_S: Final = 0.2
"""How long a round waits for records. A crash that the platform reports ends it."""
IN_CHARGE_FOR_S: Final = 0.5
"""If the last commit is older, another one proves that this controller is still in charge before it changes the
platform: a process may be stopped for any time between two instructions."""
MILLISECONDS: Final = 3
"""The clock's decimals. The event log is shorter with few, and has what the machine gets."""
TAKE_OVER: Final = "as --take-over says"
LISTING: Final = "the platform's list"


class StopRequested(Exception):
    """The process should end, and the brokers don't answer: there is nothing to finish."""


class ControllerProcess:
    def __init__(
        self,
        settings: Settings,
        platform: Platform,
        journal: Journal,
        health: Health,
        code: Code | None = None,
        lock: Lock | None = None,
        board: Board | None = None,
    ) -> None:
        """`lock` proves to later controllers on the same machine that this one is dead. `board` gets its metrics."""
        self._settings, self._platform, self._journal, self._health = settings, platform, journal, health
        self._code, self._lock = code, lock
        self._name = f"{socket.gethostname()}-{os.getpid()}"
        self._admin = Admin(settings.kafka, ANSWER_WITHIN_S)
        self._channel = ControllerChannel(settings, self._name, self._pause)
        board = board or Board("controller", settings.group.name)
        self._status = GroupStatus(settings, self._name, board)
        board.publish(standby)
        self._arrivals = Arrivals(settings.topics.monitor, self._status.measured)
        outages = Outages(lambda seconds, _: self._pause(seconds))
        self._topics = GroupTopics(settings, self._admin, outages)
        self._should_stop: Callable[[float], bool] = lambda _: False
        self._state: State = begin(
            Rules(settings.controller, settings.consumer, settings.consume, own_topics=settings.topics.names)
        )
        self._schedules = Schedules(settings.schedule)
        self._news = News()
        self._waiting: deque[Event] = deque()
        self._committed_s = 0.0
        self._sign_due_s = 0.0
        self._is_listening = True

    def run(self, should_stop: Callable[[float], bool], *, take_over: bool = False) -> None:
        """Runs until `should_stop(0.0)` returns True. Waits while another controller is in charge, unless it should
        `take_over`. Raises TopicsInUse if another group uses this group's topics, NotAllowed if the brokers reject its
        credentials or a right is missing at the start, and Replaced when another controller takes over."""
        self._should_stop = should_stop
        warm_up()
        with self._channel, self._admin, closing(self._status):
            try:
                self._topics.check(self._is_stopping)  # before it creates them or takes over
                if self._is_stopping():
                    return
                self._topics.make()
                cause = TAKE_OVER if take_over else self._wait_for_charge()
                if cause is not None:
                    self._take_over(cause, take_over)
                    self._control()
                    self._say_stopped()
            except StopRequested:
                log.info("ended while the brokers didn't answer")

    def _wait_for_charge(self) -> str | None:
        after_s = self._settings.controller.take_over_after_s
        return wait_for_charge(self._channel, after_s, self._is_dead, self._health, self._should_stop)

    def _is_dead(self, standby: Standby) -> bool:
        """Whether the controller in charge ran on this platform and its lock is free."""
        platform = self._platform.identity
        if self._lock is None or platform is None or standby.lock is None:
            return False
        where, name = standby.lock
        return where == platform.id and self._lock.is_free(name)

    def _take_over(self, cause: str, is_forced: bool) -> None:
        lock, platform = None if self._lock is None else self._lock.name, self._platform.identity
        elsewhere = self._elsewhere()
        with waiting(f"the brokers at {self._settings.kafka.bootstrap}"):
            self._epoch = self._channel.take_over(ControllerStarted(self._name, platform, lock))
        self._sign_due_s = time.monotonic() + ALIVE_EVERY_S
        self._waiting.append(TookOver(self._epoch, platform, elsewhere, is_forced))
        log.info("took over group %s: %s", self._settings.group.name, cause)
        if self._lock is not None:
            self._lock.remove_free()

    def _elsewhere(self) -> tuple[ConsumerElsewhere, ...]:
        """The consumers that reported from other platforms while this controller waited or looked."""
        here = self._platform.identity
        within_s = REPORTS_MISSED * self._settings.consumer.report_every_s
        return tuple(
            ConsumerElsewhere(report.consumer, report.platform)
            for report in self._channel.reporting(within_s)
            if here is not None and report.platform is not None and report.platform.id != here.id
        )

    def _control(self) -> None:
        if self._code is not None:
            self._waiting.append(CodeChanged(self._code.read()))
        self._recall()
        with waiting(f"the records of {self._settings.topics.service}"):
            self._read_services()
        self._status.start()
        self._health.ready()
        self._arrivals.expect_speeds()
        while not self._should_stop(0.0):
            self._health.alive()
            self._give_sign()
            self.round()

    def _recall(self) -> None:
        """What the controller before had learned, from its last picture. Without it everything is learned anew."""
        if self._settings.consumer.capacity_bytes_per_s is not None:
            return
        try:
            with StatusReader(self._settings, Assembler) as reader:
                picture = reader.newest()
        except RestowError as error:
            log.warning("what was learned of consumers can't be read, and is learned anew: %s", error)
            return
        if picture is not None:
            self._waiting.append(recalled(picture))

    def _give_sign(self) -> None:
        """Says that this controller is in charge, if it is time. Raises Replaced if it no longer is."""
        if time.monotonic() < self._sign_due_s or not self._is_listening:
            return  # without brokers it would wait for them, and other work with it
        lock = None if self._lock is None else self._lock.name
        self._channel.send((), ControllerAlive(self._epoch, self._name, self._platform.identity, lock))
        self._committed_s = time.monotonic()
        self._sign_due_s = self._committed_s + ALIVE_EVERY_S

    def _say_stopped(self) -> None:
        """A standby, or the next controller, then need not wait."""
        self._health.ending()
        if not self._channel.say_last(ControllerStopped(self._epoch, self._name)):
            log.warning("the brokers don't answer: the next controller waits until this one has been silent for long")

    def _is_stopping(self) -> bool:
        self._health.alive()
        return self._should_stop(0.0)

    def round(self) -> None:
        events, last = self._gathered()
        begun_s = time.monotonic()
        self._arrivals.look_for_speeds(events)
        effects: list[Effect] = []
        for event in events:
            before = self._state
            self._state, done = step(before, event)
            self._journal.write(before, event, done, self._state)
            self._status.follow(before, event, done, self._state)
            effects += done
        log_notes(effects)
        self._act(effects)
        self._status.round_took(time.monotonic() - begun_s)
        self._status.publish(self._state)
        if (urgent := self._status.urgent()) is not None:
            self._waiting.append(urgent)
        if last is not None:
            self._channel.acted_on(last)
        self._channel.is_listening()  # asks now if that is due: before the round it would hold up what has arrived

    def _read_services(self) -> None:
        """Reads the whole service topic, so that the first decision knows what the group consumes."""
        while not self._channel.has_read_services and not self._should_stop(0.0):
            self._health.alive()
            self._give_sign()
            self._waiting += self._arrivals.events(self._channel.read(ROUND_S))

    def _pause(self, seconds: float) -> None:
        """Waits for the next attempt to reach the brokers. Raises StopRequested."""
        self._health.alive()
        if self._should_stop(seconds):
            raise StopRequested

    def _gathered(self) -> tuple[list[Event], int | None]:
        """The events since the last round, the clock first, and the last offset of partition 0 among them."""
        arrived = self._arrivals.events(self._channel.read(0.0 if self._waiting else ROUND_S, self._platform.has_crash))
        self._is_listening = self._channel.is_listening(may_ask=False)
        now_s = round(time.monotonic(), MILLISECONDS)
        # Whole seconds: the event log has each change of them.
        utc_s = float(int(time.time()))
        events: list[Event] = [ClockTicked(now_s, self._is_listening, utc_s)]
        if (schedule := self._schedules.due(utc_s)) is not None:
            events.append(schedule)
        events += self._waiting
        self._waiting.clear()
        last = max((event.heard[-1].offset for event in arrived if isinstance(event, Received)), default=None)
        reloaded = [] if self._code is None else self._code.reloaded(self._state.code)
        return [*events, *arrived, *reloaded, *self._platform.changes()], last

    def _act(self, effects: Iterable[Effect]) -> None:
        sends = [self._addressed(effect) for effect in effects if isinstance(effect, Send)]
        requests = [effect for effect in effects if isinstance(effect, PlatformRequest)]
        created = max((request.consumer for request in requests if isinstance(request, CreateConsumer)), default=0)
        if self._topics.grow_for(created):
            self._channel.learn_partitions()
        if sends or requests:
            self._commit(sends, requests)
        for start in range(0, len(requests), self._platform.at_once):
            some = requests[start : start + self._platform.at_once]
            if time.monotonic() - self._committed_s > IN_CHARGE_FOR_S:
                self._commit((), some)
            self._change(some)
            self._give_sign()  # requests to a slow platform take seconds
        if any(isinstance(effect, ListConsumers) for effect in effects):
            self._list()

    def _addressed(self, send: Send) -> Addressed:
        view = self._state.consumers.get(send.consumer)
        if view is None or isinstance(send.message, StateQuery):
            return Addressed(send.consumer, send.message)
        # A consumer that can't read the command skips it, and is restarted with the current code because of that.
        return Addressed(send.consumer, send.message, common_version(send.message, view.versions))

    def _commit(self, sends: Iterable[Addressed], requests: Iterable[PlatformRequest]) -> None:
        epoch = self._state.epoch
        assert epoch is not None, "a controller acts only after it took over the group"
        requests = tuple(requests)
        intention = PlatformChangeIntended(
            epoch,
            create=tuple(request.consumer for request in requests if isinstance(request, CreateConsumer)),
            delete=tuple(request.consumer for request in requests if isinstance(request, DeleteConsumer)),
            restart=tuple(request.consumer for request in requests if isinstance(request, RestartConsumer)),
        )
        self._channel.send(tuple(sends), intention if requests else None)
        self._committed_s = time.monotonic()

    def _change(self, requests: Sequence[PlatformRequest]) -> None:
        for refused in self._platform.take(requests):
            request = refused.request
            self._waiting.append(PlatformRefused(request.consumer, request.action, refused.reason))

    def _list(self) -> None:
        try:
            self._waiting.append(ConsumersListed(self._platform.list()))
        except PlatformRefusal as refusal:
            if self._news.is_new(LISTING, str(refusal)):
                log.warning("the platform can't list the consumers: %s; retrying", refusal)
        else:
            if self._news.is_over(LISTING):
                log.info("the platform lists the consumers again")
