"""What one consumer of a watched group sustains, as far as the watch shows it.

A member with a backlog reads as fast as it can: what it commits is its capacity. Without one, members read as much as
is written, and the fastest of them shows only what a consumer sustains at least.
"""

from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

from restow.advice.facts import GroupFacts
from restow.model import ConsumerId

BACKLOG_S: Final = 15.0
"""A member is behind if its lag is more than it reads in this time. Clients commit every 5 s by default, so that a lag
of a few seconds is no backlog."""

Source = Literal["given", "backlog", "fastest", "assumed"]


@dataclass(frozen=True, slots=True)
class Capacity:
    bytes_per_s: float
    source: Source
    members: tuple[ConsumerId, ...] = ()
    """Those that show it."""

    @property
    def is_at_least(self) -> bool:
        """Whether a consumer may sustain more: the number of consumers is then an upper limit."""
        return self.source == "fastest"


def capacity_of(facts: GroupFacts, given_bytes_per_s: float | None, assumed_bytes_per_s: float) -> Capacity:
    """`given_bytes_per_s` is a person's own measurement; `assumed_bytes_per_s` is for a group that read nothing."""
    if given_bytes_per_s is not None:
        return Capacity(given_bytes_per_s, "given")
    read = {member: facts.read_bytes_per_s(member) for member in facts.members}
    busy = {member: speed for member, speed in read.items() if speed > 0}
    if not busy:
        return Capacity(assumed_bytes_per_s, "assumed")
    behind = tuple(member for member in busy if _is_behind(facts, member))
    if behind and not facts.has_rebalanced:
        return Capacity(median(busy[member] for member in behind), "backlog", behind)
    fastest = max(busy, key=lambda member: busy[member])
    return Capacity(busy[fastest], "fastest", (fastest,))


def _is_behind(facts: GroupFacts, member: ConsumerId) -> bool:
    """At both ends of the watch, so that it read as fast as it could all the time."""
    held = [facts.partitions[each] for each in facts.members[member].partitions if each in facts.partitions]
    enough = BACKLOG_S * sum(each.read_records_per_s for each in held)
    first, last = sum(each.first_lag_records or 0 for each in held), sum(each.lag_records or 0 for each in held)
    return min(first, last) > enough
