"""Kafka's assignors: how the members of a group share its partitions. Every member is taken to subscribe to all topics.

    range               topic by topic, consecutive partitions; the first members get the larger shares
    roundrobin          all partitions in order, one to each member in turn
    cooperative-sticky  counts differ by one at most; a member keeps what it has, as far as that allows
    uniform             the same counts and the same stickiness, decided by the broker (KIP-848)

All of them balance the number of partitions. None of them knows how fast a partition is written.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from restow.model import Assignment, ConsumerId, TopicPartition

Assignor = Callable[[Iterable[TopicPartition], Sequence[ConsumerId], Assignment], Assignment]
"""(partitions, members, the assignment before) -> the assignment after."""


def by_range(partitions: Iterable[TopicPartition], members: Sequence[ConsumerId], before: Assignment) -> Assignment:
    del before
    topics: dict[str, list[TopicPartition]] = {}
    for partition in sorted(partitions):
        topics.setdefault(partition.topic, []).append(partition)
    owners: dict[TopicPartition, ConsumerId] = {}
    for held in topics.values():
        share, larger = divmod(len(held), len(members))
        start = 0
        for place, member in enumerate(sorted(members)):
            size = share + (place < larger)
            owners |= dict.fromkeys(held[start : start + size], member)
            start += size
    return Assignment(owners, idle=members)


def round_robin(partitions: Iterable[TopicPartition], members: Sequence[ConsumerId], before: Assignment) -> Assignment:
    del before
    ordered = sorted(members)
    owners = {partition: ordered[place % len(ordered)] for place, partition in enumerate(sorted(partitions))}
    return Assignment(owners, idle=members)


def sticky(partitions: Iterable[TopicPartition], members: Sequence[ConsumerId], before: Assignment) -> Assignment:
    """Each member keeps its partitions up to its quota; the others go to the members below theirs, one by one."""
    wanted = sorted(partitions)
    share, larger = divmod(len(wanted), len(members))
    present = set(members)
    held: dict[ConsumerId, list[TopicPartition]] = {member: [] for member in sorted(members)}
    for partition in wanted:
        owner = before.get(partition)
        if owner in present and owner is not None:
            held[owner].append(partition)
    # The members that have the most keep the larger shares, so that as few partitions as possible move.
    ranked = sorted(held, key=lambda member: (-len(held[member]), member))
    quotas = {member: share + (place < larger) for place, member in enumerate(ranked)}
    owners = {partition: member for member, kept in held.items() for partition in kept[: quotas[member]]}
    room = [member for member in ranked[::-1] for _ in range(quotas[member] - min(len(held[member]), quotas[member]))]
    owners |= dict(zip((each for each in wanted if each not in owners), room, strict=True))
    return Assignment(owners, idle=members)


ASSIGNORS: Final[dict[str, Assignor]] = {
    "range": by_range,
    "roundrobin": round_robin,
    "cooperative-sticky": sticky,
    "uniform": sticky,
}
"""By the name that brokers report of a group."""
