"""Finds consumers: those in use by their free room (buckets), the next one to open from a heap.

`moving` keeps both up to date; `placing` queries them.
"""

from restow.packing.stowage import BLOCK, EMPTIES, NOWHERE, SLACK, Stowage, compiled


@compiled
def unlist(stowage: Stowage, consumer: int) -> None:
    bucket = stowage.consumers[consumer].bucket
    if bucket < 0:
        return
    after, before = stowage.consumers[consumer].bucket_after, stowage.consumers[consumer].bucket_before
    if before >= 0:
        stowage.consumers[before].bucket_after = after
    else:
        stowage.bucket_first[bucket] = after
    if after >= 0:
        stowage.consumers[after].bucket_before = before
    stowage.consumers[consumer].bucket = NOWHERE
    stowage.block_count[bucket // BLOCK] -= 1


@compiled
def bucket_of(stowage: Stowage, room: float) -> int:
    """More room, higher bucket. Below `no_room`, buckets get wider with the overload, so that every load has one."""
    place = room * stowage.buckets_per_speed
    if place <= -1:
        return int(stowage.no_room * stowage.no_room / (stowage.no_room - place))
    return int(min(stowage.no_room + max(place, 0.0), len(stowage.bucket_first) - 1))


@compiled
def enlist(stowage: Stowage, consumer: int) -> None:
    """Updates the consumer's index entry: a bucket by its room if it is in use, otherwise the heap of empties."""
    if stowage.consumers[consumer].count == 0:
        unlist(stowage, consumer)
        push_empty(stowage, consumer)
        return
    bucket = bucket_of(stowage, stowage.consumers[consumer].fill - stowage.consumers[consumer].load)
    if bucket == stowage.consumers[consumer].bucket:
        return
    unlist(stowage, consumer)
    first = stowage.bucket_first[bucket]
    stowage.consumers[consumer].bucket = bucket
    stowage.consumers[consumer].bucket_before = NOWHERE
    stowage.consumers[consumer].bucket_after = first
    if first >= 0:
        stowage.consumers[first].bucket_before = consumer
    stowage.bucket_first[bucket] = consumer
    stowage.block_count[bucket // BLOCK] += 1


@compiled
def push_empty(stowage: Stowage, consumer: int) -> None:
    if stowage.consumers[consumer].listed:
        return
    stowage.consumers[consumer].listed = 1
    heap, consumers = stowage.empties, stowage.consumers
    place = stowage.counters[EMPTIES]
    stowage.counters[EMPTIES] += 1
    while place > 0:
        parent = (place - 1) // 2
        if consumers[heap[parent]].rank <= consumers[consumer].rank:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = consumer


@compiled
def pop_empty(stowage: Stowage) -> None:
    heap, consumers = stowage.empties, stowage.consumers
    stowage.consumers[heap[0]].listed = 0
    stowage.counters[EMPTIES] -= 1
    size = stowage.counters[EMPTIES]
    last = heap[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and consumers[heap[child + 1]].rank < consumers[heap[child]].rank:
            child += 1
        if consumers[last].rank <= consumers[heap[child]].rank:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last


@compiled
def first_empty(stowage: Stowage, speed: float) -> int:
    """The consumer to open next for this speed, or NOWHERE. Drops consumers that are in use by now from the heap."""
    while stowage.counters[EMPTIES] > 0:
        consumer = stowage.empties[0]
        if stowage.consumers[consumer].count == 0:
            if speed <= stowage.consumers[consumer].trigger * SLACK:
                return consumer
            return most_capable_empty(stowage, consumer)
        pop_empty(stowage)
    return NOWHERE


@compiled
def most_capable_empty(stowage: Stowage, consumer: int) -> int:
    for other in range(len(stowage.consumers)):
        if (
            stowage.consumers[other].count == 0
            and stowage.consumers[other].trigger > stowage.consumers[consumer].trigger
        ):
            consumer = other
    return consumer
