"""Publishes the group's picture and its metrics beside the controller's machine, in its process and thread.

It sees each step of the machine and each measurement, and changes nothing: without it the controller decides the same.
"""

import time
from collections.abc import Sequence

from restow.clock import utc_now
from restow.controller.effects import Effect
from restow.controller.events import Event
from restow.controller.state import State
from restow.kafka.channels.status import StatusPublisher
from restow.metrics.board import Board
from restow.metrics.follow import ControllerCounts
from restow.metrics.group import GroupNow, wanted
from restow.picture.observer import Observer
from restow.picture.parts import headers_of
from restow.picture.picture import Picture
from restow.picture.publication import Publication
from restow.protocol.measurement import Measurement
from restow.settings import Settings


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

    def close(self) -> None:
        self._publisher.close()

    def measured(self, measurement: Measurement) -> None:
        ends = {partition: speed.readable_end for partition, speed in measurement.partitions.items()}
        self._observer.measured(time.monotonic(), ends)

    def follow(self, before: State, event: Event, effects: Sequence[Effect], after: State) -> None:
        """Follows one step of the machine."""
        self._observer.follow(before, event, effects, after, utc_now())
        self._counts.follow(event, effects)

    def round_took(self, seconds: float) -> None:
        self._counts.round_took(seconds)

    def publish(self, state: State) -> None:
        """Publishes what is due, after the machine's effects were carried out. Never waits."""
        now_s = time.monotonic()
        if state.epoch is None:
            return
        self._publisher.publish(
            self._publication.due(state, self._observer.chronicle, now_s, lambda: self._drawn(state, now_s))
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

    def _drawn(self, state: State, now_s: float) -> Picture:
        self._picture = self._observer.draw(state, now_s, utc_now())
        return self._picture
