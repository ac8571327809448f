"""Follows a controller's machine and draws its picture: in the controller's process, and in the simulator.

It sees each step and each measurement, and changes nothing: without it the controller decides the same.
"""

from collections.abc import Mapping, Sequence

from restow.controller.effects import Effect
from restow.controller.events import Event, Received
from restow.controller.state import State
from restow.model import TopicPartition
from restow.picture.chronicle import Chronicle
from restow.picture.drawing import Moment, draw
from restow.picture.lag import LagTracker
from restow.picture.picture import Picture


class Observer:
    """Times are UTC, ISO 8601; seconds are those of a monotonic clock."""

    def __init__(self, group: str, controller: str, time: str) -> None:
        """`controller` is the name by which people know its process."""
        self._group, self._controller = group, controller
        self.chronicle = Chronicle(time)
        self._lags = LagTracker()

    def measured(self, now_s: float, ends: Mapping[TopicPartition, int]) -> None:
        """The offsets up to which consumers can read."""
        self._lags.measured(now_s, ends)

    def follow(self, before: State, event: Event, effects: Sequence[Effect], after: State, time: str) -> None:
        """Follows one step of the machine."""
        if isinstance(event, Received):
            for record in event.heard:
                view = after.consumers.get(record.message.consumer)
                if view is not None and view.incarnation == getattr(record.message, "incarnation", record.offset):
                    self._lags.heard(record.message)
        self.chronicle = self.chronicle.followed(before, effects, after, time)

    def draw(self, state: State, now_s: float, time: str) -> Picture:
        return draw(state, self.chronicle, Moment(self._group, self._controller, time, self._lags.lags(now_s)))
