"""Exchanges partitions between a few consumers at a time, in the best way for just these, found exactly.

Branch and bound over their partitions, heaviest first. An exchange that lowers the cost is kept. `ours` calls
`exchange_some` after `search` has built a stowage, or `exchange_moved` in a large group.
"""

from typing import NamedTuple

import numpy as np

from restow.packing.moving import burden, commit, move, next_random, take_back
from restow.packing.search import partitions_of, sort_few
from restow.packing.stowage import NOWHERE, OPEN, SLACK, Floats, Ints, Stowage, allocating, compiled

MOST_PARTITIONS = 14
"""Consumers with more partitions between them don't exchange: the search would take too long."""
CONSUMERS = 3
"""Consumers in an exchange. With 4, a round takes four times as long and gains little."""
MOST_STEPS = 2000
"""Limit of the search in one exchange; the best result so far counts."""
SMALL_GROUP = 32
"""Up to this many consumers, exchanges that gained nothing are remembered."""


class Table(NamedTuple):
    """What an exchange works with, created once for all of them."""

    consumers: Ints
    """The consumers that exchange, at most CONSUMERS."""
    partitions: Ints
    """Their partitions, heaviest first, at most MOST_PARTITIONS."""
    best_choice: Ints
    """For each partition its place in `consumers` in the best spread so far."""
    choice: Ints
    """The same for the spread that is tried."""
    loads: Floats
    """Of each consumer in that spread, as its number of partitions, and of partitions that are not at home."""
    counts: Ints
    foreign: Ints


@allocating
def new_table() -> Table:
    return Table(
        np.empty(CONSUMERS, np.int64),
        np.empty(MOST_PARTITIONS, np.int64),
        np.empty(MOST_PARTITIONS, np.int64),
        np.empty(MOST_PARTITIONS, np.int64),
        np.empty(CONSUMERS),
        np.empty(CONSUMERS, np.int64),
        np.empty(CONSUMERS, np.int64),
    )


@compiled
def may_take(stowage: Stowage, consumer: int, partition: int, load: float, count: int, foreign: int) -> bool:
    """Like `moving.fits`, for a hypothetical load. A pinned partition stays at home, whatever the load."""
    home = stowage.partitions[partition].home
    if stowage.partitions[partition].fixed:
        return home == consumer
    if count == 0:
        return True
    limit = stowage.consumers[consumer].fill
    if home == consumer and foreign == 0:
        limit = stowage.consumers[consumer].hold
    elif home != NOWHERE and stowage.consumers[home].count == 0:
        limit = stowage.consumers[consumer].drain
    return load + stowage.partitions[partition].speed <= limit * SLACK


@compiled
def burdens(stowage: Stowage, table: Table, size: int, held: int) -> float:
    """Risk and excess of these consumers if the partitions were spread as chosen."""
    consumers, partitions, choice, loads = table.consumers, table.partitions, table.choice, table.loads
    total = 0.0
    for place in range(size):
        lightest = second = np.inf
        count = 0
        for number in range(held):
            if choice[number] == place:
                count += 1
                speed = stowage.partitions[partitions[number]].speed
                if speed < lightest:
                    lightest, second = speed, lightest
                elif speed < second:
                    second = speed
        total += burden(stowage, consumers[place], loads[place], count, lightest, second)
    return total


@compiled
def present_cost(stowage: Stowage, consumers: Ints, size: int, partitions: Ints, held: int) -> float:
    total = 0.0
    for number in range(held):
        home = stowage.partitions[partitions[number]].home
        if home not in (stowage.partitions[partitions[number]].at, NOWHERE):
            total += stowage.partitions[partitions[number]].toll
    for place in range(size):
        total += stowage.consumers[consumers[place]].burden
        if stowage.consumers[consumers[place]].count > 0:
            total += stowage.worth
    return total


