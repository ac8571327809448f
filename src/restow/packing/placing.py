"""Places one partition where it costs least: on a consumer with room, in place of a lighter one, or on a new consumer.

`search` calls `stow` for everything that it has taken out.
"""

import numpy as np

from restow.packing.moving import burden_with, fits, move
from restow.packing.room import bucket_of, first_empty
from restow.packing.stowage import BLOCK, EJECTIONS, JOURNAL, NOWHERE, OPEN, SLACK, Stowage, compiled

LOOKS = 8
"""Number of consumers with room to compare."""
EJECT_LOOKS = 24
"""Number of consumers without room, and of partitions on each, to search for something lighter to eject."""
LEAST_BAD_LOOKS = 64
"""Number of consumers to compare if none has room."""
EJECT_DEPTH = 10
"""Longest chain of ejections for one partition."""
EJECT_PRICE = 0.2
"""Empirical cost of placing what was ejected, as a share of its toll."""


@compiled
def home_price(stowage: Stowage, partition: int, consumer: int) -> float:
    """The partition's toll on this consumer: 0 at home."""
    home = stowage.partitions[partition].home
    return 0.0 if home in (consumer, NOWHERE) else stowage.partitions[partition].toll


@compiled
def price(stowage: Stowage, partition: int, consumer: int, room_price: float) -> float:
    """Cost of placing the partition on a consumer in use: its move, the added risk, and the room left over."""
    speed = stowage.partitions[partition].speed
    room_left = stowage.consumers[consumer].fill - stowage.consumers[consumer].load - speed
    return (
        home_price(stowage, partition, consumer)
        + burden_with(stowage, consumer, speed)
        - stowage.consumers[consumer].burden
        + room_price * room_left
    )


