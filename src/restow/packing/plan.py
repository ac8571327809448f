"""What a packer answers: the next assignment, and everything that follows from it, derived when it is asked for."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from restow.model import Assignment, ConsumerId, Move, TopicPartition
from restow.packing.problem import Problem
from restow.packing.reasons import Reason, explain


@dataclass(frozen=True)
class PackingPlan:
    problem: Problem
    assignment: Assignment

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        return self.problem.current.moves_to(self.assignment)

    @cached_property
    def r_score(self) -> float:
        """The speed of the partitions that change consumer, in default capacities."""
        speeds = self.problem.speeds
        return math.fsum(speeds[move.partition] for move in self.moves) / self.problem.capacities.default

    @cached_property
    def over_limit(self) -> tuple[ConsumerId, ...]:
        """Consumers above their trigger: a partition is infeasible, or more consumers are needed than allowed."""
        capacities, trigger = self.problem.capacities, self.problem.margins.trigger
        loads = self.assignment.loads(self.problem.speeds)
        return tuple(consumer for consumer, load in loads.items() if load > capacities[consumer] * trigger * (1 + 1e-9))

    @cached_property
    def infeasible(self) -> tuple[TopicPartition, ...]:
        """Partitions faster than the consumer that each of them has for itself."""
        held = (self.assignment.by_consumer[consumer] for consumer in self.over_limit)
        return tuple(sorted(partitions[0] for partitions in held if len(partitions) == 1))

    @cached_property
    def overloaded(self) -> tuple[ConsumerId, ...]:
        """Consumers that carry too many partitions because more consumers were needed than are allowed."""
        return tuple(consumer for consumer in self.over_limit if len(self.assignment.by_consumer[consumer]) > 1)

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """One for every partition that gets or loses a consumer, every consumer opened and every consumer closed."""
        return explain(self.problem, self.assignment)


Packer = Callable[[Problem], PackingPlan]
