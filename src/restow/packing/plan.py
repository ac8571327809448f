"""A packer's answer: the next assignment, and its moves, R-score, overloads and reasons, derived on demand."""

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
        """Speed of the partitions that change consumer, in default capacities."""
        speeds = self.problem.speeds
        return math.fsum(speeds[move.partition] for move in self.moves) / self.problem.capacities.default

    @cached_property
    def over_limit(self) -> tuple[ConsumerId, ...]:
        """Consumers above their trigger: they hold an infeasible partition, or too few consumers are allowed."""
        capacities, trigger = self.problem.capacities, self.problem.margins.trigger
        loads = self.assignment.loads(self.problem.speeds)
        return tuple(consumer for consumer, load in loads.items() if load > capacities[consumer] * trigger * (1 + 1e-9))

    @cached_property
    def infeasible(self) -> tuple[TopicPartition, ...]:
        """Partitions faster than the consumer that each has for itself."""
        held = (self.assignment.by_consumer[consumer] for consumer in self.over_limit)
        return tuple(sorted(partitions[0] for partitions in held if len(partitions) == 1))

    @cached_property
    def overloaded(self) -> tuple[ConsumerId, ...]:
        """Consumers with too many partitions, because too few consumers are allowed."""
        several = (consumer for consumer in self.over_limit if len(self.assignment.by_consumer[consumer]) > 1)
        return tuple(consumer for consumer in several if consumer not in self.overpinned)

    @cached_property
    def overpinned(self) -> tuple[ConsumerId, ...]:
        """Consumers with several partitions whose pinned ones alone are above their trigger: these must not leave."""
        held, problem = self.assignment.by_consumer, self.problem
        pinned = {
            consumer: math.fsum(problem.speeds[partition] for partition in held[consumer] if partition in problem.pins)
            for consumer in self.over_limit
            if len(held[consumer]) > 1
        }
        limit = problem.margins.trigger * (1 + 1e-9)
        return tuple(c for c, speed in pinned.items() if speed > problem.capacities[c] * limit)

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """One for each partition that gets or loses a consumer, and each consumer opened or closed."""
        return explain(self.problem, self.assignment)


Packer = Callable[[Problem], PackingPlan]
