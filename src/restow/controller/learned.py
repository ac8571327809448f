"""What the controller has learned from the work of consumers: the capacity of each, and the cost of each topic's bytes.

`capacity.py` and `costs.py` learn. The picture has these values, and the next controller begins with them
(LearningRecalled).
"""

from dataclasses import dataclass, field, replace
from statistics import median

from restow.model import ConsumerId, SortedMapping


@dataclass(frozen=True, slots=True)
class LearnedCapacity:
    """Of one consumer."""

    bytes_per_s: float
    """What plans count with, in bytes of mean cost: slow to rise, quick to fall."""
    cycle_bytes: float
    """The mean size of the cycles that it was learned from. Smaller cycles lose more to fixed costs, so that they are
    no evidence that a consumer has become slower."""


@dataclass(frozen=True, slots=True)
class TopicCost:
    """How much work a byte of a topic is, relative to the mean of all topics."""

    cost: float
    bytes: float
    """How much of it was stored lately: the weight of the topic in the mean."""


@dataclass(frozen=True, slots=True)
class Mix:
    """The mean over the last reports of a consumer, or of all."""

    s_per_byte: float
    shares: SortedMapping[str, float]
    """Of each topic in the bytes."""


@dataclass(frozen=True, slots=True)
class Moments:
    """What the regression of a topic's cost is made of."""

    start: float
    """The cost that it began with."""
    response: float = 0.0
    products: SortedMapping[str, float] = field(default_factory=SortedMapping)
    """With each topic, itself among them."""


@dataclass(frozen=True, slots=True)
class Learned:
    capacities: SortedMapping[ConsumerId, LearnedCapacity] = field(default_factory=SortedMapping)
    costs: SortedMapping[str, TopicCost] = field(default_factory=SortedMapping)
    mixes: SortedMapping[ConsumerId, Mix] = field(default_factory=SortedMapping)
    mean: Mix | None = None
    """Of all consumers; None before the first report."""
    moments: SortedMapping[str, Moments] = field(default_factory=SortedMapping)

    def without(self, consumer: ConsumerId) -> "Learned":
        if consumer not in self.capacities:
            return self
        capacities = {other: each for other, each in self.capacities.items() if other != consumer}
        mixes = {other: each for other, each in self.mixes.items() if other != consumer}
        return replace(self, capacities=SortedMapping(capacities), mixes=SortedMapping(mixes))

    def median_bytes_per_s(self) -> float | None:
        """The median capacity of the consumers of which one is learned; None if there is none."""
        known = [capacity.bytes_per_s for capacity in self.capacities.values()]
        return median(known) if known else None
