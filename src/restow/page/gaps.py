"""Times of the last day without a picture, because no controller ran. The monitor topic has what producers wrote then.

The monitor publishes every second, so that a day of its topic is large: only gaps are read, the newest first, and of a
large group less.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

GAP_S: Final = 60.0
"""A controller publishes every 10 s. A restart takes less than this."""
MOST_S: Final = 4 * 3600.0
"""Read of a group with MANY partitions or fewer: about 100 MB, of which most is passed over."""
MANY: Final = 100


class Gap(NamedTuple):
    from_s: float
    to_s: float


class Gaps:
    """Gets the time of every record on the status topic, in their order."""

    def __init__(self, since_s: float) -> None:
        self._last_s = since_s
        self._found: list[Gap] = []

    def heard(self, at_s: float) -> None:
        if at_s - self._last_s > GAP_S:
            self._found.append(Gap(self._last_s, at_s))
        self._last_s = max(self._last_s, at_s)

    def to_read(self, now_s: float, partitions: int) -> Iterator[Gap]:
        """The gaps, newest first, including the time since the last record. The oldest may be cut."""
        self.heard(now_s)
        left_s = MOST_S * MANY / max(MANY, partitions)
        for gap in reversed(self._found):
            if left_s <= 0:
                return
            cut = Gap(max(gap.from_s, gap.to_s - left_s), gap.to_s)
            left_s -= cut.to_s - cut.from_s
            yield cut
