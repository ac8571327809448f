"""The group as it is, and as KEDA, Kafka's assignors and restow would have it, with the load that was seen."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from restow.advice.facts import GroupFacts
from restow.controller.load import with_catch_up
from restow.model import FIRST_CONSUMER, Assignment, Capacities, ConsumerId, Speeds
from restow.packing import Packer, Problem
from restow.rivals.assignors import ASSIGNORS
from restow.rivals.keda import replicas
from restow.settings import Controller

UNKNOWN_ASSIGNOR: Final = "range"
"""What is taken for an assignor that restow doesn't know: Kafka's clients have it as their default."""


@dataclass(frozen=True, slots=True)
class Way:
    name: str
    assignment: Assignment
    loads: tuple[float, ...]
    """Of each consumer, in capacities."""
    moves: int
    """Partitions that go to another member. Those of a member that leaves are among them."""
    note: str = ""

    @property
    def consumers(self) -> int:
        return len(self.assignment.consumers)

    @property
    def busiest(self) -> float:
        return max(self.loads, default=0.0)

    @property
    def idle(self) -> int:
        return sum(not held for held in self.assignment.by_consumer.values())

    @property
    def overloaded(self) -> int:
        return sum(load > 1 for load in self.loads)


@dataclass(frozen=True, slots=True)
class Sizing:
    """What all ways are computed with."""

    facts: GroupFacts
    capacity_bytes_per_s: float
    rules: Controller
    pack: Packer
    lag_threshold: float

    def way(self, name: str, assignment: Assignment, note: str = "") -> Way:
        loads = assignment.loads(self.facts.speeds).values()
        moves = len(self.facts.assignment.moves_to(assignment))
        return Way(name, assignment, tuple(load / self.capacity_bytes_per_s for load in loads), moves, note)


def packed(sizing: Sizing, speeds: Speeds, current: Assignment) -> Assignment:
    """By restow's packer with the controller's margins."""
    rules = sizing.rules
    capacities = Capacities(sizing.capacity_bytes_per_s)
    return sizing.pack(Problem(speeds, current, capacities, rules.worth, rules.margins)).assignment


def ways(sizing: Sizing) -> tuple[Way, ...]:
    return (*_as_it_is(sizing), *_by_keda(sizing), *_by_assignors(sizing), _by_restow(sizing))


def _as_it_is(sizing: Sizing) -> Iterator[Way]:
    facts = sizing.facts
    if facts.members:
        yield sizing.way("now", facts.assignment, f"{facts.assignor or 'unknown'} assignor")


def _by_keda(sizing: Sizing) -> Iterator[Way]:
    """At the size that KEDA wants for the lag at the end of the watch; the note has its range over the watch."""
    facts, threshold = sizing.facts, sizing.lag_threshold
    count = len(facts.partitions)
    for name, is_even in (("KEDA", False), ("KEDA, even distribution", True)):
        wanted = [replicas(lag, count, threshold, is_even=is_even) for _, lag in facts.lags]
        span = f"{min(wanted)} to {max(wanted)}" if min(wanted) != max(wanted) else f"{wanted[-1]}"
        note = f"lagThreshold {threshold:g}; wanted {span} while watched"
        yield sizing.way(name, _assigned(sizing, _known_assignor(facts), wanted[-1]), note)


def _known_assignor(facts: GroupFacts) -> str:
    return facts.assignor if facts.assignor in ASSIGNORS else UNKNOWN_ASSIGNOR


def _by_assignors(sizing: Sizing) -> Iterator[Way]:
    """Sticky and uniform give the same."""
    for name, shown in (
        ("range", "Kafka, range"),
        ("roundrobin", "Kafka, round robin"),
        ("cooperative-sticky", "Kafka, sticky or KIP-848"),
    ):
        yield sizing.way(shown, _assigned(sizing, name, _fewest(sizing, name)))


def _fewest(sizing: Sizing, assignor: str) -> int:
    """The smallest size at which no member that could give up a partition is filled above `fill_to`. Every size is
    tried: with a larger one a member may get a worse share."""
    limit = sizing.capacity_bytes_per_s * sizing.rules.fill_to * (1 + 1e-9)
    speeds = sizing.facts.speeds
    for size in range(1, len(sizing.facts.partitions) + 1):
        assignment = _assigned(sizing, assignor, size)
        loads = assignment.loads(speeds)
        if all(load <= limit or len(assignment.by_consumer[each]) == 1 for each, load in loads.items()):
            return size
    return 1


def _assigned(sizing: Sizing, assignor: str, size: int) -> Assignment:
    facts = sizing.facts
    if not size:
        return Assignment()
    members = [ConsumerId(FIRST_CONSUMER + place) for place in range(size)]
    return ASSIGNORS[assignor](facts.partitions, members, facts.assignment)


def _by_restow(sizing: Sizing) -> Way:
    """From the assignment as it is, with the backlog spread over the catch-up time."""
    facts, rules = sizing.facts, sizing.rules
    most = sizing.capacity_bytes_per_s * rules.fill_to
    speeds = Speeds(
        {
            partition: with_catch_up(each.bytes_per_s, each.lag_bytes, rules.catch_up_s, most)
            for partition, each in facts.partitions.items()
        }
    )
    plan = packed(sizing, speeds, facts.assignment)
    is_behind = len(plan.consumers) > len(packed(sizing, facts.speeds, facts.assignment).consumers)
    return sizing.way("restow", plan, f"works the lag off in {rules.catch_up_s:.0f} s" if is_behind else "")
