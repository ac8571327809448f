"""`[monitor]`: which topics are measured, and how their speeds are filtered."""

from dataclasses import dataclass
from typing import Annotated

from restow.settings.checks import ABOVE_0, TOPIC_OR_PATTERN, Check


@dataclass(frozen=True, slots=True)
class Monitor:
    """`[monitor]`: which topics the monitor measures, and how."""

    topics: tuple[TOPIC_OR_PATTERN, ...] = ()
    """Topics to measure besides those of [consume]: names, or regular expressions that start with ^ and match a whole
    name. An expression never matches Kafka's internal topics, nor restow's own of any group."""

    sample_every_s: Annotated[float, ABOVE_0] = 1.0
    """Seconds between two samples. A sample costs each broker a few requests; below 1 s speeds become no more
    accurate. After a sample that stands out from those before, the next two follow in half the time, so that a step is
    followed sooner."""

    publish_every_s: Annotated[float, ABOVE_0] = 1.0
    """Seconds between two measurements on the monitor topic. The controller acts on the newest one. A change of speed
    is published at once. With more than 50,000 partitions it is at least a second for each 50,000, and nothing in
    between, so that a controller can follow."""

    window_s: Annotated[float, Check("above 0 and at most 30", lambda s: 0 < s <= 30)] = 30.0
    """Seconds over which the raw speed is averaged, and the filtered speed at most. 30 s is the window of the published
    work; a longer one would hide changes."""

    filter_threshold: Annotated[float, ABOVE_0] = 30.0
    """How significant a change of speed must be before the filter drops the samples before it: a likelihood ratio. A
    lower threshold follows small steps sooner, a higher one varies less.
    docs/decisions/010-a-filter-that-follows-steps.md compares 26, 30 and 34."""

    filter_smoothing_s: Annotated[float, Check("0 or more", lambda s: s >= 0)] = 6.0
    """Time constant in seconds of the low-pass filter that smooths a full window's mean; 0 switches it off. The result
    stays within two standard errors of the mean, so that 6 s delay it only where the mean is uncertain."""
