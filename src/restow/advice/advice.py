"""All of the advice about a watched group: how many consumers it needs, how skewed it is, what is spare."""

from dataclasses import dataclass
from typing import Final

from restow.advice.capacity import Capacity
from restow.advice.facts import GroupFacts
from restow.advice.ways import Sizing, Way, packed, ways
from restow.model import ConsumerId, Speeds, TopicPartition
from restow.packing import Packer
from restow.settings import Controller

HOURS_PER_MONTH: Final = 730.0
SKEWED: Final = 1.5
"""A group is called skewed if its busiest member carries this many times the mean of those with partitions."""


@dataclass(frozen=True, slots=True)
class Skew:
    busiest: ConsumerId | None
    times_the_mean: float
    """The busiest member's load against the mean of all members that have partitions."""
    fastest: TopicPartition | None
    fastest_of_capacity: float
    fastest_of_total: float

    @property
    def is_skewed(self) -> bool:
        return self.times_the_mean >= SKEWED


@dataclass(frozen=True, slots=True)
class Advice:
    facts: GroupFacts
    capacity: Capacity
    needed: int
    """Consumers that carry the mean load, by restow's margins, starting from the present assignment."""
    needed_at_peak: int
    """The same at the busiest moment of the watch."""
    skew: Skew
    ways: tuple[Way, ...]
    price_per_hour: float | None = None

    @property
    def idle(self) -> tuple[ConsumerId, ...]:
        """Members without a partition."""
        return tuple(number for number, member in self.facts.members.items() if not member.partitions)

    @property
    def spare(self) -> int:
        """Members beyond what the peak needs."""
        return max(0, len(self.facts.members) - self.needed_at_peak)

    @property
    def missing(self) -> int:
        return max(0, self.needed - len(self.facts.members)) if self.facts.members else 0

    @property
    def too_fast(self) -> tuple[TopicPartition, ...]:
        """Partitions that no single consumer can follow."""
        limit = self.capacity.bytes_per_s
        return tuple(partition for partition, speed in self.facts.speeds.items() if speed > limit)


def advice_for(
    facts: GroupFacts,
    capacity: Capacity,
    rules: Controller,
    pack: Packer,
    lag_threshold: float,
    price_per_hour: float | None = None,
) -> Advice:
    sizing = Sizing(facts, capacity.bytes_per_s, rules, pack, lag_threshold)
    total = facts.speeds.total
    rise = max(1.0, facts.peak_bytes_per_s / total) if total else 1.0
    at_peak = Speeds({partition: speed * rise for partition, speed in facts.speeds.items()})
    return Advice(
        facts,
        capacity,
        needed=max(1, len(packed(sizing, facts.speeds, facts.assignment).consumers)),
        needed_at_peak=max(1, len(packed(sizing, at_peak, facts.assignment).consumers)),
        skew=_skew(facts, capacity),
        ways=ways(sizing),
        price_per_hour=price_per_hour,
    )


def _skew(facts: GroupFacts, capacity: Capacity) -> Skew:
    speeds = facts.speeds
    assignment = facts.assignment
    loads = {number: load for number, load in assignment.loads(speeds).items() if assignment.by_consumer[number]}
    busiest = max(loads, key=lambda number: loads[number], default=None)
    total, mean = speeds.total, sum(loads.values()) / len(loads) if loads else 0.0
    fastest = max(speeds, key=lambda partition: speeds[partition], default=None)
    speed = speeds[fastest] if fastest is not None else 0.0
    return Skew(
        busiest=busiest,
        times_the_mean=loads[busiest] / mean if busiest is not None and mean else 1.0,
        fastest=fastest,
        fastest_of_capacity=speed / capacity.bytes_per_s,
        fastest_of_total=speed / total if total else 0.0,
    )