@compiled
def look_for_room(
    stowage: Stowage, partition: int, barred: int, draining: bool, room_price: float
) -> tuple[int, float]:
    """The cheapest consumer in use with room for the partition, best fits first, and its price."""
    best, best_price = NOWHERE, np.inf
    home = stowage.partitions[partition].home
    if home >= 0 and home != barred and stowage.consumers[home].count > 0 and fits(stowage, partition, home, draining):
        best, best_price = home, price(stowage, partition, home, room_price)
    bucket = bucket_of(stowage, stowage.partitions[partition].speed / SLACK)
    seen = 0
    while bucket < len(stowage.bucket_first) and seen < LOOKS:
        if stowage.block_count[bucket // BLOCK] == 0:
            bucket = (bucket // BLOCK + 1) * BLOCK
            continue
        consumer = stowage.bucket_first[bucket]
        steps = 0
        while consumer >= 0 and steps < 4 * LOOKS and seen < LOOKS:
            steps += 1
            if consumer not in (home, barred) and fits(stowage, partition, consumer, draining):
                seen += 1
                candidate = price(stowage, partition, consumer, room_price)
                if candidate < best_price:
                    best, best_price = consumer, candidate
            consumer = stowage.consumers[consumer].bucket_after
        bucket += 1
    return best, best_price


@compiled
def look_for_empty(stowage: Stowage, partition: int) -> tuple[int, float]:
    """The consumer to open for the partition (its home, if empty and large enough), and its price."""
    if stowage.counters[OPEN] >= stowage.most:
        return NOWHERE, np.inf
    speed, consumer = stowage.partitions[partition].speed, stowage.partitions[partition].home
    if consumer < 0 or stowage.consumers[consumer].count > 0 or speed > stowage.consumers[consumer].trigger * SLACK:
        consumer = first_empty(stowage, speed)
        if consumer == NOWHERE:
            return NOWHERE, np.inf
    worth = 0.0 if stowage.counters[OPEN] < stowage.least else stowage.worth
    return consumer, worth + home_price(stowage, partition, consumer)


@compiled
def least_bad(stowage: Stowage, partition: int) -> int:
    """The consumer where the partition does the least harm, if none has room and no more may be opened.

    Among the consumers with the most room or the least overload, the one with the lowest load relative to its capacity.
    """
    speed, home = stowage.partitions[partition].speed, stowage.partitions[partition].home
    best, best_share = NOWHERE, np.inf
    if home >= 0 and stowage.consumers[home].count > 0:
        best, best_share = home, (stowage.consumers[home].load + speed) / stowage.consumers[home].capacity
    bucket = len(stowage.bucket_first) - 1
    seen = 0
    while bucket >= 0 and seen < LEAST_BAD_LOOKS:
        if stowage.block_count[bucket // BLOCK] == 0:
            bucket = bucket // BLOCK * BLOCK - 1
            continue
        consumer = stowage.bucket_first[bucket]
        while consumer >= 0 and seen < LEAST_BAD_LOOKS:
            seen += 1
            share = (stowage.consumers[consumer].load + speed) / stowage.consumers[consumer].capacity
            if share < best_share or (share == best_share and best != home and consumer < best):
                best, best_share = consumer, share
            consumer = stowage.consumers[consumer].bucket_after
        bucket -= 1
    return best


@compiled
def lightest_to_eject(stowage: Stowage, partition: int, consumer: int, draining: bool) -> tuple[int, float]:
    """The cheapest partition to eject from this consumer: lighter than the given one, and enough to make room."""
    speed = stowage.partitions[partition].speed
    if stowage.consumers[consumer].lightest >= speed:  # most are, and their partitions need not be read
        return NOWHERE, np.inf
    limit = stowage.consumers[consumer].drain if draining else stowage.consumers[consumer].fill
    if stowage.partitions[partition].home == consumer and stowage.consumers[consumer].foreign == 0:
        limit = stowage.consumers[consumer].hold
    needed = stowage.consumers[consumer].load + speed - limit * SLACK
    best, best_price = NOWHERE, np.inf
    other = stowage.consumers[consumer].first
    steps = 0
    while other >= 0 and steps < EJECT_LOOKS:
        steps += 1
        lighter = stowage.partitions[other].speed
        if needed <= lighter < speed and not stowage.partitions[other].fixed:
            toll = stowage.partitions[other].toll
            ejection = EJECT_PRICE * toll + (toll if stowage.partitions[other].home == consumer else 0.0)
            if ejection < best_price:
                best, best_price = other, ejection
        other = stowage.partitions[other].after
    return best, best_price + home_price(stowage, partition, consumer)


@compiled
def look_for_ejection(
    stowage: Stowage, partition: int, barred: int, draining: bool, everywhere: bool
) -> tuple[int, int, float]:
    """The cheapest ejection: at home, or everywhere, starting with the consumers that lack the least room."""
    best, victim, best_price = NOWHERE, NOWHERE, np.inf
    home = stowage.partitions[partition].home
    if home >= 0 and home != barred and stowage.consumers[home].count > 0:
        victim, best_price = lightest_to_eject(stowage, partition, home, draining)
        best = home
    bucket = bucket_of(stowage, stowage.partitions[partition].speed) if everywhere else NOWHERE
    seen = 0
    while bucket >= 0 and seen < EJECT_LOOKS:
        if stowage.block_count[bucket // BLOCK] == 0:
            bucket = bucket // BLOCK * BLOCK - 1
            continue
        consumer = stowage.bucket_first[bucket]
        while consumer >= 0 and seen < EJECT_LOOKS:
            seen += 1
            if consumer not in (home, barred):
                other, other_price = lightest_to_eject(stowage, partition, consumer, draining)
                if other_price < best_price:
                    best, victim, best_price = consumer, other, other_price
            consumer = stowage.consumers[consumer].bucket_after
        bucket -= 1
    return best, victim, best_price


@compiled
def stow(stowage: Stowage, partition: int, barred: int, draining: bool, room_price: float, depth_most: int) -> bool:
    """Places the partition where it costs least; what it ejects, lighter each time, is placed in turn, at most this
    often. Returns False if there is no place."""
    depth = 0
    while partition != NOWHERE:
        target, target_price = look_for_room(stowage, partition, barred, draining, room_price)
        victim = NOWHERE
        if depth < depth_most and stowage.counters[JOURNAL] < EJECTIONS - 2:
            ejecting, ejected, eject_price = look_for_ejection(stowage, partition, barred, draining, target == NOWHERE)
            if eject_price < target_price:
                target, victim, target_price = ejecting, ejected, eject_price
        if not draining:
            empty, empty_price = look_for_empty(stowage, partition)
            if empty != NOWHERE and empty_price < target_price:
                target, victim = empty, NOWHERE
            if target == NOWHERE:
                target = least_bad(stowage, partition)
        if target == NOWHERE:
            return False
        if victim != NOWHERE:
            move(stowage, victim, NOWHERE)
        move(stowage, partition, target)
        partition = victim
        depth += 1
    return True
