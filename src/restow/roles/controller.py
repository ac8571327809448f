"""The process behind `restow controller`: the machine, wired to Kafka and a platform. One loop, every wait has a limit.

A round: read what has come, let the machine decide, commit what is to be sent together with the intention to change the
platform, then change the platform. Killed anywhere in it, it leaves what the next controller's Synchronize repairs:
nothing is kept here that can't be asked again.
"""

import os
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from restow.controller.effects import Effect, ListConsumers, Moved, Noted, Send
from restow.controller.events import (
    ClockTicked,
    ConsumersListed,
    Event,
    Heard,
    PlatformRefused,
    Received,
    ServiceChanged,
    SpeedsMeasured,
    TookOver,
)
from restow.controller.journal import Journal
from restow.controller.machine import begin, step
from restow.controller.state import Rules, State
from restow.health import Health
from restow.kafka.admin import Admin
from restow.kafka.channels.controller import Addressed, ControllerChannel, Read, Replaced
from restow.kafka.topics import ensure_topics, grow_topics
from restow.packing import warm_up
from restow.platform.interface import (
    CreateConsumer,
    DeleteConsumer,
    Platform,
    PlatformRefusal,
    PlatformRequest,
    RestartConsumer,
)
from restow.protocol.measurement import Measurement
from restow.protocol.messages import (
    ControllerStarted,
    FromConsumer,
    PlatformChangeIntended,
    ServiceUpdate,
    StateQuery,
)
from restow.protocol.records import SkippedRecords, Undecodable, common_version
from restow.settings import Settings

ROUND_S: Final = 0.2
"""How long a round waits for something to come."""
IN_CHARGE_FOR_S: Final = 0.5
"""After a commit that is older than this, another one proves that we are still in charge before the platform is
touched: a process may be stopped for any time between two instructions."""


