"""Moves partitions in a stowage one at a time, keeps its cost up to date, and takes moves back."""

from math import sqrt

import numpy as np

from restow.packing.room import enlist
from restow.packing.stowage import (
    JOURNAL,
    NOWHERE,
    OPEN,
    PENALTY,
    RANDOM,
    SLACK,
    Stowage,
    compiled,
)


@compiled
def q_of(z: float) -> float:
    """Approximate probability that a normal variable exceeds z: a parabola, for the same bits on every machine."""
    tail = max(1 - abs(z) / 2.5, 0.0)
    beyond = 0.5 * tail * tail
    return beyond if z >= 0 else 1 - beyond


@compiled
def burden(stowage: Stowage, consumer: int, load: float, count: int, lightest: float, second: float) -> float:
    if count == 0 or (count == 1 and stowage.consumers[consumer].trigger >= stowage.largest):
        return 0.0
    room = stowage.consumers[consumer].trigger * SLACK - load
    result = 0.0
    if room < 0:
        result = -room * PENALTY
    if count == 1:
        return result
    if stowage.restlessness > 0 and stowage.caution > 0:
        sigma = stowage.restlessness * sqrt(count)
        risk = lightest * q_of(room / sigma) + (second - lightest) * q_of((room + lightest) / sigma)
        result += stowage.caution * risk
    return result


@compiled
def burden_with(stowage: Stowage, consumer: int, speed: float) -> float:
    """The consumer's burden with an additional partition of this speed."""
    lightest = stowage.consumers[consumer].lightest
    second = stowage.consumers[consumer].second_lightest
    if speed < lightest:
        second = lightest
        lightest = speed
    elif speed < second:
        second = speed
    return burden(
        stowage,
        consumer,
        stowage.consumers[consumer].load + speed,
        stowage.consumers[consumer].count + 1,
        lightest,
        second,
    )


@compiled
def rescan_lightest(stowage: Stowage, consumer: int) -> None:
    lightest = second = np.inf
    partition = stowage.consumers[consumer].first
    while partition >= 0:
        speed = stowage.partitions[partition].speed
        if speed < lightest:
            second = lightest
            lightest = speed
        elif speed < second:
            second = speed
        partition = stowage.partitions[partition].after
    stowage.consumers[consumer].lightest = lightest
    stowage.consumers[consumer].second_lightest = second


@compiled
def detach(stowage: Stowage, partition: int, consumer: int) -> None:
    after, before = stowage.partitions[partition].after, stowage.partitions[partition].before
    if before >= 0:
        stowage.partitions[before].after = after
    else:
        stowage.consumers[consumer].first = after
    if after >= 0:
        stowage.partitions[after].before = before
    speed = stowage.partitions[partition].speed
    stowage.consumers[consumer].count -= 1
    stowage.consumers[consumer].load -= speed
    if stowage.consumers[consumer].count == 0:
        stowage.consumers[consumer].load = 0.0
        stowage.counters[OPEN] -= 1
        if stowage.counters[OPEN] >= stowage.least:
            stowage.cost[0] -= stowage.worth
    if stowage.partitions[partition].home == consumer:
        stowage.cost[0] += stowage.partitions[partition].toll
    else:
        stowage.consumers[consumer].foreign -= 1
    if speed <= stowage.consumers[consumer].second_lightest:
        rescan_lightest(stowage, consumer)


