"""The stowage: where each partition is at the moment, and what that costs, as arrays.

A decision tries thousands of changes, so the code that works on a stowage is compiled by numba: `room` finds consumers
by their free room, `moving` moves partitions and takes moves back, `placing` finds the best place for one partition,
`search` and `exchange` decide what to try. `ship` makes the arrays from a problem.

    cost = tolls of moves + worth × consumers in use + caution × risk + PENALTY × excess

The *toll* of a partition is what its move costs: its speed, or in part the same for every partition, by the problem's
`moves_by_number`. The *risk* of a consumer is the speed that it will probably have to give up at the next decision. The
*excess* is load above the trigger; at the end there is none, unless too few consumers are allowed.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from restow.packing.compiler import compiler

NOWHERE = -1
PENALTY = 1e4
"""Above any sensible worth of a consumer, so that no consumer is saved by overloading another."""
SLACK = 1 + 1e-9
"""Tolerance for rounding: a consumer filled exactly to its limit is not overfull."""
BLOCK = 64
"""Number of index buckets that are skipped at once if all are empty."""

EJECTIONS = 4096
"""After this many uncommitted moves nothing more is ejected; from then on each partition moves at most once."""

OPEN, JOURNAL, EMPTIES, RANDOM = range(4)
"""Indices of the counters: consumers in use, moves in the journal, size of the heap of empties, random state."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = Any
"""A record array: numpy's types can't describe its fields."""


MODULES = ("stowage", "room", "moving", "placing", "search", "exchange")
"""All modules that are compiled, as one program."""
compiled = compiler(__file__, MODULES, error_model="numpy", forceinline=True, _nrt=False)
"""For functions that create no array. They count no references to arrays, which took half of their time; numba refuses
to compile one that creates an array."""
allocating = compiler(__file__, MODULES, error_model="numpy")
"""For functions that create arrays."""

PARTITION = np.dtype(
    [
        ("speed", np.float64),
        ("toll", np.float64),  # what its move costs
        ("home", np.int64),  # its consumer before anything moves, or NOWHERE
        ("at", np.int64),  # its consumer now, or NOWHERE
        ("after", np.int64),  # next and previous partition on the same consumer
        ("before", np.int64),
        ("fixed", np.int64),  # whether it is pinned: it never leaves its home
    ]
)
CONSUMER = np.dtype(
    [
        ("capacity", np.float64),
        ("trigger", np.float64),
        ("hold", np.float64),  # limit for its own partitions: the trigger, or evict_to if it was above
        ("fill", np.float64),  # limit for partitions of others
        ("drain", np.float64),  # the same, if they come from a consumer being emptied
        ("load", np.float64),
        ("lightest", np.float64),
        ("second_lightest", np.float64),
        ("burden", np.float64),  # its part of the cost: caution × risk + PENALTY × excess
        ("count", np.int64),
        ("foreign", np.int64),  # number of its partitions that are not at home
        ("fixed", np.int64),  # number of its pinned partitions; with any, it stays in use
        ("first", np.int64),  # its first partition
        ("bucket", np.int64),  # its bucket in the index by room, if it is in use
        ("bucket_after", np.int64),
        ("bucket_before", np.int64),
        ("listed", np.int64),  # whether it is in the heap of empties
        ("rank", np.int64),  # its order in that heap
    ]
)


class Stowage(NamedTuple):
    worth: float
    caution: float
    restlessness: float
    """Standard deviation of the change of one partition's speed between two decisions."""
    largest: float
    """The highest trigger: a faster partition is too fast for every consumer."""
    least: int
    most: int
    buckets_per_speed: float
    no_room: int
    """Bucket of consumers that are exactly full; lower buckets hold overfull ones."""
    partitions: Records
    """Of PARTITION. Two record arrays instead of forty plain ones: each array in a tuple costs at every call."""
    consumers: Records
    """Of CONSUMER."""
    bucket_first: Ints
    """First consumer of each bucket: consumers in use, indexed by free room."""
    block_count: Ints
    empties: Ints
    """Heap of consumers not in use."""
    journal: Ints
    """Moves since the last commit: pairs of partition and previous consumer."""
    counters: Ints
    cost: Floats


def copy_of(stowage: Stowage) -> Stowage:
    return Stowage._make([field.copy() if type(field) is np.ndarray else field for field in stowage])
