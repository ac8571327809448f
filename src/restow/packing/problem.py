"""What a packer is asked: speeds, who reads what now, what a consumer can carry, and what it is worth."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from restow.errors import InvalidInput
from restow.model import Assignment, Capacities, Speeds


@dataclass(frozen=True, slots=True)
class Margins:
    """Shares of a consumer's capacity. All 1: every consumer may be filled to the brim, and none above it.

    None may be above the one before it: what was just relieved or filled must not have to be relieved again, nobody is
    filled higher than another was relieved to, and closing a consumer, which can wait, leaves the most room.
    """

    trigger: float = 1.0
    """A consumer is relieved only when its load is above this share."""
    evict_to: float = 1.0
    """A consumer that is relieved gives up partitions until it is at or below this share."""
    fill_to: float = 1.0
    """A partition is put on a consumer only if that consumer stays at or below this share."""
    drain_to: float = 1.0
    """The same, where the partition comes from a consumer that is emptied to be closed."""

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
        """Some are given. Any other is 1, or as near to that as those beside it allow."""
        chosen = {"trigger": shares.get("trigger", 1.0)}
        for place, name in enumerate(MARGINS[1:], start=1):
            least = max((shares[lower] for lower in MARGINS[place:] if lower in shares), default=0.0)
            chosen[name] = shares.get(name, min(chosen[MARGINS[place - 1]], max(1.0, least)))
        return cls(**chosen)


MARGINS: Final = tuple(margin.name for margin in fields(Margins))
"""Their names, highest first."""


@dataclass(frozen=True, slots=True)
class Problem:
    speeds: Speeds
    """The partitions to be placed, all of them and no others."""
    current: Assignment
    """Who reads what now. Partitions without a speed here are no longer of interest and are given up."""
    capacities: Capacities
    worth: float = 1.0
    """What one consumer is worth, in (default) capacities of moved speed: closing one may move less than this."""
    margins: Margins = field(default_factory=Margins)
    least_consumers: int = 0
    most_consumers: int | None = None
    previous: Speeds | None = None
    """The speeds of the decision before, if there was one. They tell how restless the partitions are."""

    def __post_init__(self) -> None:
        if not 0 <= self.worth < math.inf:
            raise InvalidInput(f"the worth of a consumer is {self.worth}; it must be a number, 0 or more")
        if self.least_consumers < 0:
            raise InvalidInput(f"the least number of consumers is {self.least_consumers}; it must be 0 or more")
        if self.most_consumers is not None and self.most_consumers < max(1, self.least_consumers):
            raise InvalidInput(
                f"the most consumers are {self.most_consumers}; it must be 1 or more, "
                f"and no less than the least ({self.least_consumers})"
            )
