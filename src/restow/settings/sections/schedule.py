"""`[[schedule]]`: windows of time with limits of their own."""

from dataclasses import dataclass
from typing import Annotated

from restow.errors import InvalidInput
from restow.settings.checks import AT_LEAST_0, AT_LEAST_1, CRON, DURATION, Check


@dataclass(frozen=True, slots=True)
class Schedule:
    """`[[schedule]]`: a window of time with limits of its own, or in which nothing is scaled: nights, month ends,
    freezes. Each schedule is a table of its own. Limits that a person sets with `restow consumers set` take precedence.
    Of windows that overlap, the highest `least` and the lowest `most` apply."""

    cron: Annotated[str, CRON]
    """When a window begins, in local time: minute, hour, day of the month, month, day of the week. `0 22 * * mon-fri`
    is ten in the evening of each working day, `0 0 L * *` the last day of each month."""

    for_: Annotated[str, DURATION]
    """How long it lasts."""

    zone: Annotated[str, Check("a time zone, like Europe/Berlin", bool)] = "UTC"
    """The time zone of `cron`. A local time that the clock skips in spring does not occur; a time that it repeats in
    autumn occurs twice."""

    least: Annotated[int, AT_LEAST_0] | None = None
    """Takes the place of `least_consumers` while the window is open."""

    most: Annotated[int, AT_LEAST_1] | None = None
    """Takes the place of `most_consumers` while the window is open."""

    hold: bool = False
    """Whether the group is held as by `restow pause`: nothing is scaled, moved for load or restarted with new settings;
    unread partitions are recovered."""

    def __post_init__(self) -> None:
        if self.least is not None and self.most is not None and self.most < self.least:
            raise InvalidInput(f"most is {self.most}; it must be least ({self.least}) or more")