@compiled
def attach(stowage: Stowage, partition: int, consumer: int) -> None:
    first = stowage.consumers[consumer].first
    stowage.partitions[partition].after = first
    stowage.partitions[partition].before = NOWHERE
    if first >= 0:
        stowage.partitions[first].before = partition
    stowage.consumers[consumer].first = partition
    speed = stowage.partitions[partition].speed
    if stowage.consumers[consumer].count == 0:
        if stowage.counters[OPEN] >= stowage.least:
            stowage.cost[0] += stowage.worth
        stowage.counters[OPEN] += 1
    stowage.consumers[consumer].count += 1
    stowage.consumers[consumer].load += speed
    if stowage.partitions[partition].home == consumer:
        stowage.cost[0] -= stowage.partitions[partition].toll
    else:
        stowage.consumers[consumer].foreign += 1
    if speed < stowage.consumers[consumer].lightest:
        stowage.consumers[consumer].second_lightest = stowage.consumers[consumer].lightest
        stowage.consumers[consumer].lightest = speed
    elif speed < stowage.consumers[consumer].second_lightest:
        stowage.consumers[consumer].second_lightest = speed


@compiled
def settle(stowage: Stowage, consumer: int) -> None:
    """Updates the consumer's burden and its index entry after a change."""
    following = burden(
        stowage,
        consumer,
        stowage.consumers[consumer].load,
        stowage.consumers[consumer].count,
        stowage.consumers[consumer].lightest,
        stowage.consumers[consumer].second_lightest,
    )
    stowage.cost[0] += following - stowage.consumers[consumer].burden
    stowage.consumers[consumer].burden = following
    enlist(stowage, consumer)


@compiled
def shift(stowage: Stowage, partition: int, target: int) -> None:
    source = stowage.partitions[partition].at
    stowage.partitions[partition].at = target
    if source >= 0:
        detach(stowage, partition, source)
        settle(stowage, source)
    if target >= 0:
        attach(stowage, partition, target)
        settle(stowage, target)


@compiled
def move(stowage: Stowage, partition: int, target: int) -> None:
    """Moves the partition to the target (or NOWHERE) and records that in the journal."""
    place = stowage.counters[JOURNAL]
    stowage.journal[2 * place] = partition
    stowage.journal[2 * place + 1] = stowage.partitions[partition].at
    stowage.counters[JOURNAL] += 1
    shift(stowage, partition, target)


@compiled
def take_back(stowage: Stowage, mark: int) -> None:
    """Undoes the moves after this length of the journal."""
    while stowage.counters[JOURNAL] > mark:
        stowage.counters[JOURNAL] -= 1
        place = stowage.counters[JOURNAL]
        shift(stowage, stowage.journal[2 * place], stowage.journal[2 * place + 1])


@compiled
def commit(stowage: Stowage) -> None:
    """Makes all moves final."""
    stowage.counters[JOURNAL] = 0


@compiled
def load_current(stowage: Stowage) -> None:
    """Fills new arrays with the current assignment."""
    for partition in range(len(stowage.partitions)):
        stowage.cost[0] += stowage.partitions[partition].speed if stowage.partitions[partition].home >= 0 else 0.0
    for partition in range(len(stowage.partitions)):
        consumer = stowage.partitions[partition].home
        stowage.partitions[partition].at = consumer
        if consumer >= 0:
            attach(stowage, partition, consumer)
    for consumer in range(len(stowage.consumers)):
        settle(stowage, consumer)


@compiled
def fits(stowage: Stowage, partition: int, consumer: int, draining: bool) -> bool:
    """Whether a consumer in use may take the partition. An empty one may take any."""
    load = stowage.consumers[consumer].load + stowage.partitions[partition].speed
    if stowage.partitions[partition].home == consumer and stowage.consumers[consumer].foreign == 0:
        return load <= stowage.consumers[consumer].hold * SLACK
    if draining:
        return load <= stowage.consumers[consumer].drain * SLACK
    return load <= stowage.consumers[consumer].fill * SLACK


@compiled
def next_random(stowage: Stowage, below: int) -> int:
    """A pseudo-random number, the same on every machine (xorshift)."""
    x = stowage.counters[RANDOM]
    x ^= (x << 13) & 0x7FFFFFFFFFFFFFFF
    x ^= x >> 7
    x ^= (x << 17) & 0x7FFFFFFFFFFFFFFF
    stowage.counters[RANDOM] = x
    return (x >> 8) % below
