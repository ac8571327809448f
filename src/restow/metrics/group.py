"""The controller's samples: the group's picture and what is known beside it. Pure; called when Prometheus scrapes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from restow.controller.state import State
from restow.controller.transitions import Phase, Stage
from restow.metrics.families import (
    CAPACITY,
    CONSUMER_LAG,
    CONSUMER_LAG_S,
    CONSUMERS,
    COST,
    FLAG,
    FLAGS,
    HELD,
    IN_CHARGE,
    LAG,
    LAG_SECONDS,
    LEARNED,
    LOAD,
    MARGIN,
    PARTITION_SPEED,
    PAUSED,
    PICTURE_AGE,
    RECOMMENDING,
    REFUSED,
    RESTARTS,
    SILENT,
    SPEEDS_AGE,
    STAGE,
    STUCK,
    THROUGHPUT,
    TOPIC_LEFT_OUT,
    TOPIC_PARTITIONS,
    TOPIC_SPEED,
    UNREAD,
    WANTED,
)
from restow.metrics.values import Sample, Since
from restow.model import ConsumerId, TopicPartition
from restow.picture.picture import ConsumerStatus, Overview, PartitionStatus, Picture

OF_TOPICS: Final = ("failing ", "refused ", "rejected ")
"""Flags whose names end in a topic."""


@dataclass(frozen=True, slots=True)
class GroupNow:
    """What the controller in charge knows. Frozen."""

    picture: Picture | None
    """None before the first."""
    wanted: int
    measured_s: float | None
    """When the newest speeds arrived, by the monotonic clock."""
    delivered_s: float | None
    """When Kafka took the last record of the picture."""
    per_partition_speeds: bool = False

    def samples(self) -> Iterator[Sample]:
        yield Sample(IN_CHARGE, (), 1.0)
        yield Sample(WANTED, (), float(self.wanted))
        if self.measured_s is not None:
            yield Sample(SPEEDS_AGE, (), Since(self.measured_s))
        if self.delivered_s is not None:
            yield Sample(PICTURE_AGE, (), Since(self.delivered_s))
        if self.picture is not None:
            yield from _of_overview(self.picture.overview)
            yield from _of_consumers(self.picture)
            yield from _of_topics(self.picture)
            yield Sample(STUCK, (), float(sum(status.stuck for status in self.picture.partitions.values())))
            for partition, status in self.picture.partitions.items():
                yield from _of_partition(partition, status, self.per_partition_speeds)


def standby() -> Iterator[Sample]:
    yield Sample(IN_CHARGE, (), 0.0)


def wanted(state: State) -> int:
    """How many consumers the plan has that the controller works towards; without a plan, how many the group has."""
    planned = state.usable() if state.target is None else state.target.consumers
    return len(planned) + state.set_aside


def _of_overview(overview: Overview) -> Iterator[Sample]:
    for stage in Stage:
        yield Sample(STAGE, (stage.value,), float(stage is overview.stage))
    yield Sample(PAUSED, (), float(overview.paused is not None))
    yield Sample(RECOMMENDING, (), float(overview.recommend_only is not None))
    yield Sample(FLAGS, (), float(len(overview.flags)))
    yield Sample(LEARNED, (), float(overview.limits.capacity_is_learned))
    costs = {topic: each.cost for topic, each in overview.costs.items()} | dict(overview.fixed_costs)
    for topic, cost in costs.items():
        yield Sample(COST, (topic,), cost)
    for topic, left_out in overview.left_out.items():
        yield Sample(TOPIC_LEFT_OUT, (topic,), float(left_out.rejected + left_out.skipped))
    for name in overview.flags:
        yield Sample(FLAG, flag_labels(name), 1.0)


def flag_labels(name: str) -> tuple[str, str]:
    """The flag's name, and its topic."""
    for start in OF_TOPICS:
        if name.startswith(start):
            return start.strip(), name.removeprefix(start)
    return name, ""


def _of_consumers(picture: Picture) -> Iterator[Sample]:
    phases = dict.fromkeys(Phase, 0)
    for status in picture.consumers.values():
        phases[status.phase] += 1
    for phase, number in phases.items():
        yield Sample(CONSUMERS, (phase.value,), float(number))
    for consumer, status in picture.consumers.items():
        yield from _of_consumer(consumer, status)


def _of_consumer(consumer: ConsumerId, status: ConsumerStatus) -> Iterator[Sample]:
    label = (str(consumer),)
    yield Sample(CAPACITY, label, status.capacity_bytes_per_s)
    yield Sample(LOAD, label, status.load_bytes_per_s)
    yield Sample(HELD, label, float(status.partitions))
    yield Sample(RESTARTS, label, float(status.restarts))
    yield Sample(SILENT, label, status.silent_s)
    if status.bytes_per_s is not None:
        yield Sample(THROUGHPUT, label, status.bytes_per_s)
    if status.lag is not None:
        yield Sample(CONSUMER_LAG, label, float(status.lag.records))
        if status.lag.seconds is not None:
            yield Sample(CONSUMER_LAG_S, label, status.lag.seconds)


def _of_topics(picture: Picture) -> Iterator[Sample]:
    partitions: dict[str, list[PartitionStatus]] = {}
    for partition, status in picture.partitions.items():
        partitions.setdefault(partition.topic, []).append(status)
    for topic, found in partitions.items():
        yield Sample(TOPIC_SPEED, (topic,), sum(status.bytes_per_s or 0.0 for status in found))
        yield Sample(TOPIC_PARTITIONS, (topic,), float(len(found)))
        yield Sample(UNREAD, (topic,), float(sum(status.consumer is None for status in found)))
        yield Sample(REFUSED, (topic,), float(sum(status.refused_for_s is not None for status in found)))
        margins_s = [status.retention_margin_s for status in found if status.retention_margin_s is not None]
        if margins_s:
            yield Sample(MARGIN, (topic,), min(margins_s))


def _of_partition(partition: TopicPartition, status: PartitionStatus, has_speed: bool) -> Iterator[Sample]:
    labels = (partition.topic, str(partition.partition))
    if has_speed and status.bytes_per_s is not None:
        yield Sample(PARTITION_SPEED, labels, status.bytes_per_s)
    if status.lag is not None:
        yield Sample(LAG, labels, float(status.lag.records))
        if status.lag.seconds is not None:
            yield Sample(LAG_SECONDS, labels, status.lag.seconds)
