"""Publishes the group's picture beside the controller's machine, in its process and thread.

It sees each step of the machine and each measurement, and changes nothing: without it the controller decides the same.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from restow.controller.effects import Effect
from restow.controller.events import Event, Received
from restow.controller.state import State
from restow.kafka.channels.status import StatusPublisher
from restow.picture.chronicle import Chronicle
from restow.picture.drawing import Moment, draw
from restow.picture.lag import LagTracker
from restow.picture.parts import headers_of
from restow.picture.publication import Publication
from restow.protocol.measurement import Measurement
from restow.settings import Settings


class GroupStatus:
    def __init__(self, settings: Settings, controller: str) -> None:
        """`controller` is the name by which people know this process."""
        self._group, self._controller = settings.group.name, controller
        self._publisher = StatusPublisher(settings, headers_of(controller, self._group))
        self._publication = Publication()
        self._chronicle = Chronicle(_now())
        self._lags = LagTracker()

    def close(self) -> None:
        self._publisher.close()

    def measured(self, measurement: Measurement) -> None:
        ends = {partition: speed.readable_end for partition, speed in measurement.partitions.items()}
        self._lags.measured(time.monotonic(), ends)

    def follow(self, before: State, event: Event, effects: Sequence[Effect], after: State) -> None:
        """Follows one step of the machine."""
        if isinstance(event, Received):
            for record in event.heard:
                view = after.consumers.get(record.message.consumer)
                if view is not None and view.incarnation == getattr(record.message, "incarnation", record.offset):
                    self._lags.heard(record.message)
        self._chronicle = self._chronicle.followed(before, effects, after, _now())

    def publish(self, state: State) -> None:
        """Publishes what is due, after the machine's effects were carried out. Never waits."""
        now_s = time.monotonic()
        if state.epoch is None:
            return
        self._publisher.publish(
            self._publication.due(
                state,
                self._chronicle,
                now_s,
                lambda: draw(
                    state,
                    self._chronicle,
                    Moment(self._group, self._controller, _now(), self._lags.lags(now_s)),
                ),
            )
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
