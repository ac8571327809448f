"""Why a plan changes what it changes: facts with their numbers, put into words on demand.

`explain` derives them from the difference between the current and the planned assignment, so they hold for every packer
and can't drift from its plan. `restow plan` and the controller show them.

    PartitionPlaced     a partition gets another consumer (or its first): why it left, and why it goes where it goes
    PartitionGivenUp    a partition is no longer read
    ConsumerOpened      what for
    ConsumerClosed      why that pays
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from restow.model import Assignment, ConsumerId, Difference, SortedMapping, TopicPartition
from restow.packing.problem import Problem
from restow.text import apart, listed, percent

SLACK = 1 + 1e-9
NO_ROOM = 1e-6
"""A partition below this share of its consumer's capacity leaves no room behind that figures could show."""
MOST_PINS = 3
"""How many pins a reason names; others are counted."""


# Why a partition leaves its consumer.


@dataclass(frozen=True, slots=True)
class WasUnassigned:
    @property
    def words(self) -> str:
        return "no consumer had it"


@dataclass(frozen=True, slots=True)
class WasAboveTrigger:
    consumer: ConsumerId
    share: float
    """The consumer's load, as a share of its capacity."""
    trigger: float
    partition: TopicPartition
    partition_share: float
    lightest: bool
    """Nothing lighter would have relieved the consumer."""
    others: int
    """Other partitions that leave it too."""
    pinned: str = ""
    """Those that stay because they are pinned, in words."""

    @property
    def words(self) -> str:
        limit = "its capacity" if self.trigger == 1 else f"its capacity, above its trigger of {percent(self.trigger)}"
        overfull = f"consumer {self.consumer} was at {percent(self.share)} of {limit}{self.pinned}"
        it = f"{self.partition} at {percent(self.partition_share)}"
        if self.lightest:
            return f"{overfull}; {it} was the lightest that sufficed"
        if self.others:
            return f"{overfull}; {it} was given up with {self.others} more"
        return f"{overfull}; {it} was given up"


@dataclass(frozen=True, slots=True)
class WasClosed:
    consumer: ConsumerId
    share: float

    @property
    def words(self) -> str:
        return f"consumer {self.consumer}, at {percent(self.share)}, is emptied and closed"


@dataclass(frozen=True, slots=True)
class MadeRoom:
    consumer: ConsumerId
    arrivals: tuple[TopicPartition, ...]
    pinned: str = ""
    """Those of them that are pinned, in words."""

    @property
    def words(self) -> str:
        return f"it makes room on consumer {self.consumer} for {listed(self.arrivals)}{self.pinned}"


@dataclass(frozen=True, slots=True)
class LeftRoom:
    consumer: ConsumerId
    before: float
    after: float

    @property
    def words(self) -> str:
        before, after = apart(self.before, self.after)
        return f"consumer {self.consumer} goes from {before} to {after} and keeps more room"


@dataclass(frozen=True, slots=True)
class LeftAlone:
    consumer: ConsumerId
    share: float
    partition: TopicPartition
    """The partition that stays."""

    @property
    def words(self) -> str:
        return f"{self.partition} has consumer {self.consumer} to itself, because it is too fast for it with others"


@dataclass(frozen=True, slots=True)
class PlacedAnew:
    """A published packer places every partition anew, also where no consumer gains by that."""

    consumer: ConsumerId
    share: float
    """The partition's."""

    @property
    def words(self) -> str:
        return f"the packer placed it anew; at {percent(self.share)}, it gives consumer {self.consumer} no room"


Leaving = WasUnassigned | WasAboveTrigger | WasClosed | MadeRoom | LeftRoom | LeftAlone | PlacedAnew


# Why it goes where it goes.


@dataclass(frozen=True, slots=True)
class HadRoom:
    consumer: ConsumerId
    before: float
    after: float
    left: tuple[TopicPartition, ...]
    """Partitions that have to leave that consumer first."""

    @property
    def words(self) -> str:
        change = f"{percent(self.before)} before, {percent(self.after)} after"
        if self.left:
            return f"consumer {self.consumer} has room once {listed(self.left)} left ({change})"
        return f"consumer {self.consumer} had room ({change})"


@dataclass(frozen=True, slots=True)
class IsOpened:
    consumer: ConsumerId
    after: float

    @property
    def words(self) -> str:
        return f"consumer {self.consumer} is opened ({percent(self.after)} after)"


