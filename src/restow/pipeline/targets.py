"""Targets: partitions of a cycle that are read, transformed and stored together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from restow.consumer.planning import Range
from restow.model import TopicPartition
from restow.pipeline.sinks import Sink, Span
from restow.protocol.messages import TopicService


class Target(NamedTuple):
    """A table and the transform that makes its rows. Topics that have both in common share one target."""

    table: str
    """Empty if records are only counted."""
    transform: str
    """Empty if records are stored as they are."""
    lineage: bool


@dataclass(frozen=True, slots=True)
class TargetCycle:
    """One target's share of a cycle."""

    target: Target
    ranges: Mapping[TopicPartition, Range]
    bytes: float
    """An estimate."""
    sink: Sink
    staging: str = ""
    held: int = 1
    """How many partitions the consumer holds, in all targets."""

    @property
    def spans(self) -> dict[TopicPartition, Span]:
        return {partition: Span(taken.position, taken.next) for partition, taken in self.ranges.items()}


def target_of(service: TopicService) -> Target:
    return Target(service.table or "", service.transform or "", service.lineage)


def by_target(
    partitions: Iterable[TopicPartition], topics: Mapping[str, TopicService]
) -> dict[Target, list[TopicPartition]]:
    found: dict[Target, list[TopicPartition]] = {}
    for partition in sorted(partitions):
        found.setdefault(target_of(topics[partition.topic]), []).append(partition)
    return dict(sorted(found.items()))
