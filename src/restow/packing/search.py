"""Builds a stowage: takes out what has to go, places it again heaviest first, then empties consumers where that pays.

`ours` calls `place_all`, `close_surplus` and `drain` for each recipe, compares the results, and hands the best to
`exchange`.
"""

import numpy as np

from restow.packing.moving import commit, move, take_back
from restow.packing.placing import EJECT_DEPTH, stow
from restow.packing.stowage import NOWHERE, OPEN, SLACK, Floats, Ints, Stowage, allocating, compiled

EMPTIED, NO_PLACE, NO_GAIN = range(3)
"""What came of an attempt to empty a consumer."""
SUBSET = 10
"""Up to this many partitions on an overfull consumer, all subsets are tried."""


@compiled
def partitions_of(stowage: Stowage, consumer: int, into: Ints, size: int) -> int:
    """Appends the consumer's partitions after the first `size` entries. Returns the new size, or more than fits."""
    partition = stowage.consumers[consumer].first
    while partition >= 0:
        if size == len(into):
            return size + 1
        into[size] = partition
        size += 1
        partition = stowage.partitions[partition].after
    return size


@compiled
def movable_of(stowage: Stowage, consumer: int, into: Ints) -> int:
    """The consumer's partitions that are not pinned, first in `into`. Returns their number."""
    held, movable = partitions_of(stowage, consumer, into, 0), 0
    for place in range(held):
        if not stowage.partitions[into[place]].fixed:
            into[movable] = into[place]
            movable += 1
    return movable


@compiled
def sort_few(stowage: Stowage, partitions: Ints, size: int) -> None:
    """Heaviest first, then by number, so that the order doesn't depend on the input's."""
    for end in range(1, size):
        partition = partitions[end]
        speed = stowage.partitions[partition].speed
        place = end
        while place > 0:
            other = partitions[place - 1]
            if stowage.partitions[other].speed > speed or (
                stowage.partitions[other].speed == speed and other < partition
            ):
                break
            partitions[place] = other
            place -= 1
        partitions[place] = partition


@allocating
def in_order(partitions: Ints, size: int) -> Ints:
    """The first `size` of them, ascending, which they mostly are."""
    for place in range(1, size):
        if partitions[place - 1] > partitions[place]:
            return np.sort(partitions[:size])
    return partitions[:size].copy()


@allocating
def sort_heaviest_first(stowage: Stowage, partitions: Ints, size: int) -> None:
    if size <= 32:
        sort_few(stowage, partitions, size)
        return
    ordered = in_order(partitions, size)
    speeds = np.empty(size)
    for place in range(size):
        speeds[place] = -stowage.partitions[ordered[place]].speed
    partitions[:size] = ordered[np.argsort(speeds, kind="mergesort")]


@compiled
def cheapest_sufficient(stowage: Stowage, consumer: int, partitions: Ints, size: int) -> int:
    """The subset of an overfull consumer's few movable partitions that relieves it for the lowest tolls, as bits. All
    of them, if its pinned ones are too fast for it.

    A partition that is too fast by itself may stay, alone, unless another consumer could carry it.
    """
    best, best_tolls = 0, np.inf
    for bits in range(1, 1 << size):
        given_up, tolls, kept = 0.0, 0.0, stowage.consumers[consumer].count
        for place in range(size):
            if bits >> place & 1:
                given_up += stowage.partitions[partitions[place]].speed
                tolls += stowage.partitions[partitions[place]].toll
                kept -= 1
        rest = stowage.consumers[consumer].load - given_up
        limit = stowage.consumers[consumer].trigger * SLACK if kept == 1 else stowage.consumers[consumer].hold * SLACK
        hopeless = kept == 1 and (
            rest > stowage.largest * SLACK or stowage.consumers[consumer].trigger >= stowage.largest
        )
        if tolls < best_tolls and (bits == (1 << size) - 1 or hopeless or rest <= limit):
            best, best_tolls = bits, tolls
    return best


@compiled
def some_sufficient(stowage: Stowage, consumer: int, partitions: Ints, size: int) -> int:
    """The same for many partitions: heavy to light whatever doesn't overshoot, then the lightest that closes the gap.

    Moves the chosen ones to the front of `partitions` and returns their number.
    """
    excess = stowage.consumers[consumer].load - stowage.consumers[consumer].hold * SLACK
    taken, closing = 0, NOWHERE
    for place in range(size):
        partition = partitions[place]
        if stowage.partitions[partition].speed >= excess:
            closing = partition
        else:
            partitions[taken] = partition
            taken += 1
            excess -= stowage.partitions[partition].speed
    if excess > 0 and closing != NOWHERE:
        partitions[taken] = closing
        taken += 1
    return taken


@allocating
def relieve(stowage: Stowage, consumer: int, partitions: Ints) -> int:
    """Takes out what an overfull consumer has to give up: the first of `partitions`. Returns their number."""
    size = movable_of(stowage, consumer, partitions)
    sort_heaviest_first(stowage, partitions, size)
    taken = 0
    if size > SUBSET:
        taken = some_sufficient(stowage, consumer, partitions, size)
    else:
        bits = cheapest_sufficient(stowage, consumer, partitions, size)
        for place in range(size):
            if bits >> place & 1:
                partitions[taken] = partitions[place]
                taken += 1
    for place in range(taken):
        move(stowage, partitions[place], NOWHERE)
    return taken