@dataclass(frozen=True, slots=True)
class IsLeastBad:
    consumer: ConsumerId
    after: float

    @property
    def words(self) -> str:
        return f"consumer {self.consumer} suffers least, though it is over its limit ({percent(self.after)} after)"


@dataclass(frozen=True, slots=True)
class IsAlone:
    consumer: ConsumerId
    after: float

    @property
    def words(self) -> str:
        return f"consumer {self.consumer} has it alone, because it is too fast for any ({percent(self.after)})"


Arriving = HadRoom | IsOpened | IsLeastBad | IsAlone


@dataclass(frozen=True, slots=True)
class PartitionPlaced:
    partition: TopicPartition
    leaving: Leaving
    arriving: Arriving
    pin: str | None = None
    """If it is pinned where it goes: until when and by whom. That is why it leaves its consumer."""

    @property
    def why(self) -> str:
        if self.pin is None:
            return f"{self.leaving.words}; {self.arriving.words}"
        unread = f"{self.leaving.words}; " if isinstance(self.leaving, WasUnassigned) else ""
        return f"{unread}{self.pin}; {self.arriving.words}"

    @property
    def words(self) -> str:
        if isinstance(self.leaving, WasUnassigned):
            return f"{self.partition} goes to consumer {self.arriving.consumer}: {self.why}"
        return f"{self.partition} goes from consumer {self.leaving.consumer} to {self.arriving.consumer}: {self.why}"


@dataclass(frozen=True, slots=True)
class PartitionGivenUp:
    partition: TopicPartition
    consumer: ConsumerId

    @property
    def words(self) -> str:
        return f"{self.partition} is no longer of interest; consumer {self.consumer} stops reading it"


@dataclass(frozen=True, slots=True)
class ConsumerOpened:
    consumer: ConsumerId
    share: float
    partitions: tuple[TopicPartition, ...]
    least: int

    @property
    def words(self) -> str:
        if not self.partitions:
            return f"consumer {self.consumer} is opened, idle, because there must be at least {self.least}"
        return (
            f"consumer {self.consumer} is opened for {listed(self.partitions)}, {percent(self.share)} of its capacity"
        )


@dataclass(frozen=True, slots=True)
class ConsumerClosed:
    consumer: ConsumerId
    moved: float
    """Speed that moves for it, in default capacities."""
    worth: float

    @property
    def words(self) -> str:
        if self.moved == 0:
            return f"consumer {self.consumer} is closed: it has nothing left to read"
        cost = f"consumer {self.consumer} is closed: that moves {self.moved:.3g} of a consumer's capacity"
        if self.moved < self.worth:
            return f"{cost}, and a consumer is worth {self.worth:g}"
        return f"{cost}, within a plan that costs the least altogether (a consumer is worth {self.worth:g})"


Reason = PartitionPlaced | PartitionGivenUp | ConsumerOpened | ConsumerClosed


