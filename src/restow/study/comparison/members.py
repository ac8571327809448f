"""A group of plain members, as Kafka's own protocols run it: members start, join, leave, and the group rebalances."""

from collections.abc import Iterable, Sequence

from restow.model import Assignment, ConsumerId, TopicPartition
from restow.rivals.assignors import Assignor
from restow.study.comparison.accounting import Accounting, Numbers
from restow.study.comparison.times import Times


class Members:
    def __init__(
        self,
        accounting: Accounting,
        partitions: Sequence[TopicPartition],
        assignor: Assignor,
        protocol: str,
        times: Times,
        size: int,
    ) -> None:
        """`size` members are there at once: every policy begins with a group that runs."""
        self._accounting, self._partitions, self._assignor = accounting, partitions, assignor
        self._protocol, self._times = protocol, times
        self._starting: list[tuple[float, ConsumerId]] = []
        self._ready = [ConsumerId(number) for number in range(1, size + 1)]
        self._assignment = Assignment()
        self._rebalance(is_join=True)

    @property
    def size(self) -> int:
        return len(self._ready) + len(self._starting)

    def tick(self) -> None:
        """Members that have started join; members that start together rebalance together."""
        now_s = self._accounting.now_s
        joining = [consumer for ready_s, consumer in self._starting if ready_s <= now_s]
        if joining:
            self._starting = [(ready_s, each) for ready_s, each in self._starting if ready_s > now_s]
            self._ready = sorted([*self._ready, *joining])
            self._rebalance(is_join=True)

    def scale_to(self, size: int) -> None:
        """The newest members leave first, and members that have not joined yet before the others."""
        while self.size > size and self._starting:
            self._starting.pop()
        if self.size > size:
            self._ready = self._ready[:size]
            self._rebalance(is_join=False)
        taken = {*self._ready, *(each for _, each in self._starting)}
        free = (ConsumerId(number) for number in range(1, size + len(taken) + 2) if ConsumerId(number) not in taken)
        ready_s = self._accounting.now_s + self._times.start_s
        while self.size < size:
            self._starting.append((ready_s, next(free)))

    def _rebalance(self, *, is_join: bool) -> None:
        following = self._assignor(self._partitions, self._ready, self._assignment)
        pause_s = self._times.pause_s(self._protocol, is_join=is_join)
        unmoved = self._times.cooperative_unmoved if is_join and self._protocol == "cooperative" else 0.0
        for row, partition in enumerate(self._partitions):
            if self._assignment.get(partition) != following[partition]:
                self._accounting.assign(row, int(following[partition]), pause_s)
            elif unmoved and row % round(1 / unmoved) == 0:
                self._accounting.pause(row, pause_s)
        self._assignment = following


def by_load(speeds: Numbers) -> Assignor:
    """Deals partitions out by their speed: the fastest first, each to the least loaded member."""

    def assign(partitions: Iterable[TopicPartition], members: Sequence[ConsumerId], before: Assignment) -> Assignment:
        del before
        ordered = list(partitions)
        loads = dict.fromkeys(sorted(members), 0.0)
        owners: dict[TopicPartition, ConsumerId] = {}
        for row in sorted(range(len(ordered)), key=lambda row: (-speeds[row], row)):
            least = min(loads, key=lambda member: (loads[member], member))
            owners[ordered[row]] = least
            loads[least] += float(speeds[row])
        return Assignment(owners, idle=members)

    return assign