@compiled
def is_overfull(stowage: Stowage, consumer: int) -> bool:
    """Whether it is above its trigger and could be relieved."""
    if stowage.consumers[consumer].load <= stowage.consumers[consumer].trigger * SLACK:
        return False
    if stowage.consumers[consumer].count == stowage.consumers[consumer].fixed:
        return False
    return stowage.consumers[consumer].count > 1 or stowage.consumers[consumer].trigger < stowage.largest


@allocating
def place_all(stowage: Stowage, unpacked: float, room_price: float) -> None:
    """Takes out what overfull consumers must give up and everything up to speed `unpacked`, and places all of it."""
    scratch = np.empty(len(stowage.partitions), np.int64)
    pool = np.empty(len(stowage.partitions), np.int64)
    for consumer in range(len(stowage.consumers)):
        if is_overfull(stowage, consumer):
            relieve(stowage, consumer, scratch)
            commit(stowage)
    size, depth_most = 0, 0
    for partition in range(len(stowage.partitions)):
        may_leave = stowage.partitions[partition].at != NOWHERE and not stowage.partitions[partition].fixed
        if may_leave and stowage.partitions[partition].speed <= unpacked:
            move(stowage, partition, NOWHERE)
            commit(stowage)
        elif may_leave:
            depth_most = EJECT_DEPTH  # otherwise nothing on board is lighter than what follows
        if stowage.partitions[partition].at == NOWHERE:
            pool[size] = partition
            size += 1
    sort_heaviest_first(stowage, pool, size)
    for place in range(size):
        stow(stowage, pool[place], NOWHERE, False, room_price, depth_most)
        commit(stowage)


@allocating
def home_tolls(stowage: Stowage) -> Floats:
    """The tolls of emptying each consumer. Partitions that have left home move again for free."""
    result = np.zeros(len(stowage.consumers))
    for partition in range(len(stowage.partitions)):
        at = stowage.partitions[partition].at
        if at >= 0 and stowage.partitions[partition].home == at:
            result[at] += stowage.partitions[partition].toll
    return result


@allocating
def empty_out(stowage: Stowage, consumer: int, partitions: Ints, room_price: float) -> int:
    """Places all of the consumer's partitions elsewhere, heaviest first, and returns EMPTIED. If that doesn't pay, it
    changes nothing and returns NO_PLACE if even the heaviest has no place, otherwise NO_GAIN."""
    before = stowage.cost[0]
    size = partitions_of(stowage, consumer, partitions, 0)
    sort_heaviest_first(stowage, partitions, size)
    for place in range(size):
        has_place = stow(stowage, partitions[place], consumer, True, room_price, EJECT_DEPTH)
        if not has_place or stowage.cost[0] >= before + stowage.worth:
            take_back(stowage, 0)
            return NO_PLACE if place == 0 and not has_place else NO_GAIN
    if stowage.cost[0] >= before - 1e-9 * stowage.consumers[consumer].capacity:
        take_back(stowage, 0)
        return NO_GAIN
    commit(stowage)
    return EMPTIED


@allocating
def close_surplus(stowage: Stowage, room_price: float) -> None:
    """Closes consumers down to the number allowed, starting with the lowest tolls, whatever it costs."""
    if stowage.counters[OPEN] <= stowage.most:
        return
    at_home = home_tolls(stowage)
    scratch = np.empty(len(stowage.partitions), np.int64)
    for consumer in np.argsort(at_home, kind="mergesort"):
        if stowage.counters[OPEN] <= stowage.most:
            break
        if stowage.consumers[consumer].fixed:
            continue
        size = partitions_of(stowage, consumer, scratch, 0)
        sort_heaviest_first(stowage, scratch, size)
        for place in range(size):
            move(stowage, scratch[place], NOWHERE)
        commit(stowage)
        for place in range(size):
            stow(stowage, scratch[place], consumer, False, room_price, EJECT_DEPTH)
            commit(stowage)


@compiled
def heaviest_on(stowage: Stowage, consumer: int) -> float:
    heaviest = 0.0
    partition = stowage.consumers[consumer].first
    while partition >= 0:
        heaviest = max(heaviest, stowage.partitions[partition].speed)
        partition = stowage.partitions[partition].after
    return heaviest


@allocating
def drain(stowage: Stowage, patience: int, room_price: float, is_large: bool) -> None:
    """Closes consumers, starting with the lowest tolls, until `patience` tries in a row didn't pay. In a large
    group a consumer is not tried if a partition as fast as its heaviest has found no place before: a place for it won't
    be found later either, and the search for one is what takes the time."""
    at_home = home_tolls(stowage)
    scratch = np.empty(len(stowage.partitions), np.int64)
    failed, hopeless = 0, np.inf
    for consumer in np.argsort(at_home, kind="mergesort"):
        if stowage.consumers[consumer].count == 0 or stowage.consumers[consumer].fixed:
            continue
        if failed == patience or at_home[consumer] >= stowage.worth or stowage.counters[OPEN] <= stowage.least:
            break
        heaviest = heaviest_on(stowage, consumer) if is_large else 0.0
        if heaviest >= hopeless:
            failed += 1
            continue
        outcome = empty_out(stowage, consumer, scratch, room_price)
        failed = 0 if outcome == EMPTIED else failed + 1
        if is_large and outcome == NO_PLACE:
            hopeless = heaviest
