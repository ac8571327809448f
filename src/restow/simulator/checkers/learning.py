"""The checker of what is learned of consumers: it stays within bounds, rises slowly, and ignores cold cycles.

It knows the machines' real speeds. A consumer that has lied, or hung in a cycle, is held to the bounds alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from restow.controller.capacity import FASTEST, LEAST_SHARE
from restow.controller.learned import LearnedCapacity
from restow.controller.state import State
from restow.model import ConsumerId
from restow.settings import START_CAPACITY_BYTES_PER_S

if TYPE_CHECKING:
    from restow.simulator.world import World

TOLERANCE: Final = 1.3
"""How far beyond both its first value and the truth a learned capacity may be: costs are learned at the same time."""
RISE_IN_10_S: Final = 1.25


@dataclass(slots=True)
class _Seen:
    lowest: float
    """The lowest of the first value and the truth so far."""
    last: float


class LearnsWithinBounds:
    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report
        self._seen: dict[ConsumerId, _Seen] = {}

    def sample(self, world: "World") -> None:
        """Every ten seconds."""
        controller = world.controller_in_charge()
        if controller is None or world.machines is None:
            return
        state = controller.state
        for consumer, known in state.learned.capacities.items():
            if consumer in state.consumers:
                self._check(world, state, consumer, known)
        self._seen = {each: seen for each, seen in self._seen.items() if each in state.learned.capacities}

    def _check(self, world: "World", state: State, consumer: ConsumerId, known: LearnedCapacity) -> None:
        value = known.bytes_per_s
        if value < LEAST_SHARE * START_CAPACITY_BYTES_PER_S * 0.999:
            self._report(5, f"consumer {consumer} is believed to carry {value:g} bytes/s, below the lowest")
        others = state.learned.without(consumer).median_bytes_per_s()
        if others is not None and value > 1.5 * FASTEST * max(others, START_CAPACITY_BYTES_PER_S):
            self._report(5, f"consumer {consumer} is believed to carry {value:g} bytes/s, far more than others")
        truth = true_capacity(world, state, consumer)
        if truth is None:
            return
        if known.cycle_bytes:  # the fixed time of a cycle is a larger share of a small one
            truth = known.cycle_bytes / (world.scenario.overhead_s + known.cycle_bytes / truth)
        seen = self._seen.setdefault(consumer, _Seen(min(value, truth), value))
        seen.lowest = min(seen.lowest, truth)
        assert world.machines is not None
        if value > seen.last * RISE_IN_10_S:
            self._report(5, f"the capacity of consumer {consumer} rose from {seen.last:g} to {value:g} in 10 s")
        if value < seen.lowest / TOLERANCE and consumer not in world.machines.misjudged:
            self._report(5, f"consumer {consumer} is believed to carry {value:g} bytes/s; it carries {truth:g}")
        seen.last = value


def true_capacity(world: "World", state: State, consumer: ConsumerId) -> float | None:
    """What the consumer carries in bytes of mean cost, by the costs that are learned; None if it has read nothing."""
    mix = state.learned.mixes.get(consumer)
    if mix is None or world.machines is None:
        return None
    cost = sum(state.cost_of(topic) * share for topic, share in mix.shares.items())
    return world.machines.truth(consumer, mix.shares) * cost
