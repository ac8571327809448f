"""Publishes the group's picture beside the controller's machine, in its process and thread.

It sees each step of the machine and each measurement, and changes nothing: without it the controller decides the same.
"""

import time
from collections.abc import Sequence

from restow.clock import utc_now
from restow.controller.effects import Effect
from restow.controller.events import Event
from restow.controller.state import State
from restow.kafka.channels.status import StatusPublisher
from restow.picture.observer import Observer
from restow.picture.parts import headers_of
from restow.picture.publication import Publication
from restow.protocol.measurement import Measurement
from restow.settings import Settings


class GroupStatus:
    def __init__(self, settings: Settings, controller: str) -> None:
        """`controller` is the name by which people know this process."""
        group = settings.group.name
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

    def publish(self, state: State) -> None:
        """Publishes what is due, after the machine's effects were carried out. Never waits."""
        now_s = time.monotonic()
        if state.epoch is None:
            return
        self._publisher.publish(
            self._publication.due(
                state, self._observer.chronicle, now_s, lambda: self._observer.draw(state, now_s, utc_now())
            )
        )
