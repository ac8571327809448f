"""Several tables of one topic: a transform that returns `{table: DataFrame}` has a target for each of them.

Each table has positions of its own, and takes rows and positions in one commit as any other. A partition's position is
the least of its tables'. Where they differ, after a crash between two commits or while one table can't be written,
each table gets only what it lacks. cycle.py keeps one of these.
"""

from collections.abc import Iterable, Mapping

from restow.consumer.planning import Range
from restow.model import TopicPartition
from restow.pipeline.targets import Target


class Outputs:
    def __init__(self) -> None:
        self._targets: dict[Target, tuple[Target, ...]] = {}
        """Of a definition's target, if its transform returns several tables; by any of those, too."""
        self._positions: dict[tuple[Target, TopicPartition], int] = {}

    def open(self, target: Target, tables: Iterable[str]) -> tuple[Target, ...]:
        """The targets of a definition, whose transform describes rows of these tables."""
        found = tuple(target if table == target.table else target.output(table) for table in tables)
        if found != (target,):
            self._targets |= dict.fromkeys((target, *found), found)
        else:
            self._targets.pop(target, None)
        return found

    def of(self, target: Target) -> tuple[Target, ...]:
        """The targets of a transform that returns several tables; otherwise the target itself."""
        return self._targets.get(target, (target,))

    def move(self, target: Target, positions: Mapping[TopicPartition, int]) -> None:
        if target in self._targets:
            self._positions |= {(target, partition): at for partition, at in positions.items()}

    def position(self, target: Target, partition: TopicPartition, at: int) -> int:
        """The table's position of a partition, given the partition's own position `at`."""
        return max(at, self._positions.get((target, partition), at))

    def least(self, target: Target, partition: TopicPartition, at: int) -> int:
        """A partition's position, from those of all its tables."""
        return min(self.position(each, partition, at) for each in self.of(target))

    def lacked(
        self, target: Target, ranges: Mapping[TopicPartition, Range], at: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, Range]:
        """What the target's table lacks of these ranges."""
        found = {}
        for partition, taken in ranges.items():
            position = max(taken.position, self.position(target, partition, at.get(partition, taken.position)))
            if position < taken.next:
                found[partition] = Range(position, max(position, taken.first), taken.next)
        return found

    def is_first(self, target: Target) -> bool:
        """Of several tables one counts what is read: the others read the same records."""
        return self.of(target)[0] == target
