"""A packer's input: speeds, the current assignment, capacities, the worth of a consumer, margins, and pins."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from restow.errors import InvalidInput
from restow.model import Assignment, Capacities, ConsumerId, SortedMapping, Speeds, TopicPartition


@dataclass(frozen=True, slots=True)
class Margins:
    """Limits as shares of a consumer's capacity. By default all are 1: consumers are filled to the brim, never above.

    Each is at most the one before it. So a consumer that was just relieved or filled isn't relieved again, no consumer
    is filled higher than another was relieved to, and closing a consumer, which can wait, leaves the most room.
    """

    trigger: float = 1.0
    """A consumer above this share is relieved."""
    evict_to: float = 1.0
    """A relieved consumer gives up partitions until it is at or below this share."""
    fill_to: float = 1.0
    """A consumer takes a partition only if it stays at or below this share."""
    drain_to: float = 1.0
    """The same, if the partition comes from a consumer that is being emptied."""

    def __post_init__(self) -> None:
        for name in MARGINS:
            share = getattr(self, name)
            if not 0 < share < math.inf:
                raise InvalidInput(f"the margin {name} is {share}; it must be a share of the capacity above 0")
            if share > self.trigger:
                raise InvalidInput(f"the margin {name} is {share}, above the trigger {self.trigger}; it must not be")
        for name, higher in (("fill_to", "evict_to"), ("drain_to", "fill_to")):
            share, bound = getattr(self, name), getattr(self, higher)
            if share > bound:
                raise InvalidInput(
                    f"the margin {name} is {share}, above {higher} {bound}; none of {', '.join(MARGINS)} "
                    "may be above the one before it"
                )

    @classmethod
    def given(cls, shares: Mapping[str, float]) -> "Margins":
        """Fills in the margins that are not given: 1, or as close to 1 as the given ones allow."""
        chosen = {"trigger": shares.get("trigger", 1.0)}
        for place, name in enumerate(MARGINS[1:], start=1):
            least = max((shares[lower] for lower in MARGINS[place:] if lower in shares), default=0.0)
            chosen[name] = shares.get(name, min(chosen[MARGINS[place - 1]], max(1.0, least)))
        return cls(**chosen)


MARGINS: Final = tuple(margin.name for margin in fields(Margins))
"""Their names, highest first."""


@dataclass(frozen=True, slots=True)
class PinnedTo:
    """A partition's consumer by a person's word: no plan puts the partition anywhere else."""

    consumer: ConsumerId
    words: str = "pinned"
    """For reasons: until when, and by whom."""


@dataclass(frozen=True, slots=True)
class Problem:
    speeds: Speeds
    """All partitions to place."""
    current: Assignment
    """The current assignment. Partitions without a speed are no longer of interest and are given up."""
    capacities: Capacities
    worth: float = 1.0
    """Worth of one consumer, in default capacities of moved speed: closing one may move less than this."""
    margins: Margins = field(default_factory=Margins)
    least_consumers: int = 0
    most_consumers: int | None = None
    previous: Speeds | None = None
    """Speeds at the previous decision, if any. They show how much speeds change."""
    pins: SortedMapping[TopicPartition, PinnedTo] = field(default_factory=SortedMapping)
    """They outrank margins and `most_consumers`: their consumers stay, and give up other partitions first. The
    published packers ignore them."""
    moves_by_number: float = 0.0
    """How much of what a move costs is the same for each partition, from 0 to 1; the rest is its speed. The published
    packers ignore it."""

    def __post_init__(self) -> None:
        if not 0 <= self.worth < math.inf:
            raise InvalidInput(f"the worth of a consumer is {self.worth}; it must be a number, 0 or more")
        if not 0 <= self.moves_by_number <= 1:
            raise InvalidInput(f"moves_by_number is {self.moves_by_number}; it must be a share from 0 to 1")
        if self.least_consumers < 0:
            raise InvalidInput(f"the least number of consumers is {self.least_consumers}; it must be 0 or more")
        if self.most_consumers is not None and self.most_consumers < max(1, self.least_consumers):
            raise InvalidInput(
                f"the most consumers are {self.most_consumers}; it must be 1 or more, "
                f"and no less than the least ({self.least_consumers})"
            )
        for partition, pin in self.pins.items():
            if partition not in self.speeds:
                raise InvalidInput(f"{partition} is pinned and has no speed; pin partitions that have one")
            if pin.consumer not in self.current.consumers:
                raise InvalidInput(f"{partition} is pinned to consumer {pin.consumer}, which does not exist")
