"""A controller's driver whose chronicle follows each step, so that its picture can be drawn at any moment."""

from collections.abc import Mapping
from datetime import UTC, datetime

from tests.support.controller_driver import Driver, Requests

from restow.controller.events import Event
from restow.controller.machine import step
from restow.controller.state import Rules
from restow.model import Retention, TopicPartition
from restow.picture.chronicle import Chronicle
from restow.picture.drawing import Moment, draw
from restow.picture.picture import Lag, Picture


class PictureDriver(Driver):
    """The wall clock is 12:00:00 when it takes over."""

    def __init__(self, rules: Rules | None = None) -> None:
        super().__init__() if rules is None else super().__init__(rules)
        self.chronicle = Chronicle(self.time)

    @property
    def time(self) -> str:
        moment = datetime.fromtimestamp(self.utc_s, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def happens(self, *events: Event) -> Requests:
        for event in events:
            after, effects = step(self.state, event)
            self.chronicle = self.chronicle.followed(self.state, effects, after, self.time)
            self.last_requests = super().happens(event)
        return self.last_requests

    def picture(
        self,
        lags: Mapping[TopicPartition, Lag] | None = None,
        retentions: Mapping[str, Retention] | None = None,
        margin_small_since: str | None = None,
    ) -> Picture:
        moment = Moment("shop", "host-7", self.time, lags or {}, retentions or {}, margin_small_since)
        return draw(self.state, self.chronicle, moment)


def pair() -> PictureDriver:
    """Two consumers at 80 of 100, measured."""
    driver = PictureDriver()
    driver.takes_over(
        {1: (TopicPartition("a", 0), TopicPartition("a", 1)), 2: (TopicPartition("a", 2), TopicPartition("a", 3))}
    )
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    return driver