@compiled
def best_spread(stowage: Stowage, table: Table, size: int, held: int, steps: int) -> bool:
    """Finds the cheapest way to spread the partitions over the consumers. Returns whether it beats the present one; it
    is then in `best_choice`."""
    consumers, partitions = table.consumers, table.partitions
    choice, loads, counts, foreign = table.choice, table.loads, table.counts, table.foreign
    for number in range(held):
        choice[number] = NOWHERE
    for place in range(size):
        loads[place], counts[place], foreign[place] = 0.0, 0, 0
    best = present_cost(stowage, consumers, size, partitions, held) - 1e-9 * stowage.consumers[0].capacity
    found = False
    cost, depth = 0.0, 0
    while depth >= 0 and steps > 0:
        steps -= 1
        partition = partitions[depth]
        speed, home = stowage.partitions[partition].speed, stowage.partitions[partition].home
        toll = stowage.partitions[partition].toll
        place = choice[depth]
        if place != NOWHERE:  # undo the last choice
            counts[place] -= 1
            loads[place] -= speed
            if home != consumers[place]:
                foreign[place] -= 1
                cost -= toll if home != NOWHERE else 0.0
            if counts[place] == 0:
                loads[place] = 0.0
                cost -= stowage.worth
        price = 0.0
        place += 1
        while place < size:
            consumer = consumers[place]
            if may_take(stowage, consumer, partition, loads[place], counts[place], foreign[place]):
                price = stowage.worth if counts[place] == 0 else 0.0
                price += 0.0 if home in (consumer, NOWHERE) else toll
                if cost + price < best:
                    break
            place += 1
        if place == size:
            choice[depth] = NOWHERE
            depth -= 1
            continue
        choice[depth] = place
        counts[place] += 1
        loads[place] += speed
        foreign[place] += home != consumers[place]
        cost += price
        if depth < held - 1:
            depth += 1
            continue
        total = cost + burdens(stowage, table, size, held)
        if total < best:
            best, found = total, True
            for number in range(held):
                table.best_choice[number] = choice[number]
    return found


@compiled
def is_overdrained(stowage: Stowage, partition: int) -> bool:
    """Whether the partition's home is closed and its present consumer is above `drain_to`."""
    home, consumer = stowage.partitions[partition].home, stowage.partitions[partition].at
    if home in (consumer, NOWHERE) or consumer == NOWHERE or stowage.consumers[home].count > 0:
        return False
    return (
        stowage.consumers[consumer].count > 1
        and stowage.consumers[consumer].load > stowage.consumers[consumer].drain * SLACK
    )


@compiled
def drains_too_much(stowage: Stowage, consumers: Ints, size: int, partitions: Ints, held: int) -> bool:
    for number in range(held):
        if is_overdrained(stowage, partitions[number]):
            return True
    for place in range(size):  # this exchange may have closed a consumer that other partitions had left before
        consumer = consumers[place]
        if (
            stowage.consumers[consumer].count == 0
            and stowage.consumers[consumer].drain < stowage.consumers[consumer].fill
        ):
            for partition in range(len(stowage.partitions)):
                if stowage.partitions[partition].home == consumer and is_overdrained(stowage, partition):
                    return True
    return False


@compiled
def exchange(stowage: Stowage, table: Table, size: int) -> bool:
    """Spreads the partitions of the first `size` consumers in the best way. Returns False if that gains nothing."""
    consumers, partitions, choice = table.consumers, table.partitions, table.best_choice
    held = 0
    for place in range(size):
        held = partitions_of(stowage, consumers[place], partitions, held)
        if held > len(partitions):
            return False
    sort_few(stowage, partitions, held)
    before = stowage.cost[0]
    if held == 0 or not best_spread(stowage, table, size, held, MOST_STEPS):
        return False
    for number in range(held):
        if stowage.partitions[partitions[number]].at != consumers[choice[number]]:
            move(stowage, partitions[number], NOWHERE)
    for number in range(held):
        if stowage.partitions[partitions[number]].at == NOWHERE:
            move(stowage, partitions[number], consumers[choice[number]])
    if (
        stowage.cost[0] >= before
        or stowage.counters[OPEN] > stowage.most
        or drains_too_much(stowage, consumers, size, partitions, held)
    ):
        take_back(stowage, 0)
        return False
    commit(stowage)
    return True


@compiled
def some_partition(stowage: Stowage) -> int:
    """A random partition, preferably a moved one: bringing it home pays most."""
    partition = 0
    for _ in range(6):
        partition = next_random(stowage, len(stowage.partitions))
        if stowage.partitions[partition].at != stowage.partitions[partition].home:
            break
    return partition


@compiled
def add_unless_there(consumers: Ints, size: int, consumer: int) -> int:
    if consumer == NOWHERE:
        return size
    for place in range(size):
        if consumers[place] == consumer:
            return size
    consumers[size] = consumer
    return size + 1


