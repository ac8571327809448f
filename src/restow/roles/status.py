"""Publishes the group's picture and its metrics beside the controller's machine, in its process and thread.

It sees each step of the machine and each measurement, and changes nothing: without it the controller decides the same.
What it needs of the brokers, roles/lookups.py asks for in a thread.
"""

import logging
import time
from collections.abc import Sequence
from datetime import datetime

from restow.backoff import News
from restow.clock import utc_now
from restow.controller.effects import Effect
from restow.controller.events import Event, RetentionSeen
from restow.controller.state import State
from restow.kafka.channels.status import StatusPublisher
from restow.metrics.board import Board
from restow.metrics.follow import ControllerCounts
from restow.metrics.group import GroupNow, wanted
from restow.picture import retention
from restow.picture.lag import Clock
from restow.picture.observer import Observer
from restow.picture.parts import headers_of
from restow.picture.picture import Picture
from restow.picture.publication import Publication
from restow.picture.urgent import Urgent
from restow.protocol.measurement import Measurement
from restow.roles.lookups import Lookups
from restow.settings import Settings

log = logging.getLogger(__name__)


class GroupStatus:
    def __init__(self, settings: Settings, controller: str, board: Board) -> None:
        """`controller` is the name by which people know this process."""
        group = settings.group.name
        self._board, self._counts = board, ControllerCounts(board.tallies)
        self._per_partition_speeds = settings.metrics.per_partition_speeds
        self._picture: Picture | None = None
        self._publisher = StatusPublisher(settings, headers_of(controller, group))
        self._publication = Publication()
        self._observer = Observer(group, controller, utc_now())
        self._lookups = Lookups(settings)
        self._news = News()
        self._urgent = Urgent()
        self._seen: RetentionSeen | None = None

    def start(self) -> None:
        """Begins to look things up. A standby does not."""
        self._lookups.start()

    def close(self) -> None:
        self._lookups.close()
        self._publisher.close()

    def measured(self, measurement: Measurement) -> None:
        ends = {partition: speed.readable_end for partition, speed in measurement.partitions.items()}
        self._observer.measured(time.monotonic(), ends, datetime.fromisoformat(measurement.time).timestamp())

    def follow(self, before: State, event: Event, effects: Sequence[Effect], after: State) -> None:
        """Follows one step of the machine."""
        self._observer.follow(before, event, effects, after, utc_now())
        self._counts.follow(event, effects)

    def round_took(self, seconds: float) -> None:
        self._counts.round_took(seconds)

    def publish(self, state: State) -> None:
        """Publishes what is due, after the machine's effects were carried out. Never waits."""
        if state.epoch is None:
            return
        now = Clock(time.monotonic(), time.time())
        found = self._lookups.answers()
        if found is not None:
            self._observer.learn(found, now)
        self._publisher.publish(
            self._publication.due(state, self._observer.chronicle, now.monotonic_s, lambda: self._drawn(state, now))
        )
        if self._board.is_due():
            self._board.publish(
                GroupNow(
                    self._picture,
                    wanted(state),
                    None if state.measured is None else state.measured_s,
                    self._publisher.delivered_s,
                    self._per_partition_speeds,
                ).samples
            )

    def urgent(self) -> RetentionSeen | None:
        """The partitions to serve first, if they have changed since the last call."""
        found, self._seen = self._seen, None
        return found

    def _drawn(self, state: State, now: Clock) -> Picture:
        is_whole = self._publication.is_whole_due(now.monotonic_s)
        drawing = self._observer.draw if is_whole else self._observer.draw_change
        self._picture = picture = drawing(state, now, utc_now())
        if is_whole:
            self._seen = self._urgent.seen(picture, now.monotonic_s) or self._seen
        self._note_margin(picture)
        if self._observer.questions and self._lookups.ask(self._observer.questions):
            self._observer.asked(now)
        return picture

    def _note_margin(self, picture: Picture) -> None:
        """Logs the flag that the picture itself raises, once. The machine's own flags are logged with its effects."""
        flag = picture.overview.flags.get(retention.FLAG)
        if flag is None:
            if self._news.is_over(retention.FLAG):
                log.info("%s: resolved, no unread record is near its deletion", retention.FLAG)
        elif self._news.is_new(retention.FLAG, "raised"):
            log.warning("%s: %s", retention.FLAG, flag.words)
