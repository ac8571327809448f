"""What the page's server knows -> its samples."""

from collections.abc import Iterator
from dataclasses import dataclass

from restow.metrics.families import PAGE_PICTURE_AGE, PAGE_STREAMS
from restow.metrics.values import Sample, Since


@dataclass(frozen=True, slots=True)
class PageNow:
    streams: int
    drawn_s: float | None
    """When the newest picture was drawn, by the monotonic clock; None before the first."""

    def samples(self) -> Iterator[Sample]:
        yield Sample(PAGE_STREAMS, (), float(self.streams))
        if self.drawn_s is not None:
            yield Sample(PAGE_PICTURE_AGE, (), Since(self.drawn_s))
