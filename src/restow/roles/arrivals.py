"""The records that arrive at the controller, as events of its machine."""

import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

from restow.backoff import News
from restow.controller.events import Event, Heard, Received, ServiceChanged, SpeedsMeasured
from restow.kafka.channels.controller import Read, Replaced
from restow.protocol.measurement import Measurement
from restow.protocol.messages.controller_events import (
    ControllerAlive,
    ControllerStarted,
    ControllerStopped,
    PlatformChangeIntended,
)
from restow.protocol.messages.unions import FromConsumer, OnService
from restow.protocol.records import SkippedRecords, Undecodable

log = logging.getLogger(__name__)

SPEEDS_WITHIN_S: Final = 5.0
"""A running monitor publishes every second."""
SPEEDS: Final = "speeds"


class Arrivals:
    def __init__(self, monitor_topic: str, on_measured: Callable[[Measurement], None]) -> None:
        self._topic, self._on_measured = monitor_topic, on_measured
        self._skipped = SkippedRecords()
        self._news = News()
        self._speeds_due_s: float | None = None
        """When the first speeds are overdue; None before they are expected, and as soon as some have come."""

    def events(self, reads: Iterable[Read]) -> list[Event]:
        """Keeps the newest of several measurements, and puts all messages of consumers into one event."""
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
                    log.warning("%s", message)
            case Measurement():
                self._on_measured(message)
                return SpeedsMeasured.from_measurement(message)
            case _ if isinstance(message, OnService):
                return ServiceChanged(message, offset=offset)
            case ControllerStarted(controller):
                raise Replaced(f"{controller} has taken over this group; this controller ends and changes nothing more")
            case ControllerAlive() | PlatformChangeIntended() | ControllerStopped():
                pass  # written by this controller
            case _ if isinstance(message, FromConsumer):
                return Heard(offset, message)
        return None

    def expect_speeds(self) -> None:
        self._speeds_due_s = time.monotonic() + SPEEDS_WITHIN_S

    def look_for_speeds(self, events: Iterable[Event]) -> None:
        """Logs at the start that nothing can be decided yet. Later the machine raises a flag when speeds are stale."""
        if self._speeds_due_s is None:
            return
        if any(isinstance(event, SpeedsMeasured) for event in events):
            self._speeds_due_s = None
            if self._news.is_over(SPEEDS):
                log.info("speeds arrive on %s", self._topic)
        elif time.monotonic() >= self._speeds_due_s and self._news.is_new(SPEEDS, "missing"):
            log.warning(
                "no speeds on %s for %g s, and without them nothing is assigned; does `restow monitor` run?",
                self._topic,
                SPEEDS_WITHIN_S,
            )