@dataclass(frozen=True)
class Change:
    """The current and the planned assignment, with the differences that reasons are derived from."""

    problem: Problem
    following: Assignment
    _arriving: dict[ConsumerId, float] = field(default_factory=dict, compare=False, repr=False)
    """The sum of the speeds that arrive at a consumer, once it was asked for."""

    @cached_property
    def before(self) -> SortedMapping[ConsumerId, float]:
        return self.problem.current.loads(self.problem.speeds)

    @cached_property
    def after(self) -> SortedMapping[ConsumerId, float]:
        return self.following.loads(self.problem.speeds)

    @cached_property
    def difference(self) -> Difference:
        return self.problem.current.difference(self.following)

    @cached_property
    def left(self) -> dict[ConsumerId, tuple[TopicPartition, ...]]:
        """The partitions that leave each consumer, including those given up."""
        return dict(self.difference.stop)

    @cached_property
    def arrived(self) -> dict[ConsumerId, tuple[TopicPartition, ...]]:
        return dict(self.difference.start)

    def share(self, consumer: ConsumerId, speed: float) -> float:
        return speed / self.problem.capacities[consumer]

    def leaving(self, partition: TopicPartition) -> Leaving:
        source = self.problem.current.get(partition)
        if source is None:
            return WasUnassigned()
        share, trigger = self.share(source, self.before[source]), self.problem.margins.trigger
        own = self.share(source, self.problem.speeds[partition])
        if source not in self.after and (share <= trigger * SLACK or own < NO_ROOM):
            return WasClosed(source, share)
        if own < NO_ROOM:
            return self._without_gain(source, share, own)
        if share > trigger * SLACK:
            return self._above_trigger(partition, source, share)
        if source in self.arrived:
            return MadeRoom(source, self.arrived[source], self._pinned(self.arrived[source]))
        return LeftRoom(source, share, self.share(source, self.after[source]))

    def _without_gain(self, source: ConsumerId, share: float, own: float) -> LeftAlone | PlacedAnew:
        """An idle partition leaves a consumer."""
        staying = self.following.by_consumer.get(source, ())
        if share > self.problem.margins.trigger * SLACK and len(staying) == 1:
            return LeftAlone(source, share, staying[0])
        return PlacedAnew(source, own)

    def _is_lightest_sufficient(self, partition: TopicPartition, source: ConsumerId) -> bool:
        """Whether the consumer is relieved without this partition, and not without a lighter one."""
        speeds, before = self.problem.speeds, self.before[source]
        limit = self.problem.capacities[source] * self.problem.margins.evict_to * SLACK
        held = (
            speeds.get(other, 0.0)
            for other in self.problem.current.by_consumer[source]
            if other not in self.problem.pins
        )
        none_lighter = all(before - speed > limit for speed in held if speed < speeds[partition])
        return before - speeds[partition] <= limit and none_lighter

    def _above_trigger(self, partition: TopicPartition, source: ConsumerId, share: float) -> WasAboveTrigger:
        speeds, left = self.problem.speeds, self.left[source]
        return WasAboveTrigger(
            consumer=source,
            share=share,
            trigger=self.problem.margins.trigger,
            partition=partition,
            partition_share=self.share(source, speeds[partition]),
            lightest=len(left) == 1 and self._is_lightest_sufficient(partition, source),
            others=len(left) - 1,
            pinned=self._pinned(self.following.by_consumer.get(source, ()), "; ", " stays: "),
        )

    def _pinned(self, partitions: Iterable[TopicPartition], before: str = ", ", verb: str = " is ") -> str:
        """The pins of these partitions, in words that follow others; empty if there are none."""
        pins = self.problem.pins
        if not pins:
            return ""
        words = [f"{before}{each}{verb}{pins[each].words}" for each in partitions if each in pins]
        more = "" if len(words) <= MOST_PINS else f"{before}{len(words) - MOST_PINS} more are pinned"
        return "".join(words[:MOST_PINS]) + more

    def arriving(self, partition: TopicPartition) -> Arriving:
        target = self.following[partition]
        after = self.share(target, self.after[target])
        if after > self.problem.margins.trigger * SLACK:
            alone = len(self.following.by_consumer[target]) == 1
            return IsAlone(target, after) if alone else IsLeastBad(target, after)
        if target not in self.before:
            return IsOpened(target, after)
        before = self.share(target, self.before[target])
        if target not in self._arriving:
            self._arriving[target] = sum(self.problem.speeds[other] for other in self.arrived[target])
        arriving = self._arriving[target]
        limit = self.problem.capacities[target] * self.problem.margins.fill_to * SLACK
        had_room = self.before[target] + arriving <= limit
        return HadRoom(target, before, after, () if had_room else self.left.get(target, ()))

    def placed(self, partition: TopicPartition) -> PartitionPlaced:
        pin = self.problem.pins.get(partition)
        words = None if pin is None or pin.consumer != self.following[partition] else pin.words
        return PartitionPlaced(partition, self.leaving(partition), self.arriving(partition), words)

    def opened(self, consumer: ConsumerId) -> ConsumerOpened:
        share = self.share(consumer, self.after[consumer])
        return ConsumerOpened(consumer, share, self.following.by_consumer[consumer], self.problem.least_consumers)

    def closed(self, consumer: ConsumerId) -> ConsumerClosed:
        moved = self.before[consumer] / self.problem.capacities.default
        return ConsumerClosed(consumer, moved, self.problem.worth)


def explain(problem: Problem, following: Assignment) -> tuple[Reason, ...]:
    """One reason for each partition that gets or loses a consumer, and each consumer opened or closed."""
    change = Change(problem, following)
    placed = sorted(partition for _, partitions in change.difference.start for partition in partitions)
    return (
        *(change.placed(partition) for partition in placed),
        *(
            PartitionGivenUp(partition, consumer)
            for partition, consumer in problem.current.items()
            if partition not in following
        ),
        *(change.opened(consumer) for consumer in change.difference.create),
        *(change.closed(consumer) for consumer in change.difference.delete),
    )
