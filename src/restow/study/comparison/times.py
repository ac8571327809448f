"""Start, cycle and pause times of a comparison: as measured on one broker with idle machines, and changeable.

A pause is the time in which a partition that moves has no reader. Kafka's are those of its own clients, restow's of its
consumers on Spark; medians of the measured pauses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from restow.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Times:
    start_s: float = 14.0
    """From the wish for a consumer until it reads, for every policy: a consumer on Spark was ready after 13 to 15 s."""
    cycle_s: float = 1.0
    """A consumer stores what it read once a cycle. Every record waits for that, and lag counts what is in a cycle."""
    eager_join_s: float = 0.01
    eager_leave_s: float = 2.7
    cooperative_join_s: float = 3.0
    cooperative_leave_s: float = 2.8
    kip848_join_s: float = 1.2
    kip848_leave_s: float = 2.4
    restow_join_s: float = 0.4
    restow_leave_s: float = 0.1
    cooperative_unmoved: float = 0.17
    """The share of partitions that paused on a join although they did not move: 11 of 66."""

    def changed(self, given: Mapping[str, float]) -> "Times":
        known = [field.name for field in fields(self)]
        for name, value in given.items():
            if name not in known:
                raise InvalidInput(f"--times: there is no time '{name}'; known are {', '.join(known)}")
            if value < 0:
                raise InvalidInput(f"--times: {name} is {value:g}; it must be 0 or more")
        return replace(self, **given)

    def pause_s(self, protocol: str, *, is_join: bool) -> float:
        """`protocol` is eager, cooperative, kip848 or restow."""
        return float(getattr(self, f"{protocol}_{'join' if is_join else 'leave'}_s"))