class ControllerProcess:
    def __init__(
        self, settings: Settings, platform: Platform, journal: Journal, signs: Health, say: Callable[[str], None]
    ) -> None:
        self._settings, self._platform, self._journal = settings, platform, journal
        self._signs, self._say = signs, say
        self._admin = Admin(settings.kafka)
        self._channel = ControllerChannel(settings, f"{socket.gethostname()}-{os.getpid()}", signs.alive)
        self._state: State = begin(Rules(settings.controller, settings.consumer, settings.consume))
        self._skipped = SkippedRecords()
        self._waiting: deque[Event] = deque()
        self._room = 0
        self._committed_s = 0.0

    def run(self, told_to_stop: Callable[[float], bool]) -> None:
        """Until it is told to stop. Raises Replaced when another controller takes over."""
        warm_up()
        ensure_topics(self._admin, self._settings.topics)
        with self._channel, self._admin:
            self._waiting.append(TookOver(self._channel.take_over()))
            self._say(f"took over group {self._settings.group.name}")
            self._read_services(told_to_stop)
            self._signs.ready()
            while not told_to_stop(0.0):
                self._signs.alive()
                self.round()

    def round(self) -> None:
        events, last = self._gathered()
        effects: list[Effect] = []
        for event in events:
            before = self._state
            self._state, done = step(before, event)
            self._journal.write(before, event, done, self._state)
            effects += done
        self._tell(effects)
        self._act(effects)
        if last is not None:
            self._channel.acted_on(last)

    def _read_services(self, told_to_stop: Callable[[float], bool]) -> None:
        """What the group consumes is known before anything is decided."""
        while not self._channel.has_read_services and not told_to_stop(0.0):
            self._signs.alive()
            self._waiting += self._events(self._channel.read(ROUND_S))

    def _gathered(self) -> tuple[list[Event], int | None]:
        """What happened since the last round, the clock first; and the last offset of partition 0 among it."""
        came = self._events(self._channel.read(0.0 if self._waiting else ROUND_S))
        events: list[Event] = [ClockTicked(time.monotonic(), self._channel.is_listening())]
        events += self._waiting
        self._waiting.clear()
        last = max((event.heard[-1].offset for event in came if isinstance(event, Received)), default=None)
        return [*events, *came, *self._platform.changes()], last

    def _events(self, reads: Iterable[Read]) -> list[Event]:
        """Of several measurements the last; what consumers said, at once."""
        events: list[Event] = []
        heard: list[Heard] = []
        newest: SpeedsMeasured | None = None
        for read in reads:
            match self._event(read.offset, read.message):
                case None:
                    pass
                case Heard() as record:
                    heard.append(record)
                case SpeedsMeasured() as measured:
                    newest = measured
                case event:
                    events.append(event)
        events += [Received(tuple(heard))] if heard else []
        events += [newest] if newest is not None else []
        return events

    def _event(self, offset: int, message: object) -> Event | Heard | None:
        match message:
            case Undecodable():
                if self._skipped.is_new(message):
                    self._say(str(message))
            case Measurement():
                return SpeedsMeasured.from_measurement(message)
            case ServiceUpdate():
                return ServiceChanged(message)
            case ControllerStarted(controller):
                raise Replaced(f"{controller} has taken over this group; this one ends and changes nothing more")
            case PlatformChangeIntended():
                pass  # our own mark
            case _ if isinstance(message, FromConsumer):
                return Heard(offset, message)
        return None

    def _tell(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Moved(source, target, _, words):
                    self._say(f"{source} -> {target}: {words}")
                case Noted():
                    self._say(effect.line)
                case _:
                    pass

    def _act(self, effects: Iterable[Effect]) -> None:
        sends = [self._addressed(effect) for effect in effects if isinstance(effect, Send)]
        changes = [effect for effect in effects if isinstance(effect, PlatformRequest)]
        self._make_room(changes)
        if sends or changes:
            self._commit(sends, changes)
        for start in range(0, len(changes), self._platform.at_once):
            some = changes[start : start + self._platform.at_once]
            if time.monotonic() - self._committed_s > IN_CHARGE_FOR_S:
                self._commit((), some)
            self._change(some)
        if any(isinstance(effect, ListConsumers) for effect in effects):
            self._list()

    def _addressed(self, send: Send) -> Addressed:
        view = self._state.consumers.get(send.consumer)
        if view is None or isinstance(send.message, StateQuery):
            return Addressed(send.consumer, send.message)
        return Addressed(send.consumer, send.message, common_version(type(send.message), view.versions))

    def _commit(self, sends: Iterable[Addressed], changes: Iterable[PlatformRequest]) -> None:
        epoch = self._state.epoch
        assert epoch is not None, "nothing is done before the group is taken over"
        changes = tuple(changes)
        intention = PlatformChangeIntended(
            epoch,
            create=tuple(change.consumer for change in changes if isinstance(change, CreateConsumer)),
            delete=tuple(change.consumer for change in changes if isinstance(change, DeleteConsumer)),
            restart=tuple(change.consumer for change in changes if isinstance(change, RestartConsumer)),
        )
        self._channel.send(tuple(sends), intention if changes else None)
        self._committed_s = time.monotonic()

    def _make_room(self, changes: Iterable[PlatformRequest]) -> None:
        """A new consumer's partitions are there before it is."""
        needed = max((change.consumer for change in changes if isinstance(change, CreateConsumer)), default=0)
        if needed > self._room:
            grow_topics(self._admin, self._settings.topics, max(needed, self._settings.topics.most_consumers))
            self._channel.learn_partitions()
            self._room = max(needed, self._settings.topics.most_consumers)

    def _change(self, changes: Sequence[PlatformRequest]) -> None:
        for refused in self._platform.take(changes):
            request = refused.request
            self._waiting.append(PlatformRefused(request.consumer, request.action, refused.reason))

    def _list(self) -> None:
        try:
            self._waiting.append(ConsumersListed(self._platform.list()))
        except PlatformRefusal as refusal:
            self._say(f"the platform doesn't tell who is there: {refusal}; it is asked again")
