"""The domain model: partitions, consumers, speeds, capacities, assignments and their difference, unread records.

All values are immutable, validated on construction, and iterate in sorted order, so that decisions don't depend on the
order of their input.
"""

import math
import re
from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple, NewType, TypeVar, overload

from restow.errors import InvalidInput

ConsumerId = NewType("ConsumerId", int)
"""A consumer's number, from 1 on. It is also its partition of the controller topic; partition 0 is the controller's."""

FIRST_CONSUMER = ConsumerId(1)

PARTITION_NAME = re.compile(r"(?P<topic>.+)-(?P<number>0|[1-9][0-9]{0,9})")
"""Without leading zeros, so that each partition has exactly one name."""

K = TypeVar("K", bound=Any)
V = TypeVar("V")
T = TypeVar("T")


class TopicPartition(NamedTuple):
    """A tuple, because one decision may sort and look up a hundred thousand of them."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @classmethod
    def parse(cls, name: str) -> "TopicPartition":
        parts = PARTITION_NAME.fullmatch(name)
        if not parts:
            raise InvalidInput(f"'{name}' is not a partition; write the topic, a dash and the number, like orders-7")
        return cls(parts["topic"], int(parts["number"]))


class SortedMapping(Mapping[K, V]):
    """A read-only mapping, sorted by key. Raises InvalidInput if a key is given twice."""

    __slots__ = ("__dict__", "_items")

    def __init__(self, items: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        # Dicts and () come first: isinstance is slow for an abstract class, and machines make thousands of mappings.
        self._items: dict[K, V]
        if type(items) is dict:
            pairs = items.copy()
        elif items == ():
            pairs = {}
        elif isinstance(items, SortedMapping):
            self._items = items._items
            return
        else:
            pairs = _pairs(items)
        self._items = pairs if len(pairs) < 2 else _in_order(pairs)

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    # Those of Mapping are slower: `get` catches a KeyError, and the views look up every key again. A dict's views are
    # read-only too.
    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, /, default: V | T) -> V | T: ...
    def get(self, key: K, /, default: V | T | None = None) -> V | T | None:
        return self._items.get(key, default)

    def keys(self) -> KeysView[K]:
        return self._items.keys()

    def values(self) -> ValuesView[V]:
        return self._items.values()

    def items(self) -> ItemsView[K, V]:
        return self._items.items()

    def to_dict(self) -> dict[K, V]:
        """A copy. `dict(mapping)` and `{**mapping}` give the same, and look up every key."""
        return dict(self._items)

    def with_values(self, values: Iterable[T]) -> "SortedMapping[K, T]":
        """The same keys with these values, in their order."""
        changed: SortedMapping[K, T] = SortedMapping()
        changed._items = dict(zip(self._items, values, strict=True))
        return changed

    def updated(self, values: dict[K, V]) -> "SortedMapping[K, V]":
        """With these values in place of its own. It has all of their keys."""
        changed: SortedMapping[K, V] = SortedMapping()
        changed._items = self._items | values
        assert len(changed) == len(self), "a key is new"
        return changed

    def filled(self, value: T) -> "SortedMapping[K, T]":
        """The same keys, all with this value."""
        changed: SortedMapping[K, T] = SortedMapping()
        changed._items = dict.fromkeys(self._items, value)
        return changed

    def values_of(self, keys: "SortedMapping[K, Any]", missing: V) -> Iterable[V]:
        """The value of each key of `keys`, in its order. Equal keys, the usual case, need no lookups."""
        if list(keys) == list(self):
            return self._items.values()
        return map(self._items.get, keys, repeat(missing))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._items == other._items

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(self._items.items()))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}: {value}" for key, value in self._items.items())
        return f"{type(self).__name__}({{{inside}}})"


def _in_order(pairs: dict[K, V]) -> dict[K, V]:
    keys = list(pairs)
    ordered = sorted(keys)
    return pairs if ordered == keys else {key: pairs[key] for key in ordered}


def _pairs(items: Mapping[K, V] | Iterable[tuple[K, V]]) -> dict[K, V]:
    if isinstance(items, Mapping):
        return dict(items)
    items = list(items)
    pairs = dict(items)
    if len(pairs) < len(items):
        repeated = min(key for key, count in Counter(key for key, _ in items).items() if count > 1)
        raise InvalidInput(f"{repeated} is given twice; it must be given once")
    return pairs


class Speeds(SortedMapping[TopicPartition, float]):
    """The write speed of each partition in bytes/s: finite, 0 or more."""

    def __init__(
        self, bytes_per_s: Mapping[TopicPartition, float] | Iterable[tuple[TopicPartition, float]] = ()
    ) -> None:
        super().__init__(bytes_per_s)
        values = self._items.values()
        if not values or (min(values) >= 0 and math.isfinite(sum(values))):
            return
        for partition, speed in self._items.items():
            if not 0 <= speed < math.inf:
                raise InvalidInput(f"the speed of {partition} is {speed}; it must be a number of bytes/s, 0 or more")

    @cached_property
    def total(self) -> float:
        return math.fsum(self._items.values())

    @cached_property
    def topics(self) -> frozenset[str]:
        return frozenset(partition.topic for partition in self._items)


@dataclass(frozen=True, slots=True)
class Capacities:
    """The throughput that each consumer sustains, in bytes/s. Consumers without an entry, as new ones, have the
    default."""

    default: float
    of_consumer: SortedMapping[ConsumerId, float] = field(default_factory=SortedMapping)

    def __post_init__(self) -> None:
        named = ((f"the capacity of consumer {consumer}", value) for consumer, value in self.of_consumer.items())
        for name, value in (("the default capacity", self.default), *named):
            if not 0 < value < math.inf:
                raise InvalidInput(f"{name} is {value}; it must be a number of bytes/s above 0")

    def __getitem__(self, consumer: ConsumerId) -> float:
        return self.of_consumer.get(consumer, self.default)


class Move(NamedTuple):
    partition: TopicPartition
    source: ConsumerId
    target: ConsumerId


@dataclass(frozen=True, slots=True)
class Difference:
    """The steps from one assignment to another. A move is a stop and a start, which are also in `stop` and `start`."""

    create: tuple[ConsumerId, ...] = ()
    delete: tuple[ConsumerId, ...] = ()
    stop: tuple[tuple[ConsumerId, tuple[TopicPartition, ...]], ...] = ()
    start: tuple[tuple[ConsumerId, tuple[TopicPartition, ...]], ...] = ()
    move: tuple[Move, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.create or self.delete or self.stop or self.start)


class Assignment(SortedMapping[TopicPartition, ConsumerId]):
    """Which consumer reads which partition. A partition has one consumer; a consumer may be idle, without
    partitions."""

    def __init__(
        self,
        owners: Mapping[TopicPartition, ConsumerId] | Iterable[tuple[TopicPartition, ConsumerId]] = (),
        idle: Iterable[ConsumerId] = (),
    ) -> None:
        super().__init__(owners)
        self.consumers: tuple[ConsumerId, ...] = tuple(sorted({*self._items.values(), *idle}))
        if self.consumers and self.consumers[0] < FIRST_CONSUMER:
            raise InvalidInput(
                f"there is no consumer {self.consumers[0]}; consumers are numbered from {FIRST_CONSUMER} on"
            )

    @classmethod
    def of_consumers(cls, held: Mapping[ConsumerId, Iterable[TopicPartition]]) -> "Assignment":
        """From the partitions of each consumer. Raises InvalidInput if a partition is given twice."""
        owners: dict[TopicPartition, ConsumerId] = {}
        for consumer in sorted(held):
            for partition in held[consumer]:
                if partition in owners:
                    again = "twice" if owners[partition] == consumer else f"and to consumer {consumer}"
                    raise InvalidInput(
                        f"{partition} is given to consumer {owners[partition]} {again}; a partition has one consumer"
                    )
                owners[partition] = consumer
        return cls(owners, idle=held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Assignment) and self.consumers == other.consumers and self._items == other._items

    @cached_property
    def _hash(self) -> int:
        return hash((tuple(self._items.items()), self.consumers))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        held = (f"{consumer}: [{', '.join(map(str, partitions))}]" for consumer, partitions in self.by_consumer.items())
        return f"Assignment({{{', '.join(held)}}})"

    @cached_property
    def by_consumer(self) -> SortedMapping[ConsumerId, tuple[TopicPartition, ...]]:
        held: dict[ConsumerId, list[TopicPartition]] = {consumer: [] for consumer in self.consumers}
        for partition, consumer in self._items.items():
            held[consumer].append(partition)
        return SortedMapping({consumer: tuple(partitions) for consumer, partitions in held.items()})

    def loads(self, speeds: Mapping[TopicPartition, float]) -> SortedMapping[ConsumerId, float]:
        """The load of each consumer: the sum of its partitions' speeds. A partition without a speed counts as 0."""
        speed_of = (speeds._items if isinstance(speeds, SortedMapping) else speeds).get
        return self.by_consumer.with_values(
            math.fsum(map(speed_of, partitions, repeat(0.0))) for partitions in self.by_consumer.values()
        )

    def moves_to(self, following: "Assignment") -> tuple[Move, ...]:
        """Partitions whose consumer changes. Partitions that are only in one of the assignments are no moves."""
        return tuple(
            Move(partition, self._items[partition], target)
            for partition, target in following.items()
            if self._items.get(partition, target) != target
        )

    def difference(self, following: "Assignment") -> Difference:
        stop: dict[ConsumerId, list[TopicPartition]] = {}
        start: dict[ConsumerId, list[TopicPartition]] = {}
        owner_before, owner_after = self._items.get, following._items.get
        for partition, source in self._items.items():
            if owner_after(partition) != source:
                stop.setdefault(source, []).append(partition)
        for partition, target in following.items():
            if owner_before(partition) != target:
                start.setdefault(target, []).append(partition)
        before, after = set(self.consumers), set(following.consumers)
        return Difference(
            create=tuple(sorted(after - before)),
            delete=tuple(sorted(before - after)),
            stop=tuple((consumer, tuple(stop[consumer])) for consumer in sorted(stop)),
            start=tuple((consumer, tuple(start[consumer])) for consumer in sorted(start)),
            move=self.moves_to(following),
        )


class FirstUnread(NamedTuple):
    """The first record at or after a position, as the brokers have it."""

    offset: int
    """Where the record is; the end of the log if there is none. Compaction and transactions leave gaps."""
    timestamp_s: float | None = None
    """Its timestamp, in seconds since 1970; None if it has none, or there is no record."""
    is_end: bool = False
    """Whether there is no record, only markers of transactions."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a topic keeps its records; None is for ever. A topic that is only compacted has neither limit."""

    seconds: float | None = None
    bytes: int | None = None
    """Of each partition."""
