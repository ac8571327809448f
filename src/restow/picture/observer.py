"""Follows a controller's machine and draws its picture: in the controller's process, and in the simulator.

It sees each step and each measurement, and changes nothing: without it the controller decides the same.
"""

from collections.abc import Mapping, Sequence

from restow.controller.effects import Effect
from restow.controller.events import Event, Received
from restow.controller.state import State
from restow.model import TopicPartition
from restow.picture import retention
from restow.picture.chronicle import Chronicle
from restow.picture.drawing import Moment, draw
from restow.picture.lag import Clock, LagTracker
from restow.picture.picture import Lag, Picture
from restow.picture.questions import Answers, Inquiry, Questions


class Observer:
    """Times are UTC, ISO 8601."""

    def __init__(self, group: str, controller: str, time: str) -> None:
        """`controller` is the name by which people know its process."""
        self._group, self._controller = group, controller
        self.chronicle = Chronicle(time)
        self._lags = LagTracker()
        self._inquiry = Inquiry(self._lags)
        self._margin_small_since: str | None = None
        self._questions = Questions()
        self._whole: Picture | None = None
        self._whole_lags: Mapping[TopicPartition, Lag] = {}

    def measured(self, now_s: float, ends: Mapping[TopicPartition, int], monitor_s: float) -> None:
        """The offsets up to which consumers can read, at `now_s` by a monotonic clock and at `monitor_s` by the
        monitor's."""
        self._lags.measured(now_s, ends, monitor_s)
        self._inquiry.restore()

    def follow(self, before: State, event: Event, effects: Sequence[Effect], after: State, time: str) -> None:
        """Follows one step of the machine."""
        if isinstance(event, Received):
            for record in event.heard:
                view = after.consumers.get(record.message.consumer)
                if view is not None and view.incarnation == getattr(record.message, "incarnation", record.offset):
                    self._lags.heard(record.message)
        self.chronicle = self.chronicle.followed(before, effects, after, time)

    def draw(self, state: State, now: Clock, time: str) -> Picture:
        """A whole picture."""
        lags, kept = self._lags.lags(now), self._inquiry.retentions
        moment = Moment(self._group, self._controller, time, lags, kept, self._margin_small_since)
        picture = draw(state, self.chronicle, moment)
        flag = picture.overview.flags.get(retention.FLAG)
        self._margin_small_since = None if flag is None else flag.since
        self._questions = self._inquiry.questions(picture.partitions, lags, now)
        self._whole, self._whole_lags = picture, lags
        return picture

    def draw_change(self, state: State, now: Clock, time: str) -> Picture:
        """The picture between two wholes: lags, and the rows of partitions that stay, are those of the last whole."""
        if self._whole is None:
            return self.draw(state, now, time)
        self._questions = Questions()
        moment = Moment(self._group, self._controller, time, self._whole_lags, self._inquiry.retentions)
        return draw(state, self.chronicle, moment, self._whole)

    @property
    def questions(self) -> Questions:
        """What the last picture would have needed to know, and is due to be asked for."""
        return self._questions

    def asked(self, now: Clock) -> None:
        """The questions are on their way."""
        self._inquiry.asked(self._questions, now)
        self._questions = Questions()

    def learn(self, answers: Answers, now: Clock) -> None:
        self._inquiry.learn(answers, now)