@allocating
def exchange_some(stowage: Stowage, rounds: int) -> None:
    """In each round a partition's consumer, its home, and random others exchange partitions. In a small group the same
    consumers meet again and again: consumers that gained nothing are left out until another exchange changes
    something."""
    table = new_table()
    consumers = table.consumers
    is_small = len(stowage.consumers) <= SMALL_GROUP
    in_vain = np.zeros((SMALL_GROUP + 1) ** CONSUMERS if is_small else 0, np.bool_)
    for _ in range(rounds):
        partition = some_partition(stowage)
        size = add_unless_there(consumers, 0, stowage.partitions[partition].at)
        size = add_unless_there(consumers, size, stowage.partitions[partition].home)
        for _ in range(2 * CONSUMERS):
            if size == CONSUMERS:
                break
            other = next_random(stowage, len(stowage.partitions))
            at_home = next_random(stowage, 2) == 0
            size = add_unless_there(
                consumers, size, stowage.partitions[other].home if at_home else stowage.partitions[other].at
            )
        if not is_small:
            exchange(stowage, table, size)
            continue
        met = 0
        for place in range(size):
            met = met * (SMALL_GROUP + 1) + consumers[place] + 1
        if in_vain[met]:
            continue
        if exchange(stowage, table, size):
            in_vain[:] = False
        else:
            in_vain[met] = True


@allocating
def moved_partitions(stowage: Stowage) -> Ints:
    """The partitions that are not at home, in random order."""
    moved = np.empty(len(stowage.partitions), np.int64)
    size = 0
    for partition in range(len(stowage.partitions)):
        if stowage.partitions[partition].at != stowage.partitions[partition].home:
            other = next_random(stowage, size + 1)
            moved[size] = moved[other]
            moved[other] = partition
            size += 1
    return moved[:size]


@compiled
def home_of_a_guest(stowage: Stowage, consumer: int) -> int:
    """The home of a random partition on this consumer that is not at home, or NOWHERE."""
    home, guests = NOWHERE, 0
    partition = stowage.consumers[consumer].first
    while partition >= 0:
        if stowage.partitions[partition].home not in (consumer, NOWHERE):
            guests += 1
            if next_random(stowage, guests) == 0:
                home = stowage.partitions[partition].home
        partition = stowage.partitions[partition].after
    return home


@compiled
def likely_partner(stowage: Stowage, moved: Ints, consumers: Ints, first_pass: bool) -> int:
    """A consumer to join these. In a chain of moves, each of which made room for another, several partitions can come
    home at once: the home of a guest is tried first, later a consumer of another moved partition, and any other."""
    kind = 0 if first_pass else next_random(stowage, 3)
    if kind == 0:
        home = home_of_a_guest(stowage, consumers[next_random(stowage, 2)])
        if home != NOWHERE:
            return home
    other = next_random(stowage, len(stowage.partitions))
    if kind == 1:
        other = moved[next_random(stowage, len(moved))]
    return stowage.partitions[other].home if next_random(stowage, 2) == 0 else stowage.partitions[other].at


@allocating
def exchange_moved(stowage: Stowage, moved: Ints, rounds: int) -> None:
    """Like `exchange_some`, for large groups: a round for each partition that moved, as often as there are rounds. A
    random partition has rarely moved there, and random consumers rarely have something to exchange."""
    table = new_table()
    consumers = table.consumers
    place, first_pass = 0, True
    for _ in range(rounds):
        if place == len(moved):
            moved = moved_partitions(stowage)
            place, first_pass = 0, False
        if len(moved) == 0:
            break
        partition = moved[place]
        place += 1
        at, home = stowage.partitions[partition].at, stowage.partitions[partition].home
        held = stowage.consumers[at].count + (0 if home == NOWHERE else stowage.consumers[home].count)
        if at == home or held > MOST_PARTITIONS:
            continue
        size = add_unless_there(consumers, 0, at)
        size = add_unless_there(consumers, size, home)
        for _ in range(2 * CONSUMERS):
            if size == CONSUMERS:
                break
            consumers[size:] = consumers[0]
            size = add_unless_there(consumers, size, likely_partner(stowage, moved, consumers, first_pass))
        exchange(stowage, table, size)
