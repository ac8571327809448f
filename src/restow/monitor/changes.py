"""Change detection: since when each partition has had its present speed, so that the filter averages no further back.

A mean over a long window is stable and late; over a short one it is early and noisy. So the window lasts as long as the
speed stays the same: when two speeds explain the intervals of a window much better than one, the older intervals are
dropped. For every interval in which the speed may have changed (itself left out, since it has both speeds), let

    rss_1 = the residual sum of squares with one mean     rss_2 = with a mean before and a mean after

The change is where (intervals - 2) * ln(rss_1 / rss_2) is greatest, if it is above a threshold. This is a likelihood
ratio with the measured noise: a steady partition's step of 10 % counts, a noisy one's fluctuation doesn't. The two
newest intervals must be nearer to the new mean than to the old one: a single burst is no change. While a change is
young, each sample locates it again, and it is revoked if its score falls. `meter.py` calls this; docs/decisions/010
compares alternatives.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from restow.monitor.sample import Flags, Floats, Integers

LEAST_BEFORE: Final = 3
LEAST_AFTER: Final = 2
"""Intervals with the same speed that a change needs on each side."""

MATURE: Final = 10
"""A change this many intervals old is settled: it is not moved any more, and what was before it is dropped."""

KEPT_ABOVE: Final = 0.5
"""A young change is revoked when its score falls below this share of the threshold."""

RELATIVE_NOISE: Final = 0.01
"""The least noise that is assumed; without it, the smallest change of a perfectly steady partition would count."""

STANDS_OUT: Final = 4.0
"""An interval stands out if it is this many standard deviations away from those before it."""
LEAST_STEP: Final = 0.1
"""And if its speed differs from theirs by this share of the higher one."""


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """When the speed of each partition last changed, on the samples' clock, in columns over the partitions."""

    settled_s: Floats
    """The last settled change; intervals before it are not used again."""
    latest_s: Floats
    """The latest change, settled or young."""

    @classmethod
    def none(cls, partitions: int) -> "Changes":
        return cls(np.full(partitions, -np.inf), np.full(partitions, -np.inf))

    def taken(self, positions: Integers) -> "Changes":
        known = positions >= 0
        return Changes(
            np.where(known, self.settled_s[positions], -np.inf), np.where(known, self.latest_s[positions], -np.inf)
        )


def detected(changes: Changes, begins_s: Floats, seconds: Floats, written: Floats, threshold: float) -> Changes:
    """Updates the changes with a new interval.

    `begins_s` has one value per interval, oldest first; `seconds` and `written` have a row per interval and a column
    per partition. Seconds are 0 where a partition lacks the interval.
    """
    if len(begins_s) < LEAST_BEFORE + 1 + LEAST_AFTER:
        return changes
    visible = begins_s[:, None] >= changes.settled_s
    seconds, written = np.where(visible, seconds, 0.0), np.where(visible, written, 0.0)
    young = changes.latest_s > changes.settled_s
    scores = _scores(seconds, written, agreement_asked=~young)
    best = scores.argmax(axis=0)
    score = np.take_along_axis(scores, best[None], axis=0)[0]
    believed = score > threshold * np.where(young, KEPT_ABOVE, 1.0)
    latest_s = np.where(believed, begins_s[best + 2], changes.settled_s)  # row 0 leaves out interval 1
    intervals_since = ((seconds > 0) & (begins_s[:, None] >= latest_s)).sum(axis=0)
    return Changes(np.where(intervals_since >= MATURE, latest_s, changes.settled_s), latest_s)


def since_change(changes: Changes, begins_s: Floats, seconds: Floats) -> Flags:
    """Which intervals have the present speed.

    The first of them is left out as soon as there are others: the change may have been within it.
    """
    after = (begins_s[:, None] >= changes.latest_s) & (seconds > 0)
    place = after.cumsum(axis=0)
    cut = (changes.latest_s > begins_s[0]) & (place[-1] > LEAST_AFTER)
    first = cut & (place == 1)
    return np.asarray(after & ~first)


def standing_out(changes: Changes, begins_s: Floats, seconds: Floats, written: Floats) -> Flags:
    """Partitions of which one of the two newest intervals stands out from those before: a change may have begun, and it
    takes further intervals to believe it."""
    present = since_change(changes, begins_s, seconds)
    before, newest = np.where(present, seconds, 0.0)[:-LEAST_AFTER], seconds[-LEAST_AFTER:]
    if len(before) < LEAST_BEFORE:
        return np.zeros(seconds.shape[1], np.bool_)
    total, count = np.where(present, written, 0.0)[:-LEAST_AFTER], (before > 0).sum(axis=0)
    mean = _ratio(total.sum(axis=0), before.sum(axis=0))
    squares = (total * _ratio(total, before)).sum(axis=0) - mean * total.sum(axis=0)
    variance = np.maximum(squares, 0.0) / np.maximum(count - 1, 1)  # of an interval of one second
    speed = _ratio(written[-LEAST_AFTER:], newest)
    off = np.abs(speed - mean)
    is_large = (off > LEAST_STEP * np.maximum(speed, mean)) & (off**2 * newest > STANDS_OUT**2 * variance)
    return np.asarray((count >= LEAST_BEFORE) & (is_large & (newest > 0)).any(axis=0))


def _scores(seconds: Floats, written: Floats, agreement_asked: Flags) -> Floats:
    """The score of a change in each interval, from the second to the third last."""
    present = seconds > 0
    speed = np.divide(written, seconds, out=np.zeros_like(written), where=present)
    time, total = seconds.cumsum(axis=0), written.cumsum(axis=0)
    squares, count = (written * speed).cumsum(axis=0), present.cumsum(axis=0)
    before, at = slice(0, -LEAST_AFTER - 1), slice(1, -LEAST_AFTER)
    time_a, total_a, squares_a, count_a = time[before], total[before], squares[before], count[before]
    time_b, total_b = time[-1] - time[at], total[-1] - total[at]
    squares_b, count_b = squares[-1] - squares[at], count[-1] - count[at]
    enough = (count_a >= LEAST_BEFORE) & (count_b >= LEAST_AFTER)
    mean_a, mean_b = _ratio(total_a, time_a), _ratio(total_b, time_b)
    mean = _ratio(total_a + total_b, time_a + time_b)
    least = (RELATIVE_NOISE * np.maximum(mean_a, mean_b)) ** 2 * (time_a + time_b)
    one = np.maximum(squares_a + squares_b - (total_a + total_b) * mean, 0.0) + least
    two = np.maximum(squares_a - total_a * mean_a, 0.0) + np.maximum(squares_b - total_b * mean_b, 0.0) + least
    ratio = np.divide(one, two, out=np.ones_like(one), where=two > 0)
    middle, upward = (mean_a + mean_b) / 2, np.sign(mean_b - mean_a)
    agreed = ((speed[-1] - middle) * upward > 0) & ((speed[-2] - middle) * upward > 0)
    scores = (count_a + count_b - 2) * np.log(np.maximum(ratio, 1.0))
    return np.where(enough & (agreed | ~agreement_asked), scores, 0.0)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
